"""Widening columns on Spark: where the table has Delta's type widening by a change of its schema, else by a rewrite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic.table.adopt import find_table
from lakelogic.table.delta_schema import find_widened
from lakelogic.table.features import enable_features
from lakelogic.table.protocol import TableShape
from lakelogic.table.spark_staged import quoted, session_confs, spark_errors, spark_schema
from lakelogic.table.widen import widening_note

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType


def widen_on_spark(spark: SparkSession, path: str, shape: TableShape) -> None:
    """Give a table the wider types of a batch; a table that has them already is left alone."""
    table = find_table(path)
    names = find_widened(table, shape) if table is not None else ()
    if table is None or not names:
        return
    types = {field.name: field.dataType for field in spark_schema(shape.columns).fields if field.name in names}
    with spark_errors(f"the wider columns of `{path}`"), session_confs(spark, {"spark.sql.session.timeZone": "UTC"}):
        if table.metadata().configuration.get("delta.enableTypeWidening", "false").lower() == "true":
            _alter(spark, path, types)
        else:
            _rewrite(spark, path, enable_features(table, shape.columns), types, widening_note(shape, names))


def _alter(spark: SparkSession, path: str, types: dict[str, DataType]) -> None:
    for name, type_ in types.items():
        kind = type_.simpleString()
        spark.sql(f"ALTER TABLE delta.{quoted(path)} ALTER COLUMN {quoted(name)} TYPE {kind}")


def _rewrite(spark: SparkSession, path: str, table: DeltaTable, types: dict[str, DataType], note: str) -> None:
    from pyspark.sql import functions

    frame = spark.read.format("delta").load(path)

    def column(name: str) -> SparkColumn:
        found = functions.col(quoted(name))
        wider = found.cast(types[name]) if name in types else found
        # A cast forgets the comment that stands in the column's metadata.
        return wider.alias(name, metadata=frame.schema[name].metadata)

    (
        frame.select(*(column(name) for name in frame.columns))
        .write.format("delta")
        .mode("overwrite")
        .option("overwriteSchema", "true")
        .option("userMetadata", note)
        .partitionBy(*table.metadata().partition_columns)
        .save(path)
    )
