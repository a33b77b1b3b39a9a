"""Delta tables on Spark: adoption where it can be, Spark's Delta writer where it must be, and catalogs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from lakelogic.core.errors import PlanError
from lakelogic.core.events import Event
from lakelogic.plan.files import StagedFile
from lakelogic.plan.writes import (
    Write,
    WriteAppend,
    WriteCdc,
    WriteMerge,
    WriteOverwrite,
    WriteOverwritePartitions,
    WriteReplace,
    WriteScd2,
    is_merged,
)
from lakelogic.table.adopt import Mode, adopt_files, find_commit, find_committed, find_table
from lakelogic.table.delta_schema import plan_evolution
from lakelogic.table.evolution import check_evolution
from lakelogic.table.history_check import check_history
from lakelogic.table.logged_files import are_whole_files
from lakelogic.table.not_null import check_not_null
from lakelogic.table.obstacles import adoption_obstacle, refuse_append_only, require_append_only
from lakelogic.table.protocol import Commit, CommitId, EvolutionPolicy, TableLocation, TableShape
from lakelogic.table.replaced import Replaced, find_replaced
from lakelogic.table.spark_cdc import commit_cdc
from lakelogic.table.spark_history import commit_history
from lakelogic.table.spark_merge import check_merge, commit_merge
from lakelogic.table.spark_staged import committed, read_staged, session_confs, spark_errors
from lakelogic.table.spark_widen import widen_on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkDeltaTable:
    """A Delta table that a Spark session can write to."""

    def __init__(self, location: TableLocation, spark: SparkSession) -> None:
        self.location = locate_in_catalog(spark, location)
        self._spark = spark

    def find_committed(self, app_id: str) -> int | None:
        return find_committed(find_table(self.location.path), app_id)

    def check(
        self, write: Write, files: Sequence[StagedFile], shape: TableShape, *, policy: EvolutionPolicy
    ) -> tuple[Event, ...]:
        table = find_table(self.location.path)
        events = check_evolution(table, write, shape, policy)
        refuse_append_only(table, write)
        require_append_only(table, shape)
        check_not_null(self.location.path, table, files, shape)
        if isinstance(write, WriteMerge):
            check_merge(self._spark, self.location.path, write, files, shape)
        if isinstance(write, WriteScd2):
            check_history(self.location.path, write, shape)
        return events

    def commit(self, write: Write, files: Sequence[StagedFile], shape: TableShape, commit_id: CommitId) -> Commit:
        widen_on_spark(self._spark, self.location.path, shape)
        match write:
            case WriteAppend():
                commit = self._commit_files("append", files, shape, commit_id)
            case WriteOverwrite():
                commit = self._commit_files("overwrite", files, shape, commit_id)
            case WriteReplace() | WriteOverwritePartitions():
                commit = self._replace(write, files, shape, commit_id)
            case WriteMerge():
                commit = commit_merge(self._spark, self.location.path, write, files, shape, commit_id)
            case WriteCdc():
                commit = commit_cdc(self._spark, self.location.path, write, files, shape, commit_id)
            case WriteScd2():
                commit = commit_history(self._spark, self.location.path, write, files, shape, commit_id)
            case _:
                assert_never(write)
        # After the commit, so that a catalog never shows a table that is not there; safe to repeat.
        register_table(self._spark, self.location)
        return commit

    def write_path(self, write: Write) -> str:
        """The way a commit will take, for the plan: `adopt`, `merge`, or why files are rewritten."""
        if is_merged(write):
            return "merge"
        table = find_table(self.location.path)
        obstacle = table and adoption_obstacle(table, overwrite=not isinstance(write, WriteAppend))
        return f"rewrite: the table has {obstacle}" if obstacle else "adopt"

    def _replace(
        self,
        write: WriteReplace | WriteOverwritePartitions,
        files: Sequence[StagedFile],
        shape: TableShape,
        commit_id: CommitId,
    ) -> Commit:
        if not files:  # nothing to put in the place of others
            return self._commit_files("append", files, shape, commit_id)
        return self._commit_files("overwrite", files, shape, commit_id, find_replaced(write, files, shape))

    def _commit_files(
        self,
        mode: Mode,
        files: Sequence[StagedFile],
        shape: TableShape,
        commit_id: CommitId,
        replaced: Replaced | None = None,
    ) -> Commit:
        table = find_table(self.location.path)
        whole_files = table is None or replaced is None or are_whole_files(table, replaced)
        if table is None or (whole_files and adoption_obstacle(table, overwrite=mode == "overwrite") is None):
            return adopt_files(self.location.path, mode, files, shape, commit_id, replaced=replaced)
        if done := find_commit(table, commit_id):
            return done
        grows = bool(plan_evolution(table, shape).new_columns)
        options = {"mergeSchema": str(grows).lower()}
        if replaced is not None:
            options["replaceWhere"] = replaced.sql("spark")
        _rewrite(self._spark, self.location.path, mode, files, shape, commit_id, options)
        return committed(self.location.path, commit_id)


def session_catalogs(spark: SparkSession) -> frozenset[str]:
    """Names of the catalogs that a session is configured with."""
    prefix = "spark.sql.catalog."
    keys = (key.removeprefix(prefix) for key in spark.conf.getAll if key.startswith(prefix))
    return frozenset(key for key in keys if "." not in key)


def _rewrite(
    spark: SparkSession,
    path: str,
    mode: Mode,
    files: Sequence[StagedFile],
    shape: TableShape,
    commit_id: CommitId,
    options: Mapping[str, str],
) -> None:
    with spark_errors(f"the write to `{path}`"), session_confs(spark, {"spark.sql.session.timeZone": "UTC"}):
        (
            read_staged(spark, path, files, shape)
            .write.format("delta")
            .mode(mode)
            .option("txnAppId", commit_id.app_id)
            .option("txnVersion", str(commit_id.batch))
            .option("userMetadata", commit_id.as_metadata())
            .options(**options)
            .save(path)
        )


def locate_in_catalog(spark: SparkSession, location: TableLocation) -> TableLocation:
    """A table that the catalog knows lies where the catalog says."""
    name = location.catalog_name
    if name is None:
        return location
    with spark_errors(f"the catalog look-up of `{name}`"):
        if not spark.catalog.tableExists(_quoted(name)):
            return location
        detail = spark.sql(f"DESCRIBE DETAIL {_quoted(name)}").first()
    if detail is None or detail["format"] != "delta":
        raise PlanError(f"`{name}` is in the catalog, but not as a Delta table", hint="write to another name")
    return replace(location, path=_local(detail["location"]))


def register_table(spark: SparkSession, location: TableLocation) -> None:
    """Let the catalog know a table that lies in its folder."""
    name = location.catalog_name
    if name is None:
        return
    schema = _quoted(name.rsplit(".", 1)[0])
    parent, folder = (path.replace("\\", "\\\\").replace("'", "\\'") for path in _folders(location.path))
    with spark_errors(f"the registration of `{name}`"):
        if spark.catalog.tableExists(_quoted(name)):
            return
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema} LOCATION '{parent}'")
        spark.sql(f"CREATE TABLE IF NOT EXISTS {_quoted(name)} USING DELTA LOCATION '{folder}'")


def _folders(path: str) -> tuple[str, str]:
    return path.rsplit("/", 1)[0], path


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))


def _local(uri: str) -> str:
    # Hadoop writes a local path as `file:/a/b`, others as `file:///a/b`.
    if not uri.startswith("file:"):
        return uri
    return "/" + uri.removeprefix("file:").lstrip("/")
