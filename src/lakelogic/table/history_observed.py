"""All observations that a batch concerns: its own rows, the versions of its keys, and what is remembered of them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from lakelogic.plan.model import DELETE_COLUMN
from lakelogic.table.history_batch import Batch
from lakelogic.table.history_files import FILE_PATH, file_mark, read_files
from lakelogic.table.history_layout import (
    AT,
    BATCH,
    COVERED,
    FROM_BATCH,
    FROM_STORE,
    FROM_TABLE,
    GONE,
    OLD_FILE,
    OLD_TO,
    OLD_VERSION,
    ORIGIN,
    SINCE,
)
from lakelogic.table.history_rows import Observed, unknown_start
from lakelogic.table.history_store import read_store
from lakelogic.table.pruning import EVERYTHING, first_value, render_literal
from lakelogic.table.spark_staged import quoted, read_staged, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_BROADCAST_ROWS = 500_000


def observe(spark: SparkSession, batch: Batch) -> Observed:
    """All observations of the batch's keys."""
    from pyspark.sql import functions as sf

    own = _batch_rows(spark, batch)
    keys = list(batch.layout.write.keys)
    concerned = own.groupBy(*[quoted(key) for key in keys]).agg(sf.min(AT).alias(SINCE))
    if sum(file.rows for file in batch.files) <= _BROADCAST_ROWS:
        concerned = sf.broadcast(concerned)
    parts = [own.withColumn(SINCE, sf.lit(None).cast(own.schema[AT].dataType))]
    stored = None
    if batch.table is not None:
        stored = _store_rows(spark, batch)
    if batch.table is not None and batch.sources != ():
        found = _table_rows(spark, batch).join(concerned, on=keys, how="inner")
        parts.append(found.withColumn(OLD_FILE, file_mark(sf.col(OLD_FILE))))
    if stored is not None:
        parts.append(stored.join(concerned, on=keys, how="inner").where(sf.col(AT) >= sf.col(SINCE)))
    rows = reduce(lambda left, right: left.unionByName(right), parts)
    return Observed(rows, has_store=stored is not None)


def _batch_rows(spark: SparkSession, batch: Batch) -> DataFrame:
    from pyspark.sql import functions as sf

    write = batch.layout.write
    staged = read_staged(spark, batch.path, batch.files, batch.staged_shape)
    gone = sf.coalesce(sf.col(DELETE_COLUMN), sf.lit(False)) if write.deletes else sf.lit(False)
    rows = staged.withColumns({AT: sf.col(quoted(write.timestamp)), GONE: gone})
    if write.deletes and write.ignore_deletes:
        rows = rows.where(~sf.col(GONE))
    zeros = {name: _one_zero(name) for name in batch.layout.source if _is_float(staged, name)}
    rows = _observed(rows.withColumns(zeros) if zeros else rows, batch, FROM_BATCH)
    return rows.unionByName(_unknown_member(spark, batch)) if write.unknown_names else rows


def _unknown_member(spark: SparkSession, batch: Batch) -> DataFrame:
    """The row that stands for what is not known, observed in every batch: it is there whenever it was declared."""
    from pyspark.sql import functions as sf

    write, schema = batch.layout.write, spark_schema(batch.staged_shape.columns)
    given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
    values = {field.name: sf.lit(given.get(field.name)).cast(field.dataType) for field in schema.fields}
    row = spark.range(1).select(*[values[name].alias(name) for name in values if name != DELETE_COLUMN])
    start = unknown_start(write, schema[write.timestamp].dataType)
    return _observed(row.withColumns({AT: start, GONE: sf.lit(False)}), batch, FROM_BATCH)


def _table_rows(spark: SparkSession, batch: Batch) -> DataFrame:
    """The versions that a batch may concern, each with the path of its file."""
    from pyspark.sql import functions as sf

    write = batch.layout.write
    if batch.sources is None:
        rows = spark.read.format("delta").load(batch.path).withColumn(FILE_PATH, sf.lit(""))
    else:
        rows = read_files(spark, batch.path, batch.sources, batch.shape, with_path=True)
    made = {
        AT: sf.col(quoted(write.valid_from)),
        GONE: sf.lit(False),
        OLD_TO: sf.col(quoted(write.valid_to)),
        OLD_VERSION: sf.col(quoted(write.version)),
        OLD_FILE: sf.col(FILE_PATH),
    }
    return _observed(rows.alias("t").where(batch.concerned).withColumns(made), batch, FROM_TABLE)


def _store_rows(spark: SparkSession, batch: Batch) -> DataFrame | None:
    write = batch.layout.write
    moment = next(c for c in batch.shape.columns if c.name == write.timestamp)
    since = first_value(batch.path, batch.files, moment)
    condition = f"{AT} >= {render_literal(since, moment.type)}" if since is not None else EVERYTHING
    if unknown := batch.unknown_member:
        # It is observed at the beginning of time, so everything remembered of it counts.
        condition = f"({condition} OR {unknown})"
    known = None if since is None or write.unknown_names else str(since)
    stored = read_store(spark, batch.path, condition, batch.layout, before=batch.number, since=known)
    return None if stored is None else _observed(stored, batch, FROM_STORE)


def _observed(rows: DataFrame, batch: Batch, origin: int) -> DataFrame:
    """The same columns for observations of every origin."""
    from pyspark.sql import functions as sf

    schema = spark_schema(batch.shape.columns)
    at = schema[batch.layout.write.valid_from].dataType.simpleString()
    types = {OLD_TO: at, OLD_VERSION: "int", OLD_FILE: "bigint", BATCH: "bigint", COVERED: "array<string>"}
    types |= {name: schema[name].dataType.simpleString() for name in batch.layout.carried}
    there = set(rows.columns)

    def value(name: str) -> SparkColumn:
        column = sf.col(quoted(name)) if name in there else sf.lit(None).cast(types[name])
        return column.alias(name)

    return rows.select(
        *[sf.col(quoted(key)) for key in batch.layout.write.keys],
        sf.col(AT),
        sf.col(GONE),
        sf.lit(origin).alias(ORIGIN),
        *[value(name) for name in types],
    )


def _is_float(frame: DataFrame, name: str) -> bool:
    return frame.schema[name].dataType.typeName() in {"float", "double"}


def _one_zero(name: str) -> SparkColumn:
    """Zero has one sign: -0.0 equals 0.0, so both must read the same as text."""
    from pyspark.sql import functions as sf

    column = sf.col(quoted(name))
    return sf.when(column == 0, sf.abs(column)).otherwise(column)
