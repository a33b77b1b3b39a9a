"""Delta schemas from declared columns, and what stands between a table and a batch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable, Field, Schema
from deltalake.schema import ArrayType, MapType, PrimitiveType, StructType
from sqlglot import exp

from lakelogic.core.errors import PlanError
from lakelogic.plan.model import Column
from lakelogic.plan.type_changes import Wider, compare_types
from lakelogic.plan.types import named
from lakelogic.table.protocol import TableShape

MASKING_KEY = "lakelogic.masking"
DType = exp.DataType.Type
DeltaType = PrimitiveType | ArrayType | MapType | StructType

_PRIMITIVE = {
    DType.TEXT: "string",
    DType.VARCHAR: "string",
    DType.CHAR: "string",
    DType.JSON: "string",
    DType.TINYINT: "byte",
    DType.SMALLINT: "short",
    DType.INT: "integer",
    DType.BIGINT: "long",
    DType.FLOAT: "float",
    DType.DOUBLE: "double",
    DType.BOOLEAN: "boolean",
    DType.BINARY: "binary",
    DType.VARBINARY: "binary",
    DType.DATE: "date",
    # Spark's TIMESTAMP is an instant; only TIMESTAMP_NTZ has no zone.
    DType.TIMESTAMP: "timestamp",
    DType.TIMESTAMPTZ: "timestamp",
    DType.TIMESTAMPLTZ: "timestamp",
    DType.TIMESTAMPNTZ: "timestamp_ntz",
    DType.DATETIME: "timestamp_ntz",
}


def delta_type(type_: exp.DataType) -> DeltaType:
    """The Delta type of a declared type."""
    match type_.this:
        case DType.ARRAY | DType.LIST:
            return ArrayType(delta_type(type_.expressions[0]), contains_null=True)
        case DType.MAP:
            key, value = type_.expressions
            return MapType(delta_type(key), delta_type(value), value_contains_null=True)
        case DType.STRUCT:
            return StructType(
                [Field(part.name, delta_type(part.args["kind"]), nullable=True) for part in type_.expressions]
            )
        case DType.DECIMAL:
            precision, scale = [*(int(part.name) for part in type_.expressions), 10, 0][:2]
            scale = 0 if len(type_.expressions) == 1 else scale
            return PrimitiveType(f"decimal({precision},{scale})")
        case kind if kind in _PRIMITIVE:
            return PrimitiveType(_PRIMITIVE[kind])
        case _:
            raise PlanError(
                f"a Delta table has no type for `{type_.sql('spark')}`",
                hint="cast the column to another type",
            )


def delta_field(column: Column) -> Field:
    """A table field: type, NOT NULL, comment, and how its values were masked."""
    metadata = {"comment": column.comment, MASKING_KEY: column.masking}
    kept = {key: value for key, value in metadata.items() if value}
    return Field(column.name, delta_type(column.type), nullable=column.nullable, metadata=kept)


def delta_schema(columns: Iterable[Column]) -> Schema:
    """The schema of a new table."""
    return Schema([delta_field(column) for column in columns])


@dataclass(frozen=True, slots=True)
class Evolution:
    """What a table lacks before it can take a batch."""

    new_columns: tuple[Column, ...]
    widened: tuple[str, ...] = ()


def plan_evolution(table: DeltaTable, shape: TableShape) -> Evolution:
    """Compare a table with a batch; raise PlanError where they contradict each other."""
    fields = {field.name: field for field in table.schema().fields}
    _check_partitions(table, shape)
    _check_names(fields, shape.columns)
    for column in shape.columns:
        if column.name in fields and not is_wider(fields[column.name], column):
            _check_type(fields[column.name], column)
    given = {column.name for column in shape.columns}
    for name, field in fields.items():
        if not field.nullable and name not in given:
            raise PlanError(
                f"column `{name}` of the table is NOT NULL, and the batch does not have it",
                code="LL330",
                hint="declare the column in model.fields",
            )
    missing = tuple(column for column in shape.columns if column.name not in fields)
    return Evolution(missing, find_widened(table, shape))


def refuse_equal_names(columns: Iterable[Column]) -> None:
    """Raise where two columns of a batch have names that a table takes for one."""
    spelled: dict[str, str] = {}
    for column in columns:
        before = spelled.setdefault(column.name.lower(), column.name)
        if before != column.name:
            raise PlanError(
                f"the columns `{before}` and `{column.name}` of the batch would be one in the table",
                code="LL332",
                hint="Delta does not tell upper from lower case in names; rename or drop one of them",
            )


def find_widened(table: DeltaTable, shape: TableShape) -> tuple[str, ...]:
    """Columns whose type in the batch takes every value that the table's type has, and more."""
    fields = {field.name: field for field in table.schema().fields}
    return tuple(c.name for c in shape.columns if c.name in fields and is_wider(fields[c.name], c))


def is_wider(field: Field, column: Column) -> bool:
    """Whether a column of the batch is a wider form of the table's; nested types never are."""
    there, given = _plain(field.type), _plain(delta_type(column.type))
    if there == given or not (isinstance(there, str) and isinstance(given, str)):
        return False
    changes = list(compare_types(_spelled(there), _spelled(given), ()))
    return bool(changes) and all(isinstance(change, Wider) for change in changes)


def _spelled(name: str) -> exp.DataType:
    return named({"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(name, name))


def widened_schema(table: DeltaTable, shape: TableShape) -> Schema:
    """The table's schema with the wider types of a batch."""
    wider = {column.name: delta_type(column.type) for column in shape.columns}
    names = find_widened(table, shape)
    return Schema(
        [
            Field(
                field.name,
                wider[field.name] if field.name in names else field.type,
                nullable=field.nullable,
                metadata=field.metadata,
            )
            for field in table.schema().fields
        ]
    )


def add_columns(table: DeltaTable, columns: Sequence[Column]) -> None:
    """Add columns to a table; rows that are there already have NULL in them, so they are nullable."""
    fields = [delta_field(column) for column in columns]
    table.alter.add_columns([Field(field.name, field.type, nullable=True, metadata=field.metadata) for field in fields])


def _check_partitions(table: DeltaTable, shape: TableShape) -> None:
    there = tuple(table.metadata().partition_columns)
    if there != tuple(shape.partition_by):
        raise PlanError(
            f"the table is partitioned by {_names(there)}, the contract says {_names(shape.partition_by)}",
            code="LL331",
            hint="set materialization.partition_by as the table has it, or write to a new target",
        )


def _check_names(fields: dict[str, Any], columns: Iterable[Column]) -> None:
    by_lower = {name.lower(): name for name in fields}
    for column in columns:
        there = by_lower.get(column.name.lower())
        if there is not None and there != column.name:
            raise PlanError(
                f"column `{column.name}` stands in the table as `{there}`",
                code="LL332",
                hint=f"Delta does not tell upper from lower case in names; rename the column to `{there}`",
            )


def _check_type(field: Field, column: Column) -> None:
    there, given = _plain(field.type), _plain(delta_type(column.type))
    if there != given:
        raise PlanError(
            f"column `{column.name}` is {_type_name(there)} in the table, {_type_name(given)} in the batch",
            code="LL323",
            hint="declare the table's type in model.fields, or write to a new target",
        )


def _plain(type_: Any) -> Any:
    """A type's JSON without nullability and metadata, which do not change what its values are."""
    return _strip(json.loads(type_.to_json()))


def _strip(node: Any) -> Any:
    match node:
        case dict():
            dropped = ("nullable", "containsNull", "valueContainsNull", "metadata")
            return {key: _strip(value) for key, value in node.items() if key not in dropped}
        case list():
            return [_strip(item) for item in node]
        case _:
            return node


def _type_name(plain: Any) -> str:
    match plain:
        case {"type": "array", "elementType": element}:
            return f"array<{_type_name(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_type_name(key)}, {_type_name(value)}>"
        case {"type": "struct", "fields": fields}:
            parts = ", ".join(f"{field['name']}: {_type_name(field['type'])}" for field in fields)
            return f"struct<{parts}>"
        case _:
            return str(plain)


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"
