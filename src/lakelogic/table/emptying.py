"""A table emptied or restored by one commit that carries its batch; older versions stay readable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from deltalake.exceptions import DeltaError

from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.storage.files import file_exists
from lakelogic.storage.tables import open_delta
from lakelogic.table.adopt import find_commit, find_table
from lakelogic.table.commit_properties import commit_properties
from lakelogic.table.obstacles import adoption_obstacle, takes_appends_only
from lakelogic.table.protocol import CommitId, TableLocation
from lakelogic.table.spark_staged import quoted, session_confs, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Spark = Callable[[], "SparkSession"] | None


def empty_table(location: TableLocation, commit_id: CommitId, open_spark: Spark) -> None:
    """Remove all rows; a table that is missing or carries the batch already is left as it is."""
    _commit(location, commit_id, open_spark, None)


def restore_table(location: TableLocation, version: int, commit_id: CommitId, open_spark: Spark) -> None:
    """Show the rows of an older version again.

    Spark's RESTORE carries no transaction; doing it twice shows the same rows, so that this harms nothing.
    """
    _commit(location, commit_id, open_spark, version)


def check_emptying(location: TableLocation, open_spark: Spark) -> None:
    """Raise where a table cannot be emptied, before anything is changed."""
    table = find_table(location.path)
    if table is None:
        return
    if takes_appends_only(table):
        raise PlanError(
            f"the table `{location.name}` only takes appends (delta.appendOnly), and is not emptied",
            hint="reset what is made from it; to begin it anew, write to another target_path, or take the property off",
            code="LL334",
        )
    obstacle = adoption_obstacle(table, overwrite=True)
    if obstacle is not None and open_spark is None:
        raise CapabilityError(f"the table `{location.name}` has {obstacle}", hint="run it with --engine spark")


def count_missing(path: str, version: int) -> int:
    """How many files of an older version are no longer there."""
    try:
        files = open_delta(path, version).file_uris()
    except DeltaError as error:
        raise RunError(f"version {version} of `{path}` cannot be opened: {error}", code="LL440") from error
    return sum(not file_exists(file) for file in files)


def _commit(location: TableLocation, commit_id: CommitId, open_spark: Spark, version: int | None) -> None:
    table = find_table(location.path)
    if table is None or find_commit(table, commit_id) is not None:
        return
    if adoption_obstacle(table, overwrite=True) is not None:
        assert open_spark is not None, "`check_emptying` comes first"
        _commit_by_spark(open_spark(), location.path, commit_id, version)
        return
    try:
        if version is None:
            table.delete(commit_properties=commit_properties(commit_id))
        else:
            table.restore(version, commit_properties=commit_properties(commit_id))
    except DeltaError as error:
        raise RunError(
            f"the table `{location.name}` could not be changed: {error}", code="LL441", retryable=True
        ) from error


def _commit_by_spark(spark: SparkSession, path: str, commit_id: CommitId, version: int | None) -> None:
    confs = {
        "spark.databricks.delta.write.txnAppId": commit_id.app_id,
        "spark.databricks.delta.write.txnVersion": str(commit_id.batch),
        "spark.databricks.delta.commitInfo.userMetadata": commit_id.as_metadata(),
    }
    table = f"delta.{quoted(path)}"
    with spark_errors(f"the change of `{path}`"), session_confs(spark, confs):
        spark.sql(f"DELETE FROM {table}" if version is None else f"RESTORE TABLE {table} TO VERSION AS OF {version}")
