"""Views and rights in a catalog of the Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic.table.location import SESSION_CATALOG
from lakelogic.table.protocol import TableLocation
from lakelogic.table.spark_staged import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def keeps_views(spark: SparkSession, location: TableLocation) -> bool:
    """Whether the table's catalog outlives the session; Spark's own keeps its tables in memory unless it has Hive."""
    catalog = (location.catalog_name or "").split(".")[0]
    if catalog != SESSION_CATALOG:
        return bool(catalog)
    return spark.conf.get("spark.sql.catalogImplementation", "in-memory") == "hive"


def create_view(spark: SparkSession, sql: str) -> None:
    with spark_errors("the view"):
        spark.sql(sql)


def grant(spark: SparkSession, sql: str) -> bool:
    """Carry out a GRANT; False where the catalog has no rights to give (plain Spark does not parse it)."""
    from pyspark.errors import ParseException

    with spark_errors("the grant"):
        try:
            spark.sql(sql)
        except ParseException:
            return False
    return True
