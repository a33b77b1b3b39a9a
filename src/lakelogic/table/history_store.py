"""The observation store: what was seen of a key and opens no version now, but may once a late row arrives.

A small Delta table inside the target's folder, so that it is moved, copied and dropped with it. A row says: this key
had at this instant the state that the version around it has, and these other values; or: it was gone. It is written
before the target and carries the batch that wrote it, so that a run that repeats a batch can leave out its own rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.plan.types import named
from lakelogic.storage.files import move_folder, remove_tree
from lakelogic.table.adopt import adopt_files, find_commit, find_table
from lakelogic.table.delta_schema import plan_evolution
from lakelogic.table.history_layout import AT, BATCH, COVERED, GONE, Layout
from lakelogic.table.location import CONTROL_FOLDER
from lakelogic.table.protocol import CommitId, TableShape

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession


def store_path(target: str) -> str:
    """Folders that start with an underscore are hidden from readers and from VACUUM."""
    return os.path.join(target, CONTROL_FOLDER, "observations")


def store_shape(shape: TableShape, layout: Layout) -> TableShape:
    """Keys and instant first, with statistics for them alone: a batch reads what is not older than itself."""
    write, by_name = layout.write, {c.name: c for c in shape.columns}
    columns = (
        *[by_name[key] for key in write.keys],
        Column(AT, by_name[write.valid_from].type, nullable=False),
        Column(GONE, named("boolean"), nullable=False),
        Column(BATCH, named("bigint"), nullable=False),
        Column(COVERED, named("array<string>")),
        *[replace(by_name[name], nullable=True) for name in (*write.untracked, *layout.lineage)],
    )
    return TableShape(
        columns,
        properties={"delta.dataSkippingNumIndexedCols": str(len(write.keys) + 1)},
        description="Observations that opened no version; lakelogic needs them when rows arrive late.",
    )


def check_store(target: str, shape: TableShape, layout: Layout) -> None:
    """Raise where the store cannot take what a batch would remember."""
    table = find_table(store_path(target))
    if table is not None:
        plan_evolution(table, store_shape(shape, layout))


def read_store(
    spark: SparkSession, target: str, condition: str, layout: Layout, *, before: int, since: str | None
) -> DataFrame | None:
    """What was remembered before a batch, where it can matter; None where nothing can."""
    path = store_path(target)
    table = find_table(path)
    if table is None or not _has_rows(table, since):
        return None
    stored = spark.read.format("delta").load(path).alias("t").where(f"{BATCH} < {before} AND ({condition})")
    there = set(stored.columns)
    from pyspark.sql import functions as sf

    # A column that the store never had was always that of the version around.
    lacking = [name for name in layout.carried if name not in there]
    covered = sf.concat(COVERED, sf.array(*[sf.lit(name) for name in lacking]).cast("array<string>"))
    return stored.withColumn(COVERED, covered) if lacking else stored


def _has_rows(table: DeltaTable, since: str | None) -> bool:
    """Whether a file may hold a row from this instant on (ISO text)."""
    if since is None or not table.file_uris():
        return bool(table.file_uris())
    newest = pa.table(table.get_add_actions(flatten=True)).to_pydict().get(f"max.{AT}", [None])
    first = _moment(since)
    return any(latest is None or _moment(latest.isoformat()) >= first for latest in newest)


def _moment(text: str) -> datetime:
    # Instants stand there in UTC, others without a zone: the zone says nothing more.
    return datetime.fromisoformat(text).replace(tzinfo=None)


def commit_store(
    target: str,
    scratch: str,
    files: Sequence[StagedFile],
    shape: TableShape,
    layout: Layout,
    commit_id: CommitId,
    *,
    anew: bool,
) -> None:
    """Add what a batch remembers; the files move from the scratch folder to the store's own.

    `anew`: the history begins here, so whatever was remembered of an earlier one (before a reset) goes.
    """
    path = store_path(target)
    table = find_table(path)
    if find_commit(table, commit_id) is not None:
        return
    folder = f"batch-{commit_id.batch:08d}"
    # An attempt that ended before its commit may have left some.
    remove_tree(os.path.join(path, folder))
    stale = anew and table is not None
    if not files and not stale:
        return
    if files:
        move_folder(os.path.join(target, scratch), os.path.join(path, folder))
    own = [replace(file, path=f"{folder}/{os.path.basename(file.path)}") for file in files]
    adopt_files(path, "overwrite" if stale else "append", own, store_shape(shape, layout), commit_id)


def history_property(layout: Layout) -> str:
    """What may not change while a history grows."""
    write = layout.write
    fixed = [*write.keys, write.timestamp, *write.made, write.surrogate, write.end]
    return json.dumps(fixed)
