"""Spark schemas as columns of the plan, and back."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import StructField, StructType
from sqlglot import exp

from lakelogic.engine.spark.render import quote
from lakelogic.plan.model import Column

# Kept in a Delta column's metadata, so that the next layer does not mask a value twice.
MASKING_KEY = "lakelogic.masking"


def to_columns(schema: StructType) -> tuple[Column, ...]:
    return tuple(_to_column(field) for field in schema.fields)


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
