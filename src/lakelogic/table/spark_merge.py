"""MERGE on Spark: upsert by key from staged files, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import DELETE_COLUMN
from lakelogic.plan.writes import WriteMerge, visible_keys
from lakelogic.table.adopt import adopt_files, create_empty, evolve, find_commit, find_table
from lakelogic.table.delta_schema import plan_evolution
from lakelogic.table.merge_checks import check_keys, refuse_repeated
from lakelogic.table.merge_sql import latest_order, render_merge
from lakelogic.table.obstacles import adoption_obstacle
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.pruning import EVERYTHING, count_repeated, target_predicate
from lakelogic.table.spark_reconcile import check_missing
from lakelogic.table.spark_staged import has_deletes, quoted, read_staged, spark_errors, spark_schema, with_helpers
from lakelogic.table.spark_statement import run_merge

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


def check_merge(
    spark: SparkSession, path: str, write: WriteMerge, files: Sequence[StagedFile], shape: TableShape
) -> None:
    """Raise where a merge of these files would be refused; the one place where repeated keys are counted."""
    check_keys(write, shape)
    if write.on_duplicate_key == "fail" and files:
        refuse_repeated(write, count_repeated_keys(spark, path, files, shape, write.keys))
    if write.delete_missing and write.max_delete_ratio is not None and find_table(path) is not None:
        check_missing(spark, path, read_staged(spark, path, files, shape), write.keys, write.max_delete_ratio)


def commit_merge(
    spark: SparkSession,
    path: str,
    write: WriteMerge,
    files: Sequence[StagedFile],
    shape: TableShape,
    commit_id: CommitId,
) -> Commit:
    """Upsert the rows of staged files by key; a table that is missing is created."""
    check_keys(write, shape)
    table = find_table(path)
    if done := find_commit(table, commit_id):
        return done
    if table is None and _is_adoptable(spark, path, write, files, shape):
        return adopt_files(path, "append", files, shape, commit_id)
    table = ready_table(spark, path, table, shape)
    # Where missing keys are deleted, every row of the table is looked at.
    narrow = not write.delete_missing
    predicate = target_predicate(table, path, files, shape, visible_keys(write), alias="t") if narrow else EVERYTHING
    helpers = (DELETE_COLUMN,) if write.deletes else ()
    batch = read_staged(spark, path, files, with_helpers(shape, helpers))
    rows = _latest(batch, write, shape) if write.on_duplicate_key == "latest" else batch
    names = [column.name for column in shape.columns]
    return run_merge(
        spark, path, rows, lambda view: render_merge(path, view, write, names, predicate=predicate), commit_id
    )


def _is_adoptable(
    spark: SparkSession, path: str, write: WriteMerge, files: Sequence[StagedFile], shape: TableShape
) -> bool:
    """Whether a new table can take the files as they are: every key once, and nothing in them that is to go."""
    if write.deletes and has_deletes(path, files):
        return False
    if write.on_duplicate_key != "latest":
        return True  # checked before, or taken out by the stage
    return not count_repeated_keys(spark, path, files, shape, write.keys)


def ready_table(spark: SparkSession, path: str, table: DeltaTable | None, shape: TableShape) -> DeltaTable:
    """The table with all columns of the batch; created without rows where it is missing."""
    if table is None:
        return create_empty(path, shape)
    if adoption_obstacle(table) is None:
        return evolve(path, table, shape)
    # Only Spark knows what a new column needs under such a feature (an id and a physical name, for one).
    missing = plan_evolution(table, shape).new_columns
    if missing:
        fields = spark_schema(missing).fields
        columns = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in fields)
        with spark_errors(f"the new columns of `{path}`"):
            spark.sql(f"ALTER TABLE delta.{quoted(path)} ADD COLUMNS ({columns})")
    return table


def count_repeated_keys(
    spark: SparkSession, path: str, files: Sequence[StagedFile], shape: TableShape, keys: Sequence[str]
) -> int:
    """How many keys stand in the batch more than once."""
    from pyspark.sql import functions

    counted = count_repeated(path, files, shape, keys) if files else 0
    if counted is not None:
        return counted
    batch = read_staged(spark, path, files, shape)
    names = [functions.col(quoted(key)) for key in keys]
    with spark_errors("the check for duplicate keys"):
        row = batch.groupBy(*names).count().where("count > 1").agg(functions.count("*").alias("repeated")).first()
    return int(row["repeated"]) if row is not None else 0


def _latest(batch: DataFrame, write: WriteMerge, shape: TableShape) -> DataFrame:
    """One row per key: the greatest by the order; ties go to other columns, so that every engine chooses alike."""
    from pyspark.sql import Window, functions

    rank = "_lakelogic_rank"
    order = [_order_column(name, newest_first=first) for name, first in latest_order(write, shape.columns)]
    window = Window.partitionBy(*(functions.col(quoted(key)) for key in write.keys)).orderBy(*order)
    return batch.withColumn(rank, functions.row_number().over(window)).where(functions.col(rank) == 1).drop(rank)


def _order_column(name: str, *, newest_first: bool) -> SparkColumn:
    from pyspark.sql import functions

    column = functions.col(quoted(name))
    # A missing value never wins.
    return column.desc_nulls_last() if newest_first else column.asc_nulls_last()
