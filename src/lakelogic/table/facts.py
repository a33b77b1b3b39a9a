"""A Delta table as it is, read through delta-rs: shape, rows, NULLs; no JVM and no data file."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, Field
from sqlglot import exp

from lakelogic.core.errors import PlanError
from lakelogic.plan.model import Column
from lakelogic.plan.table_facts import TableFacts
from lakelogic.plan.types import family, named
from lakelogic.storage.tables import arrow_rows
from lakelogic.table.adopt import find_table
from lakelogic.table.delta_schema import MASKING_KEY, delta_type
from lakelogic.table.features import arrow_obstacle
from lakelogic.table.protocol import TableShape

_SPARK_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def find_facts(path: str, *, count: Collection[str] = ()) -> TableFacts | None:
    """What stands at a path, None where there is no table; NULLs of the columns in `count` are counted if need be."""
    table = find_table(path)
    if table is None:
        return None
    metadata = table.metadata()
    rows, nulls = _counts(table, count)
    return TableFacts(
        columns_of(table),
        tuple(metadata.partition_columns),
        dict(metadata.configuration),
        metadata.description or None,
        rows,
        nulls,
    )


def facts_of(shape: TableShape) -> TableFacts:
    """A wanted shape in the same spelling."""
    columns = tuple(replace(column, type=_spelled(column.type)) for column in shape.columns)
    return TableFacts(columns, shape.partition_by, dict(shape.properties), shape.description)


def shape_of(facts: TableFacts) -> TableShape:
    return TableShape(facts.columns, facts.partition_by, facts.properties, facts.description)


def columns_of(table: DeltaTable) -> tuple[Column, ...]:
    """The columns of a table, with their types in Spark's words."""
    return tuple(_column(field) for field in table.schema().fields)


def _column(field: Field) -> Column:
    type_ = named(_name(json.loads(field.type.to_json())))
    return Column(field.name, type_, field.nullable, field.metadata.get("comment"), field.metadata.get(MASKING_KEY))


def _spelled(type_: exp.DataType) -> exp.DataType:
    if family(type_) == "unknown":
        return type_
    try:
        return named(_name(json.loads(delta_type(type_).to_json())))
    except PlanError:
        return named("unknown")


def _name(node: Any) -> str:
    """A Delta type in Spark's words."""
    match node:
        case {"type": "array", "elementType": element}:
            return f"array<{_name(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_name(key)}, {_name(value)}>"
        case {"type": "struct", "fields": fields}:
            parts = ", ".join(f"`{field['name']}`: {_name(field['type'])}" for field in fields)
            return f"struct<{parts}>"
        case _:
            return _SPARK_NAMES.get(str(node), str(node))


def _counts(table: DeltaTable, wanted: Collection[str]) -> tuple[int | None, dict[str, int]]:
    """Rows and NULLs from the statistics of the files; `wanted` columns are counted where those do not say."""
    if arrow_obstacle(table) is not None:
        # Deletion vectors hide rows that statistics still count; of the others delta-rs reads no row.
        return None, {}
    actions = pa.table(table.get_add_actions(flatten=True))
    names = [field.name for field in table.schema().fields]
    if actions.num_rows == 0:
        return 0, dict.fromkeys(names, 0)
    records = actions["num_records"].to_pylist()
    if None in records:
        return None, {}
    nulls: dict[str, int] = {}
    for name in names:
        counted = _null_counts(actions, name, records)
        if None not in counted:
            nulls[name] = sum(counted)
        elif name in wanted:
            nulls[name] = arrow_rows(table).count_rows(filter=ds.field(name).is_null())
    return sum(records), nulls


def _null_counts(actions: pa.Table, name: str, records: list[int]) -> list[Any]:
    if f"partition.{name}" in actions.column_names:
        values = actions[f"partition.{name}"].to_pylist()
        return [rows if value is None else 0 for rows, value in zip(records, values, strict=True)]
    if f"null_count.{name}" in actions.column_names:
        counted: list[Any] = actions[f"null_count.{name}"].to_pylist()
        return counted
    return [None]
