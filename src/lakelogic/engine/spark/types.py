"""Spark schemas as columns of the plan, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType
from sqlglot import exp

from lakelogic.engine.spark.words import quote
from lakelogic.plan.model import Column

# Kept in a Delta column's metadata, so that the next layer does not mask a value twice.
MASKING_KEY = "lakelogic.masking"
_KINDS = exp.DataType.Type
_PLAIN = {
    _KINDS.TINYINT, _KINDS.SMALLINT, _KINDS.INT, _KINDS.BIGINT, _KINDS.FLOAT, _KINDS.DOUBLE, _KINDS.DECIMAL,
    _KINDS.DATE, _KINDS.BOOLEAN, _KINDS.TEXT, _KINDS.VARCHAR,
}  # fmt: skip


def to_columns(schema: StructType) -> tuple[Column, ...]:
    return tuple(_to_column(field) for field in schema.fields)


def aligned(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """The frame with its declared columns in their declared types: these the table's log will say of the files."""
    found = {field.name: _spelled(field.dataType.simpleString()) for field in frame.schema.fields}
    wanted = {column.name: _spelled(column.type.sql("spark")) for column in columns if _is_plain(column.type)}
    changed = {
        name: sf.col(quote(name)).cast(type_) for name, type_ in wanted.items() if found.get(name, type_) != type_
    }
    return frame.withColumns(changed) if changed else frame


def _is_plain(type_: exp.DataType) -> bool:
    return type_.this in _PLAIN


@lru_cache(maxsize=256)
def _spelled(type_: str) -> str:
    return exp.DataType.build(type_, dialect="databricks").sql("spark").lower().replace(" ", "")


def to_ddl(columns: Sequence[Column]) -> str:
    """The columns as a schema string that readers and from_csv take."""
    return ", ".join(f"{quote(column.name)} {column.type.sql('spark')}" for column in columns)


def string_type() -> exp.DataType:
    return exp.DataType.build("string", dialect="databricks")


def text_columns(names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(name, string_type()) for name in names)


def _to_column(field: StructField) -> Column:
    return Column(
        name=field.name,
        type=exp.DataType.build(field.dataType.simpleString(), dialect="databricks"),
        nullable=field.nullable,
        comment=(field.metadata or {}).get("comment"),
        masking=(field.metadata or {}).get(MASKING_KEY),
    )
