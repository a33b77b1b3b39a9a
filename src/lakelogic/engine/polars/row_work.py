"""Queries over the files of a table: what a merge does to its rows, computed by Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from sqlglot import exp

from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.files import read_staged, write_files
from lakelogic.engine.polars.relations import Relations
from lakelogic.engine.polars.rows import Rows
from lakelogic.engine.polars.types import of_plan
from lakelogic.engine.polars.values import Value
from lakelogic.engine.protocol import StageInput
from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.model import Column


def write_rows(
    relations: Relations,
    query: exp.Query,
    inputs: Mapping[str, RowInput],
    columns: Sequence[Column],
    place: tuple[str, str],
    partition_by: Sequence[str],
) -> tuple[StagedFile, ...]:
    """Write the rows of a query over named inputs, with these columns, below root/folder."""
    _add_inputs(relations, inputs)
    found = relations.query(query)
    types = {column.name: of_plan(column.type) for column in columns}
    values = [cast(Value(pl.col(name), found.types[name]), type_).expr.alias(name) for name, type_ in types.items()]
    return write_files(Rows(found.frame.select(values), types), place, partition_by)


def read_rows(relations: Relations, query: exp.Query, inputs: Mapping[str, RowInput]) -> list[tuple[Any, ...]]:
    """The few rows that a query over named inputs comes to."""
    _add_inputs(relations, inputs)
    return relations.query(query).frame.collect(engine="streaming").rows()


def _add_inputs(relations: Relations, inputs: Mapping[str, RowInput]) -> None:
    for name, given in inputs.items():
        staged = StageInput(staged_root=given.root, staged=given.files, columns=given.columns)
        relations.rows[name] = read_staged(staged, exact=True)
