"""SCD2 on Spark: a batch becomes versions in one commit, exactly once. The semantics are in history_rows.py.

    observe   the batch, the versions of its keys, and what the store remembers of them
    compute   which versions change, as scratch files
    remember  what opens no version, in the store        (its own commit, first)
    rewrite   the files with changed versions            (the commit of the batch; a MERGE where Delta must write)

A run that ended between the two commits is repeated from the same staged files: it leaves out what the store got
from this very batch, so it computes the same changes again.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakelogic.core.faults import fault_point
from lakelogic.plan.files import StagedFile
from lakelogic.plan.writes import WriteScd2
from lakelogic.storage.files import remove_tree
from lakelogic.table.adopt import adopt_files, find_commit, find_table
from lakelogic.table.history_batch import Batch, new_folder, open_batch
from lakelogic.table.history_check import history_shape, layout_of
from lakelogic.table.history_layout import CHANGE, KIND, REMEMBER
from lakelogic.table.history_merge import render_merge
from lakelogic.table.history_observed import observe
from lakelogic.table.history_rewrite import rewrite_files
from lakelogic.table.history_rows import compute_changes
from lakelogic.table.history_scratch import list_parquet, wanted_files, write_parquet
from lakelogic.table.history_store import commit_store, store_path, store_shape
from lakelogic.table.obstacles import adoption_obstacle
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.spark_merge import ready_table
from lakelogic.table.spark_staged import quoted, session_confs, spark_errors
from lakelogic.table.spark_statement import run_merge
from lakelogic.table.spark_widen import widen_on_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_CONFS = {
    "spark.sql.session.timeZone": "UTC",
    # The other form of instants has no statistics, by which files are skipped.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.maxConcurrentOutputFileWriters": "16",  # so that no sort precedes the split into two folders
}


@dataclass(frozen=True, slots=True)
class _Scratch:
    """The changes of a batch as files."""

    folder: str
    schema: StructType
    changes: tuple[StagedFile, ...]
    remembered: tuple[StagedFile, ...]


def commit_history(
    spark: SparkSession,
    path: str,
    write: WriteScd2,
    files: Sequence[StagedFile],
    shape: TableShape,
    commit_id: CommitId,
) -> Commit:
    """Put the rows of staged files into the history; a table that is missing is created."""
    table = find_table(path)
    if done := find_commit(table, commit_id):
        return done
    if table is not None:
        table = ready_table(spark, path, table, shape)
    layout = layout_of(write, shape)
    widen_on_spark(spark, store_path(path), store_shape(shape, layout))
    known = table if table is not None and table.file_uris() else None
    batch = open_batch(path, known, files, shape, layout, commit_id.batch)
    with spark_errors(f"the history in `{path}`"), session_confs(spark, _CONFS):
        scratch = _write_changes(spark, batch)
        fault_point("after_history_scratch")
        remembered = f"{scratch.folder}/{KIND}={REMEMBER}"
        commit_store(path, remembered, scratch.remembered, shape, layout, commit_id, anew=known is None)
        fault_point("after_store_commit")
        if table is not None and adoption_obstacle(table) is not None:
            commit = _merge(spark, batch, scratch, commit_id)
        elif known is None:
            commit = _load(spark, batch, scratch, commit_id)
        elif not scratch.changes:
            commit = adopt_files(path, "append", (), shape, commit_id)
        elif batch.sources is None:
            commit = _merge(spark, batch, scratch, commit_id)
        else:
            commit = rewrite_files(spark, batch, _read(spark, batch, scratch), scratch.changes, commit_id)
    remove_tree(os.path.join(path, scratch.folder))
    return commit


def _write_changes(spark: SparkSession, batch: Batch) -> _Scratch:
    # Named after the batch's staged files, so that what a killed run leaves is swept away with them.
    folder = f"{batch.staged_folder}-history-{uuid.uuid4().hex[:8]}"
    changes = compute_changes(observe(spark, batch), batch.layout, batch=batch.number)
    write_parquet(changes, os.path.join(batch.path, folder), [KIND])
    return _Scratch(
        folder,
        changes.drop(KIND).schema,
        list_parquet(batch.path, f"{folder}/{KIND}={CHANGE}"),
        list_parquet(batch.path, f"{folder}/{KIND}={REMEMBER}"),
    )


def _load(spark: SparkSession, batch: Batch, scratch: _Scratch, commit_id: CommitId) -> Commit:
    """The first versions become the table's files as they are, near each other by key."""
    shape = history_shape(batch.shape, batch.layout)
    if not scratch.changes:
        return adopt_files(batch.path, "append", (), shape, commit_id)
    keys = [quoted(key) for key in batch.layout.write.keys]
    near = [*[quoted(name) for name in shape.partition_by], *keys]
    rows = _read(spark, batch, scratch).select(*[quoted(c.name) for c in shape.columns])
    rows = rows.repartitionByRange(wanted_files(scratch.changes), *near)
    rows = rows.sortWithinPartitions(*near, quoted(batch.layout.write.valid_from))
    folder = new_folder(batch)
    write_parquet(rows, os.path.join(batch.path, folder), shape.partition_by)
    return adopt_files(batch.path, "append", list_parquet(batch.path, folder), shape, commit_id)


def _merge(spark: SparkSession, batch: Batch, scratch: _Scratch, commit_id: CommitId) -> Commit:
    rows = _read(spark, batch, scratch)
    return run_merge(spark, batch.path, rows, lambda view: render_merge(batch, scratch.changes, view), commit_id)


def _read(spark: SparkSession, batch: Batch, scratch: _Scratch) -> DataFrame:
    if not scratch.changes:
        return spark.createDataFrame([], scratch.schema)
    paths = [os.path.join(batch.path, file.path) for file in scratch.changes]
    return spark.read.schema(scratch.schema).option("__globPaths__", "false").parquet(*paths)
