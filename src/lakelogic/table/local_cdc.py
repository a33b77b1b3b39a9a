"""Change events without a JVM: the newest state of each key of a batch, merged in one commit, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from deltalake import DeltaTable

from lakelogic.core.faults import fault_point
from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.model import HELPER_COLUMNS, UNCHANGED_COLUMN, Column
from lakelogic.plan.types import named
from lakelogic.plan.writes import WriteCdc
from lakelogic.table.adopt import adopt_files, create_empty, evolve, find_commit, find_table
from lakelogic.table.cdc_events import has_truncates, has_values, known_columns, text_literal
from lakelogic.table.cdc_rows import EVENTS, REMEMBERED, Cut, newest_cut_query, remembered_cut_query, states_query
from lakelogic.table.cdc_sql import GONE, GONE_AT, GONE_WHY, render_cdc
from lakelogic.table.deletes import deletes_path, remember_deletes
from lakelogic.table.facts import columns_of
from lakelogic.table.local_files import find_files, refuse_new, refuse_rewrite, scratch_folder
from lakelogic.table.local_merge import batch_rows, files_with_keys, run_merge
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.local_upsert import count_repeated_keys
from lakelogic.table.merge_rows import BATCH, Merge, parse_merge
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.pruning import EVERYTHING
from lakelogic.table.spark_staged import has_deletes, helper_columns

_WHY = "strategy `cdc`"


@dataclass(frozen=True, slots=True)
class _Events:
    """A batch of staged events, and what is known of deletes before it."""

    write: WriteCdc
    rows: RowInput
    names: tuple[str, ...]  # columns of the target that the batch has
    known: dict[str, str]  # columns whose value some event does not tell
    remembered: RowInput | None
    batch: int


def check_cdc(path: str, shape: TableShape) -> None:
    """Raise where change events could not be applied to the table."""
    table = find_table(path)
    if table is None:
        refuse_new(path, shape, why=_WHY)
    else:
        refuse_rewrite(table, why=_WHY)


def commit_cdc(
    rows: RowWriter, path: str, write: WriteCdc, files: Sequence[StagedFile], shape: TableShape, commit_id: CommitId
) -> Commit:
    """Apply the events of staged files; a table that is missing is created."""
    table = find_table(path)
    if done := find_commit(table, commit_id):
        return done
    deletes, gaps = has_deletes(path, files), has_values(path, files, UNCHANGED_COLUMN)
    remembered = find_table(deletes_path(path))
    plain = not deletes and not gaps and remembered is None
    if table is None and plain and not count_repeated_keys(rows, path, files, shape, write.keys):
        return adopt_files(path, "append", files, shape, commit_id)
    if table is not None:
        refuse_rewrite(table, why=_WHY)
    if deletes:
        remember_deletes(path, files, shape, write.keys, commit_id)
        fault_point("after_deletes_commit")
    table = create_empty(path, shape) if table is None else evolve(path, table, shape)
    events = _Events(
        write,
        batch_rows(table, path, files, shape, helper_columns(HELPER_COLUMNS)),
        tuple(column.name for column in shape.columns),
        known_columns(shape, write) if gaps else {},
        None if remembered is None else _all_rows(remembered, deletes_path(path)),
        commit_id.batch,
    )
    cut = _newest_cut(rows, events) if deletes and has_truncates(path, files, write.keys[0]) else None
    known = find_files(table, {}) if cut is not None else files_with_keys(table, path, files, shape, write.keys)
    return run_merge(rows, table, path, _merge(path, events, cut), _states(rows, events, cut), known, commit_id, files)


def _merge(path: str, events: _Events, cut: Cut | None) -> Merge:
    write = events.write
    statement = render_cdc(
        path, BATCH, write, events.names, predicate=EVERYTHING, truncate=cut, known=events.known
    )  # fmt: skip
    return parse_merge(statement, write.keys)


def _states(rows: RowWriter, events: _Events, cut: Cut | None) -> RowInput:
    """Written once beside the staged files: the queries of a merge read them several times."""
    given = events.rows
    if not given.files:
        return replace(given, columns=_state_columns(events))
    inputs = {EVENTS: given}
    cuts = [] if cut is None else [cut]
    if events.remembered is not None:
        inputs[REMEMBERED] = events.remembered
        found = rows.read_rows(remembered_cut_query(events.write, events.batch), {REMEMBERED: events.remembered})
        cuts += [_cut(*row) for row in found]
    query = states_query(
        events.write, [c for c in given.columns if c.name in events.names], events.known,
        cuts=cuts, remembered_before=events.batch if events.remembered is not None else None,
    )  # fmt: skip
    columns = _state_columns(events)
    files = rows.write_rows(query, inputs, columns, root=given.root, folder=scratch_folder(given.files, "states"))
    return RowInput(given.root, files, columns)


def _state_columns(events: _Events) -> tuple[Column, ...]:
    own = [column for column in events.rows.columns if column.name in events.names]
    told = [Column(name, named("string")) for name in events.known.values()]
    gone = [Column(GONE, named("string")), Column(GONE_AT, named("timestamp")), Column(GONE_WHY, named("string"))]
    return (*own, *told, *gone)


def _newest_cut(rows: RowWriter, events: _Events) -> Cut | None:
    """The batch's newest truncate: rows that the batch does not name go by it."""
    found = rows.read_rows(newest_cut_query(events.write), {EVENTS: events.rows})
    return _cut(*found[0]) if found else None


def _cut(position: str, at: Any) -> Cut:
    if not isinstance(at, datetime):
        return text_literal(position), "CAST(NULL AS TIMESTAMP)"
    moment = at.astimezone(UTC) if at.tzinfo is not None else at
    return text_literal(position), f"CAST('{moment:%Y-%m-%d %H:%M:%S.%f}' AS TIMESTAMP)"


def _all_rows(table: DeltaTable, path: str) -> RowInput:
    return RowInput(path, find_files(table, {}), columns_of(table))
