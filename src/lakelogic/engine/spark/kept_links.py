"""Links that are read once for several contracts: cached under a name that all sessions of the application know.

The one place where something is cached. A temporary view is its session's own, and a plan that another session builds
over the same files is not certain to be recognised as the same; a global view hands over the plan itself.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from pyspark.sql import SparkSession

from lakelogic.engine.protocol import KeptLink
from lakelogic.engine.spark.failures import translated
from lakelogic.engine.spark.reader import read_link
from lakelogic.plan.model import LinkRead

_DATABASE_SETTING, _DATABASE = "spark.sql.globalTempDatabase", "global_temp"


def keep_link(spark: SparkSession, link: LinkRead) -> KeptLink:
    """Read a link into the memory of the application, what does not fit to its disks; one job, now."""
    view = f"lakelogic_link_{uuid.uuid4().hex}"
    database = spark.conf.get(_DATABASE_SETTING, None) or _DATABASE
    name = f"{database}.{view}"
    read_link(spark, link).createGlobalTempView(view)
    kept = KeptLink(replace(link, path=name, format="table", options={}), lambda: _release(spark, view, name))
    try:
        # Not lazily: contracts that start together would each read what is not there yet.
        spark.sql(f"CACHE TABLE {name} OPTIONS ('storageLevel' 'MEMORY_AND_DISK')")
    except BaseException:
        spark.catalog.dropGlobalTempView(view)
        raise
    return kept


def _release(spark: SparkSession, view: str, name: str) -> None:
    with translated("letting go of a link"):
        spark.sql(f"UNCACHE TABLE IF EXISTS {name}")
        spark.catalog.dropGlobalTempView(view)
