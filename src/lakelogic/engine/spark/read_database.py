"""A table or query of a database through JDBC: the database chooses rows and columns, Spark reads them in parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lakelogic.core.database_url import DatabaseUrl, Kind, jdbc_address
from lakelogic.core.errors import CapabilityError
from lakelogic.core.jvm import jvm_errors
from lakelogic.core.slices import Bounds, DatabaseSlice
from lakelogic.engine.protocol import DatabaseRead
from lakelogic.engine.spark.lines import Source
from lakelogic.engine.spark.read_table import count_passing
from lakelogic.engine.spark.types import to_columns, to_ddl
from lakelogic.engine.spark.words import quote
from lakelogic.plan.database_sql import MARK_COLUMN, TAIL_COLUMN, select_everything, select_rows
from lakelogic.plan.model import SOURCE_COLUMN, Column
from lakelogic.plan.types import named, string_type

_MARK = "mark"  # the column of a file of marks


@dataclass(frozen=True, slots=True)
class _Driver:
    """A JDBC driver, what it is fetched by, and what a session of it begins with."""

    java_class: str
    package: str
    session: str | None = None


_DRIVERS: Mapping[Kind, _Driver] = {
    "postgresql": _Driver("org.postgresql.Driver", "postgresql", "SET TIME ZONE 'UTC'"),
    "mysql": _Driver("org.mariadb.jdbc.Driver", "mysql", "SET time_zone = '+00:00'"),
    "sqlite": _Driver("org.sqlite.JDBC", "sqlite"),
    "mssql": _Driver("com.microsoft.sqlserver.jdbc.SQLServerDriver", "mssql"),
}


def inspect_database(spark: SparkSession, read: DatabaseRead) -> tuple[Column, ...]:
    """Names and types, as the client was told them; where there is no client, as the driver says."""
    if read.relation.columns:
        return tuple(Column(column.name, column.type) for column in read.relation.columns)
    return to_columns(_load(spark, read, select_everything(read.relation), ()).schema)


def read_database(spark: SparkSession, slice_: DatabaseSlice, read: DatabaseRead, names: Sequence[str]) -> Source:
    """The rows of a slice, each exactly as it is listed to be read."""
    known = {column.name: Column(column.name, column.type) for column in read.relation.columns}
    beside = [Column(MARK_COLUMN, string_type()), Column(TAIL_COLUMN, named("int"))] if slice_.bounds else []
    split = read.split.field if read.split else None
    sql = select_rows(read.relation, names, slice_.bounds, read.within, split)
    frame = _load(spark, read, sql, [*[known[name] for name in names if name in known], *beside])
    if slice_.bounds is not None:
        frame = _listed(spark, frame, slice_.bounds)
    stamped = frame.select(*(quote(name) for name in names), sf.lit(read.relation.name).alias(SOURCE_COLUMN))
    return count_passing(stamped)


def _listed(spark: SparkSession, frame: DataFrame, bounds: Bounds) -> DataFrame:
    """Rows of the tail only where they are listed, and no row that was read before."""
    frame = frame.withColumn(_MARK, sf.md5(sf.col(MARK_COLUMN)))
    if bounds.seen is not None:
        frame = frame.join(spark.read.parquet(bounds.seen), on=_MARK, how="left_anti")
    if bounds.listed is None:
        return frame.where(f"{TAIL_COLUMN} = 0")
    listed = spark.read.parquet(bounds.listed).distinct().withColumn("_listed", sf.lit(True))
    return frame.join(listed, on=_MARK, how="left").where(f"{TAIL_COLUMN} = 0 OR _listed")


def _load(spark: SparkSession, read: DatabaseRead, sql: str, columns: Sequence[Column]) -> DataFrame:
    driver = _DRIVERS[read.url.kind]
    properties = {"driver": driver.java_class, "fetchsize": str(read.fetch_size), **_user(read.url)}
    if begin := _session(driver, read.snapshot):
        properties["sessionInitStatement"] = begin
    if columns:
        properties["customSchema"] = to_ddl(columns)
    # One condition that always holds is one part: the same call reads with and without a split.
    parts = list(read.split.conditions) if read.split else ["1 = 1"]
    try:
        return spark.read.jdbc(jdbc_address(read.url), f"({sql}) source", predicates=parts, properties=properties)
    except jvm_errors(PySparkException) as error:
        if "ClassNotFoundException" in str(error) or "No suitable driver" in str(error):
            raise CapabilityError(
                f"this Spark has no JDBC driver for {read.url.kind} ({driver.java_class})",
                hint=f"run `lakelogic setup --with {driver.package}`; a Spark that was started elsewhere needs its jar",
            ) from None
        raise


def _user(url: DatabaseUrl) -> dict[str, str]:
    """Beside the address, not in it: Spark shows addresses, and hides what is called a password."""
    given = {"user": url.user, "password": url.password.reveal() if url.password else None}
    return {name: value for name, value in given.items() if value is not None}


def _session(driver: _Driver, snapshot: str | None) -> str | None:
    if snapshot is None or driver.session is None:
        return driver.session
    share = f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '{snapshot}'"
    return f"{driver.session}; {share}"
