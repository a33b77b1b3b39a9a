"""Types of columns that the plan could not tell, read off the files that were written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.storage.tables import read_footer


def fill_unknown_types(columns: Sequence[Column], root: str, files: Sequence[StagedFile]) -> tuple[Column, ...]:
    """The same columns, with the types of the first file where the plan knows none or only part of one."""
    if not files or all(_is_known(column.type) for column in columns):
        return tuple(columns)
    return take_unknown_types(columns, parquet_columns(os.path.join(root, files[0].path)))


def take_unknown_types(columns: Sequence[Column], found: Sequence[Column]) -> tuple[Column, ...]:
    """The same columns, with the types of others of their names where the plan knows none or only part of one."""
    types = {column.name: column.type for column in found}
    return tuple(
        replace(column, type=types[column.name]) if column.name in types and not _is_known(column.type) else column
        for column in columns
    )


def parquet_columns(path: str) -> tuple[Column, ...]:
    """The columns of a Parquet file."""
    return tuple(Column(field.name, spark_type(field.type)) for field in read_footer(path).schema.to_arrow_schema())


def _is_known(type_: exp.DataType) -> bool:
    vague = {exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL}
    bare = {exp.DataType.Type.ARRAY, exp.DataType.Type.MAP, exp.DataType.Type.STRUCT, exp.DataType.Type.DECIMAL}
    return all(
        node.this not in vague and (node.this not in bare or bool(node.expressions))
        for node in type_.find_all(exp.DataType)
    )


def spark_type(type_: pa.DataType) -> exp.DataType:
    """An Arrow type in Spark's words."""
    return exp.DataType.build(_name(type_), dialect="databricks")


def _name(type_: pa.DataType) -> str:
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"array<{_name(type_.value_type)}>"
    if pa.types.is_map(type_):
        return f"map<{_name(type_.key_type)}, {_name(type_.item_type)}>"
    if pa.types.is_struct(type_):
        return "struct<" + ", ".join(f"`{field.name}`: {_name(field.type)}" for field in type_) + ">"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision}, {type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    simple = {
        pa.string(): "string", pa.large_string(): "string", pa.int8(): "tinyint", pa.int16(): "smallint",
        pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double", pa.bool_(): "boolean",
        pa.date32(): "date", pa.binary(): "binary", pa.large_binary(): "binary",
    }  # fmt: skip
    return simple.get(type_, "string")
