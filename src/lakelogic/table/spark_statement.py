"""Running a MERGE on Spark under the commit protocol: one statement, one commit, exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lakelogic.table.protocol import Commit, CommitId
from lakelogic.table.spark_staged import committed, session_confs, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run_merge(
    spark: SparkSession, path: str, rows: DataFrame, render: Callable[[str], str], commit_id: CommitId
) -> Commit:
    """Run the statement that `render` writes for the name under which the rows are known to Spark."""
    view = f"lakelogic_merge_{commit_id.batch}"
    confs = {
        # Partition values of instants are text in the log; the session's zone would shift them.
        "spark.sql.session.timeZone": "UTC",
        # Delta writes these as the commit's transaction and turns a commit that the table carries into a
        # no-op.
        "spark.databricks.delta.write.txnAppId": commit_id.app_id,
        "spark.databricks.delta.write.txnVersion": str(commit_id.batch),
        "spark.databricks.delta.commitInfo.userMetadata": commit_id.as_metadata(),
        # Staged files are ours and do not change, so that the source need not be copied before it is read twice.
        "spark.databricks.delta.merge.materializeSource": "none",
    }
    rows.createOrReplaceTempView(view)
    try:
        with spark_errors(f"the merge into `{path}`"), session_confs(spark, confs):
            spark.sql(render(view))
    finally:
        spark.catalog.dropTempView(view)
    return committed(path, commit_id)
