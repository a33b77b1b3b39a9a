"""Reconciling with a full snapshot: how much of a table would go, before anything does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakelogic.table.merge_checks import judge_missing
from lakelogic.table.spark_staged import quoted, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def check_missing(spark: SparkSession, path: str, batch: DataFrame, keys: Sequence[str], limit: float) -> None:
    """Raise where more of the table than `limit` has a key that the batch does not have."""
    rows, missing = count_missing(spark, path, batch, keys)
    judge_missing(rows, missing, limit)


def count_missing(spark: SparkSession, path: str, batch: DataFrame, keys: Sequence[str]) -> tuple[int, int]:
    """Rows of the table, and those of them whose key is not in the batch; one job over the key columns."""
    from pyspark.sql import functions

    there = "_lakelogic_there"
    names = [quoted(key) for key in keys]
    table = spark.read.format("delta").load(path).select(*names)
    given = batch.select(*names).distinct().withColumn(there, functions.lit(1))
    joined = table.join(given, list(keys), "left")
    with spark_errors(f"the comparison of `{path}` with the batch"):
        row = joined.agg(
            functions.count(functions.lit(1)).alias("rows"), functions.count(functions.col(there)).alias("kept")
        ).first()
    assert row is not None
    return int(row["rows"]), int(row["rows"]) - int(row["kept"])
