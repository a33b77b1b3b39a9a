"""How a scan is cut into tasks.

Spark cuts files into parts of a fixed size and a rest. Where the parts are few, the cores wait for the last one: four
tasks on two cores can take as long as three rounds. Equal parts, as many as fill whole rounds, end together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_PARTS = "spark.sql.files.minPartitionNum"
_PART_SIZE = "spark.sql.files.maxPartitionBytes"
_MANY_ROUNDS = 8  # the rest of so many rounds is short beside them


@contextmanager
def even_tasks(spark: SparkSession, size: int) -> Iterator[None]:
    """Cut scans of the block into equal parts; a caller's own number of parts is left alone."""
    number = choose_parts(size, _part_size(spark), _cores(spark))
    if number is None or spark.conf.get(_PARTS, None) is not None:
        yield
        return
    spark.conf.set(_PARTS, str(number))
    try:
        yield
    finally:
        spark.conf.unset(_PARTS)


def choose_parts(size: int, part_size: int, cores: int | None) -> int | None:
    """The fewest parts of at most `part_size` that keep all cores busy to the end; None: as Spark does it."""
    if cores is None:
        return None
    rounds = -(-size // (part_size * cores))
    return rounds * cores if 1 < rounds < _MANY_ROUNDS else None


def _part_size(spark: SparkSession) -> int:
    text = spark.conf.get(_PART_SIZE) or ""
    digits = text.lower().removesuffix("b")
    return int(digits) if digits.isdigit() else 128 * 2**20


def _cores(spark: SparkSession) -> int | None:
    try:
        return int(spark.sparkContext.defaultParallelism)
    except (AttributeError, PySparkException):
        return None  # a remote session does not say
