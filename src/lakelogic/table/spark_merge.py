"""MERGE on Spark: upsert by key from staged files, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakelogic.core.errors import PlanError, RunError
from lakelogic.plan.files import StagedFile
from lakelogic.plan.writes import WriteMerge
from lakelogic.table.adopt import adopt_files, create_empty, evolve, find_commit, find_table
from lakelogic.table.delta_schema import plan_evolution
from lakelogic.table.obstacles import adoption_obstacle
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.spark_staged import (
    committed,
    quoted,
    read_staged,
    session_confs,
    spark_errors,
    spark_schema,
)

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

DUPLICATE_KEYS = "LL450"


def check_merge(
    spark: SparkSession, path: str, write: WriteMerge, files: Sequence[StagedFile], shape: TableShape
) -> None:
    """Raise where a merge of these files would be refused."""
    _check_write(write, shape)
    if write.on_duplicate_key == "fail" and files:
        repeated = _repeated_keys(read_staged(spark, path, files, shape), write)
        if repeated:
            raise _duplicate_keys(write, repeated)


def commit_merge(
    spark: SparkSession,
    path: str,
    write: WriteMerge,
    files: Sequence[StagedFile],
    shape: TableShape,
    commit_id: CommitId,
) -> Commit:
    """Upsert the rows of staged files by key; a table that is missing is created."""
    _check_write(write, shape)
    table = find_table(path)
    if done := find_commit(table, commit_id):
        return done
    if table is not None:
        _evolve(spark, path, table, shape)
    batch = read_staged(spark, path, files, shape)
    # `latest` needs the count only to see whether a new table can adopt the files as they are.
    repeated = _repeated_keys(batch, write) if write.on_duplicate_key == "fail" or table is None else 0
    if repeated and write.on_duplicate_key == "fail":
        raise _duplicate_keys(write, repeated)
    if table is None and not repeated:
        return adopt_files(path, "append", files, shape, commit_id)
    if table is None:
        create_empty(path, shape)
    _merge(spark, path, batch, write, shape, commit_id)
    return committed(path, commit_id)


def _evolve(spark: SparkSession, path: str, table: DeltaTable, shape: TableShape) -> None:
    if adoption_obstacle(table) is None:
        evolve(table, shape)
        return
    # Only Spark knows what a new column needs under such a feature (an id and a physical name, for one).
    missing = plan_evolution(table, shape).new_columns
    if missing:
        fields = spark_schema(missing).fields
        columns = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in fields)
        with spark_errors(f"the new columns of `{path}`"):
            spark.sql(f"ALTER TABLE delta.{quoted(path)} ADD COLUMNS ({columns})")


def _check_write(write: WriteMerge, shape: TableShape) -> None:
    names = {column.name for column in shape.columns}
    for key in write.keys:
        if key not in names:
            raise PlanError(f"merge key `{key}` is not a column of the batch", hint="list key columns in primary_key")
    if not write.keys:
        raise PlanError("strategy `merge` needs a primary key", hint="list the key columns under primary_key")
    if write.on_duplicate_key == "latest" and not write.order_by:
        raise PlanError(
            "`on_duplicate_key: latest` needs an order, or the winner would be random",
            hint="name a column under materialization.merge.order_by",
        )


def _repeated_keys(batch: DataFrame, write: WriteMerge) -> int:
    from pyspark.sql import functions

    keys = [functions.col(quoted(key)) for key in write.keys]
    with spark_errors("the check for duplicate keys"):
        row = batch.groupBy(*keys).count().where("count > 1").agg(functions.count("*").alias("repeated")).first()
    return int(row["repeated"]) if row is not None else 0


def _merge(
    spark: SparkSession,
    path: str,
    batch: DataFrame,
    write: WriteMerge,
    shape: TableShape,
    commit_id: CommitId,
) -> None:
    view = f"lakelogic_merge_{commit_id.batch}"
    rows = _latest(batch, write, shape) if write.on_duplicate_key == "latest" else batch
    confs = {
        # Partition values of instants are text in the log; the session's zone would shift them.
        "spark.sql.session.timeZone": "UTC",
        # Delta writes these as the commit's transaction and turns a commit that the table carries into a
        # no-op.
        "spark.databricks.delta.write.txnAppId": commit_id.app_id,
        "spark.databricks.delta.write.txnVersion": str(commit_id.batch),
        "spark.databricks.delta.commitInfo.userMetadata": commit_id.as_metadata(),
    }
    rows.createOrReplaceTempView(view)
    try:
        with spark_errors(f"the merge into `{path}`"), session_confs(spark, confs):
            spark.sql(render_merge(path, view, write.keys, [column.name for column in shape.columns]))
    finally:
        spark.catalog.dropTempView(view)


def render_merge(path: str, source: str, keys: Sequence[str], columns: Sequence[str]) -> str:
    """The MERGE statement. Keys are never NULL here, so `=` is right and lets Delta skip files."""
    condition = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)
    changed = [name for name in columns if name not in keys]
    assignments = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in changed)
    # A table of keys only has nothing to update; an empty SET would be an error.
    update = f"WHEN MATCHED THEN UPDATE SET {assignments} " if changed else ""
    names = ", ".join(quoted(name) for name in columns)
    values = ", ".join(f"s.{quoted(name)}" for name in columns)
    return (
        f"MERGE INTO delta.{quoted(path)} AS t USING {quoted(source)} AS s ON {condition} "
        f"{update}WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"
    )


def _latest(batch: DataFrame, write: WriteMerge, shape: TableShape) -> DataFrame:
    """One row per key: the greatest by the order; ties go to a hash, so that a rerun chooses alike."""
    from pyspark.sql import Window, functions

    rank = "_lakelogic_rank"
    columns = [functions.col(quoted(column.name)) for column in shape.columns]
    tie = functions.sha2(functions.to_json(functions.struct(*columns)), 256).desc()
    order = [_order_term(term) for term in write.order_by]
    window = Window.partitionBy(*(functions.col(quoted(key)) for key in write.keys)).orderBy(*order, tie)
    return batch.withColumn(rank, functions.row_number().over(window)).where(functions.col(rank) == 1).drop(rank)


def _order_term(term: str) -> SparkColumn:
    from pyspark.sql import functions

    name, _, direction = term.strip().partition(" ")
    column = functions.col(quoted(name.strip("`")))
    # The row that wins stands first: without a direction that is the greatest. A missing value never wins.
    return column.asc_nulls_last() if direction.strip().lower() == "asc" else column.desc_nulls_last()


def _duplicate_keys(write: WriteMerge, repeated: int) -> RunError:
    return RunError(
        f"{repeated} keys of ({', '.join(write.keys)}) stand more than once in the batch",
        code=DUPLICATE_KEYS,
        hint="deduplicate them, or set materialization.merge: {order_by: [...], on_duplicate_key: latest}",
    )
