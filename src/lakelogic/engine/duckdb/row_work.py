"""Queries over the files of a table: what a merge does to its rows, computed by DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from lakelogic.engine.duckdb.files import read_staged, write_files
from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.types import exact_column
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
    chosen = ", ".join(exact_column(column) for column in columns)
    return write_files(relations, f"SELECT {chosen} FROM ({relations.sql(query)})", place, partition_by)


def read_rows(relations: Relations, query: exp.Query, inputs: Mapping[str, RowInput]) -> list[tuple[Any, ...]]:
    """The few rows that a query over named inputs comes to."""
    _add_inputs(relations, inputs)
    rows: list[tuple[Any, ...]] = relations.session.run(relations.sql(query)).fetchall()
    return rows


def _add_inputs(relations: Relations, inputs: Mapping[str, RowInput]) -> None:
    for name, given in inputs.items():
        staged = StageInput(staged_root=given.root, staged=given.files, columns=given.columns)
        relations.add_view(name, read_staged(relations, staged, exact=True))
