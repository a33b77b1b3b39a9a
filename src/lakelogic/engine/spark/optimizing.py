"""What Spark's optimizer shall not try with a stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_CONSTRAINTS = "spark.sql.constraintPropagation.enabled"


@contextmanager
def without_constraints(spark: SparkSession) -> Iterator[None]:
    """Keep Spark from following what filters say of columns through every name that a column has.

    Each step of ours passes on all columns, and the raw ones stand beside them: the combinations of their names grow by
    powers, and the optimizer was at it for minutes. What it would find are filters for NULL keys of joins.
    """
    before = spark.conf.get(_CONSTRAINTS, None)
    spark.conf.set(_CONSTRAINTS, "false")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_CONSTRAINTS)
        else:
            spark.conf.set(_CONSTRAINTS, before)
