"""A Spark that somebody else started for this process: `spark-submit`, a notebook, or a platform such as Databricks.

It keeps its master, its resources and its life: we neither name a master to it nor stop it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from lakelogic.engine.spark.failures import translated

# Set for the Python process by spark-submit, and by Databricks.
_SIGNS = ("PYSPARK_GATEWAY_PORT", "DATABRICKS_RUNTIME_VERSION")
_EXTENSIONS, _CATALOG = "spark.sql.extensions", "spark.sql.catalog.spark_catalog"
_DELTA = {
    _EXTENSIONS: "io.delta.sql.DeltaSparkSessionExtension",
    _CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def is_given(ours: Iterable[Any]) -> bool:
    """Whether this process has a Spark, or the way to one, that is none of ours."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return not any(_same(active, each) for each in ours)
    return any(sign in os.environ for sign in _SIGNS)


def join_given(conf: Mapping[str, str]) -> SparkSession:
    """The session of that Spark; one that is only now begun gets what Delta needs, unless it was named already."""
    builder = SparkSession.builder
    wanted = {**conf} if SparkSession.getActiveSession() else {**_delta_settings(), **conf}
    for name, value in wanted.items():
        builder = builder.config(name, value)
    with translated("joining the Spark that was started for this process"):
        return builder.getOrCreate()


def _delta_settings() -> dict[str, str]:
    from pyspark import SparkConf  # not in a client without a JVM

    submitted = SparkConf()
    named = submitted.get(_EXTENSIONS, "") or ""
    found = {} if submitted.contains(_CATALOG) else {_CATALOG: _DELTA[_CATALOG]}
    if _DELTA[_EXTENSIONS] in named:
        return found
    return {**found, _EXTENSIONS: ",".join(filter(None, (named, _DELTA[_EXTENSIONS])))}


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    classic = isinstance(one, SparkSession) and isinstance(other, SparkSession)
    return classic and one.sparkContext is other.sparkContext
