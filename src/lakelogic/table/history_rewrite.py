"""Changed versions take the place of old ones: the files that they stand in are written again, in one commit.

What a MERGE would do, without its search for the files to touch (the changes name them) and without moving the rows
that stay: these are read, freed of what changes, and written in the order in which they lay.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakelogic.core.faults import fault_point
from lakelogic.plan.files import StagedFile
from lakelogic.table.adopt import replace_files
from lakelogic.table.history_batch import Batch, new_folder
from lakelogic.table.history_effect import Effect, find_effect
from lakelogic.table.history_files import marked_files, read_files
from lakelogic.table.history_layout import OLD_FILE, OP
from lakelogic.table.history_scratch import FILE_BYTES, list_parquet, wanted_files, write_parquet
from lakelogic.table.protocol import Commit, CommitId
from lakelogic.table.spark_staged import quoted, session_confs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A pair of key and start weighs little; above this they would weigh too much for every worker to have them all.
_BROADCAST_PAIRS = 2_000_000
# Small files that are rewritten together come out as one.
_CONFS = {"spark.sql.files.maxPartitionBytes": str(FILE_BYTES), "spark.sql.files.openCostInBytes": str(2**20)}


def rewrite_files(
    spark: SparkSession, batch: Batch, changes: DataFrame, files: Sequence[StagedFile], commit_id: CommitId
) -> Commit:
    """Commit changes, which lie in these scratch files, to a table whose files can be read as they are."""
    assert batch.table is not None and batch.sources is not None
    effect = find_effect(batch.path, files)
    touched = marked_files(batch.path, batch.sources, effect.marks)
    folder = new_folder(batch)
    with session_confs(spark, _CONFS):
        rows = _rows(spark, batch, changes, touched, effect, wanted_files(files))
        write_parquet(rows, os.path.join(batch.path, folder), batch.shape.partition_by)
    fault_point("after_history_files")
    written = list_parquet(batch.path, folder)
    metrics = effect.metrics(touched, written)
    return replace_files(batch.table, batch.path, written, touched, batch.shape, commit_id, metrics)


def _rows(
    spark: SparkSession,
    batch: Batch,
    changes: DataFrame,
    touched: Sequence[StagedFile],
    effect: Effect,
    files: int,
) -> DataFrame:
    from pyspark.sql import functions as sf

    write = batch.layout.write
    names = [quoted(column.name) for column in batch.shape.columns]
    near = [quoted(name) for name in (*batch.shape.partition_by, *write.keys, write.valid_from)]
    new = changes.where(OP).select(*names).coalesce(files).sortWithinPartitions(*near)
    if not touched:
        return new
    place = [*write.keys, write.valid_from]
    old = changes.where(sf.col(OLD_FILE).isNotNull()).select(*[quoted(name) for name in place])
    few = effect.updated + effect.deleted <= _BROADCAST_PAIRS
    kept = read_files(spark, batch.path, touched, batch.shape)
    kept = kept.join(sf.broadcast(old) if few else old, on=place, how="left_anti").select(*names)
    if few:
        return kept.unionByName(new)
    # Without a copy of the pairs for everyone the rows are moved, and must be brought near each other again.
    rows = kept.unionByName(new).repartitionByRange(files + wanted_files(touched), *near)
    return rows.sortWithinPartitions(*near)
