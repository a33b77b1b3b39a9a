"""Widening columns on Spark: where the table has Delta's type widening by a change of its schema, else by a rewrite."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lakelogic.plan.files import StagedFile
from lakelogic.storage.files import FoundFile, walk_files
from lakelogic.table.adopt import adopt_widened, find_table
from lakelogic.table.delta_schema import find_widened
from lakelogic.table.features import enable_features
from lakelogic.table.protocol import TableShape
from lakelogic.table.spark_staged import quoted, session_confs, spark_errors, spark_schema
from lakelogic.table.stats import read_stats

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType


HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
# Partition values of instants are text in folder names; Delta's files have instants as microseconds.
_CONFS = {"spark.sql.session.timeZone": "UTC", "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}


def widen_on_spark(spark: SparkSession, path: str, shape: TableShape) -> None:
    """Give a table the wider types of a batch; a table that has them already is left alone."""
    table = find_table(path)
    names = find_widened(table, shape) if table is not None else ()
    if table is None or not names:
        return
    types = {field.name: field.dataType for field in spark_schema(shape.columns).fields if field.name in names}
    with spark_errors(f"the wider columns of `{path}`"), session_confs(spark, _CONFS):
        if table.metadata().configuration.get("delta.enableTypeWidening", "false").lower() == "true":
            _alter(spark, path, types)
        else:
            _rewrite(spark, path, enable_features(table, shape.columns), shape, types)


def _alter(spark: SparkSession, path: str, types: dict[str, DataType]) -> None:
    for name, type_ in types.items():
        kind = type_.simpleString()
        spark.sql(f"ALTER TABLE delta.{quoted(path)} ALTER COLUMN {quoted(name)} TYPE {kind}")


def _rewrite(spark: SparkSession, path: str, table: DeltaTable, shape: TableShape, types: dict[str, DataType]) -> None:
    """Spark writes the files, delta-rs commits them: Spark's own overwrite would forget NOT NULL."""
    from pyspark.sql import functions

    frame = spark.read.format("delta").load(path)
    columns = [functions.col(quoted(name)) for name in frame.columns]
    wider = [
        column.cast(types[name]).alias(name) if name in types else column
        for name, column in zip(frame.columns, columns, strict=True)
    ]
    folder = f"widen-{uuid.uuid4().hex[:8]}"
    writer = (
        frame.select(*wider).write.mode("error").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    )
    writer.partitionBy(*table.metadata().partition_columns).parquet(os.path.join(path, folder))
    adopt_widened(path, table, _written(path, folder), shape)


def _written(path: str, folder: str) -> list[StagedFile]:
    files = sorted(walk_files(os.path.join(path, folder)), key=lambda file: file.path)
    return [_file(path, file) for file in files if file.path.endswith(".parquet")]


def _file(path: str, file: FoundFile) -> StagedFile:
    inside = file.path.removeprefix(f"{path}/")
    pairs = (part.split("=", 1) for part in os.path.dirname(inside).split("/") if "=" in part)
    partition = {unquote(name): None if value == HIVE_NULL else unquote(value) for name, value in pairs}
    return StagedFile(inside, file.size, read_stats(file.path).rows, partition)
