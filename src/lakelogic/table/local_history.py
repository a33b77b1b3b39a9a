"""SCD2 without a JVM: the way of spark_history.py, with the rows computed by an engine of this process.

The same two commits in the same order, the same folders and the same fault points, so that either may finish or
repeat what the other began.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakelogic.core.errors import CapabilityError
from lakelogic.core.faults import fault_point
from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.history_limits import find_history_limits
from lakelogic.plan.model import Column
from lakelogic.plan.types import named
from lakelogic.plan.writes import WriteScd2
from lakelogic.storage.files import remove_tree
from lakelogic.table.adopt import adopt_files, evolve, find_commit, find_table, replace_files
from lakelogic.table.history_batch import Batch, concerned_ranges, new_folder
from lakelogic.table.history_check import check_history, history_shape, layout_of
from lakelogic.table.history_effect import find_effect
from lakelogic.table.history_layout import CHANGE, KIND, OLD_FILE, REMEMBER
from lakelogic.table.history_remembered import find_stored
from lakelogic.table.history_sql import HistoryQuery, change_columns, render_changes, render_rows
from lakelogic.table.history_store import commit_store
from lakelogic.table.local_files import find_files, group_files, refuse_rewrite
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.protocol import Commit, CommitId, TableShape


@dataclass(frozen=True, slots=True)
class _Scratch:
    """The changes of a batch as files."""

    folder: str
    columns: tuple[Column, ...]
    changes: tuple[StagedFile, ...]
    remembered: tuple[StagedFile, ...]


def check_local_history(path: str, write: WriteScd2, shape: TableShape) -> None:
    """Raise where the rows of this history, or its table, are for Spark alone, or where it is another history."""
    for limit in find_history_limits(write, shape.columns):
        raise CapabilityError(f"an engine without Spark cannot {limit}", hint="run this contract with engine spark")
    table = find_table(path)
    if table is not None:
        refuse_rewrite(table, why="strategy `scd2`")
    check_history(path, write, shape)


def commit_local_history(
    rows: RowWriter,
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
        refuse_rewrite(table, why="strategy `scd2`")
        table = evolve(path, table, shape)
    layout = layout_of(write, shape)
    known = table if table is not None and table.file_uris() else None
    batch = Batch(path, known, files, shape, layout, commit_id.batch, sources=())
    if known is not None:
        batch = replace(batch, sources=find_files(known, concerned_ranges(batch, known)))
    scratch = _write_changes(rows, batch)
    fault_point("after_history_scratch")
    remembered = f"{scratch.folder}/{KIND}={REMEMBER}"
    commit_store(path, remembered, scratch.remembered, shape, layout, commit_id, anew=known is None)
    fault_point("after_store_commit")
    if known is None:
        commit = _load(rows, batch, scratch, commit_id)
    elif not scratch.changes:
        commit = adopt_files(path, "append", (), shape, commit_id)
    else:
        commit = _rewrite(rows, batch, scratch, commit_id)
    remove_tree(os.path.join(path, scratch.folder))
    return commit


def _write_changes(rows: RowWriter, batch: Batch) -> _Scratch:
    # Named after the batch's staged files, so that what a killed run leaves is swept away with them.
    folder = f"{batch.staged_folder}-history-{uuid.uuid4().hex[:8]}"
    stored = find_stored(batch)
    columns = batch.shape.columns
    query = HistoryQuery(
        batch.layout,
        {c.name: c.type for c in columns},
        batch.number,
        None if stored is None else frozenset(c.name for c in stored.columns),
    )
    inputs = {
        "batch": RowInput(batch.path, tuple(batch.files), batch.staged_shape.columns),
        "versions": RowInput(batch.path, _marked(batch), (*columns, Column(OLD_FILE, named("bigint")))),
        **({"remembered": stored} if stored is not None else {}),
    }
    told = change_columns(query)
    written = rows.write_rows(render_changes(query), inputs, told, root=batch.path, folder=folder, partition_by=(KIND,))
    by_kind = {kind: tuple(f for f in written if f.partition[KIND] == kind) for kind in (CHANGE, REMEMBER)}
    return _Scratch(folder, told, by_kind[CHANGE], by_kind[REMEMBER])


def _marked(batch: Batch) -> tuple[StagedFile, ...]:
    """The files of the table, each with its place in the list as the mark of its rows."""
    return tuple(
        replace(file, partition={**file.partition, OLD_FILE: str(number)})
        for number, file in enumerate(batch.sources or ())
    )


def _load(rows: RowWriter, batch: Batch, scratch: _Scratch, commit_id: CommitId) -> Commit:
    """The first versions become the table."""
    shape = history_shape(batch.shape, batch.layout)
    written = _write_rows(rows, batch, scratch, new_folder(batch)) if scratch.changes else ()
    return adopt_files(batch.path, "append", written, shape, commit_id)


def _rewrite(rows: RowWriter, batch: Batch, scratch: _Scratch, commit_id: CommitId) -> Commit:
    """The files with changed versions are written again, in one commit with the changed and the new ones."""
    assert batch.table is not None and batch.sources is not None
    effect = find_effect(batch.path, scratch.changes)
    touched = tuple(batch.sources[mark] for mark in sorted(effect.marks))
    folder, groups = new_folder(batch), group_files(touched)
    # Beside one group they become one file; beside several they would widen the range of keys of one of these.
    alone = len(groups) > 1
    written = list(_write_rows(rows, batch, scratch, f"{folder}/new")) if alone or not groups else []
    for number, group in enumerate(groups):
        written += _write_rows(rows, batch, scratch, f"{folder}/{number}", kept=group, new=not alone)
    fault_point("after_history_files")
    metrics = effect.metrics(touched, written)
    return replace_files(batch.table, batch.path, written, touched, batch.shape, commit_id, metrics)


def _write_rows(
    rows: RowWriter,
    batch: Batch,
    scratch: _Scratch,
    folder: str,
    *,
    kept: tuple[StagedFile, ...] = (),
    new: bool = True,
) -> tuple[StagedFile, ...]:
    """Rows of the table: those of old files that stay, and those that the changes bring."""
    columns, partition_by = batch.shape.columns, batch.shape.partition_by
    inputs = {"changes": RowInput(batch.path, scratch.changes, scratch.columns)}
    if kept:
        inputs["old"] = RowInput(batch.path, kept, columns)
    query = render_rows(batch.layout, partition_by, kept=bool(kept), new=new)
    return rows.write_rows(query, inputs, columns, root=batch.path, folder=folder, partition_by=partition_by)
