"""The batch journal of one dataset: which batch reads what, and how far it came.

A Delta table with one row for each change of state. Columns: batch LONG, state STRING, run_id STRING, slice
STRING (JSON, on `prepared`), fingerprint STRING, settings STRING (JSON), manifest STRING (JSON, on
`staged`), note STRING, holder_host STRING, holder_pid LONG, holder_started_at TIMESTAMP, started_at
TIMESTAMP (the run's clock), recorded_at TIMESTAMP.

The number of the newest batch, and of the newest one that is over, are application transactions of the
table, so that the usual question (is something pending?) reads no data file. The caller holds the dataset's
lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import RunError
from lakelogic.core.slices import (
    DatabaseSlice,
    FileSlice,
    FrameSlice,
    Slice,
    SourceFile,
    StoredSlice,
    TableSlice,
    TopicSlice,
)
from lakelogic.core.window import Window, decode_window
from lakelogic.record.control_table import append_rows, find_control_table, open_control_table
from lakelogic.record.holders import Holder
from lakelogic.record.known_files import JournalPoint, KnownFiles, index_folder
from lakelogic.record.slice_store import load_slice, store_slice
from lakelogic.storage.tables import arrow_rows

# held: staged, and waiting for an approval; discarded: it will not get one, and is about to be abandoned.
State = Literal["prepared", "staged", "held", "discarded", "committed", "abandoned"]

_INSTANT = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        pa.field("batch", pa.int64(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("slice", pa.string()),
        pa.field("fingerprint", pa.string()),
        pa.field("settings", pa.string()),
        pa.field("manifest", pa.string()),
        pa.field("note", pa.string()),
        pa.field("holder_host", pa.string()),
        pa.field("holder_pid", pa.int64()),
        pa.field("holder_started_at", _INSTANT),
        pa.field("started_at", _INSTANT),
        pa.field("recorded_at", _INSTANT, nullable=False),
    ]
)
# In the settings of a batch that read some days only; such a batch does not move the position of its source.
WINDOW_SETTING = "window"
WATERMARK_SETTING = "watermark"
# Beside a window: the batch read what no batch before had read, so the position does move.
UNREAD_SETTING = "unread"
# The pipeline run that asked for the batch: whoever finishes it later does so on behalf of that one.
PIPELINE_SETTING = "pipeline"
SOURCE_SETTING = "source"  # the path of the contract, where it was that one which was read
# Settings of batches that load nothing: one that empties tables and forgets what was read, and one that takes
# such a batch back.
RESET_SETTING, UNDO_SETTING = "reset", "undoes"
# Of a batch whose run asked that closed gates need an approval, and who discarded a held one, when and why.
APPROVAL_SETTING, DISCARD_SETTING = "approval_required", "discarded"
_LATEST_FIRST: tuple[State, ...] = ("discarded", "staged", "held", "prepared")  # of batches that are not over
_SLICES_AT_ONCE = 50
_PREPARED, _OVER = "lakelogic.prepared", "lakelogic.over"


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch as the journal knows it; with its run id, slice and clock it can be done again."""

    number: int
    run_id: str
    state: State
    slice: StoredSlice
    fingerprint: str
    started_at: datetime
    settings: Mapping[str, Any] = field(default_factory=dict)
    manifest: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DoneWindow:
    """A window that a committed batch was for."""

    window: Window
    batch: int


class Journal:
    """The journal in a dataset's control folder; every change of state is one commit."""

    def __init__(self, folder: str, clock: Clock, confirm: Callable[[], None]) -> None:
        self._folder, self._confirm = folder, confirm
        self._path = os.path.join(folder, "journal")
        self._clock = clock
        self._table: DeltaTable | None = find_control_table(self._path)

    def last_batch(self) -> int:
        """The number of the newest batch; 0 before the first."""
        return self._transaction(_PREPARED)

    def newest(self) -> Batch | None:
        """The newest batch, over or not; None before the first."""
        last = self.last_batch()
        return self._read_batch(last) if last else None

    def pending(self) -> Batch | None:
        """The batch that was prepared but is neither committed nor abandoned."""
        newest = self._transaction(_PREPARED)
        if newest == self._transaction(_OVER):
            return None
        return self._read_batch(newest)

    def prepare(
        self,
        slice_: Slice,
        *,
        run_id: str,
        fingerprint: str,
        started_at: datetime,
        holder: Holder,
        settings: Mapping[str, Any] | None = None,
        carried: int = 0,
    ) -> Batch:
        """Open the next batch; the one before must be over.

        `carried` is the newest batch that a table carries: where the journal was lost, numbers go on after it,
        because a table takes a number that it carries already for a repetition.
        """
        last = self._transaction(_PREPARED)
        if last != self._transaction(_OVER):
            raise RunError(f"batch {last} is not finished", code="LL463", hint="run again to finish it first")
        number = max(last, carried) + 1
        row = {
            "slice": store_slice(self._folder, number, slice_),
            "fingerprint": fingerprint,
            "settings": json.dumps(dict(settings or {})),
            "holder_host": holder.host,
            "holder_pid": holder.pid,
            "holder_started_at": holder.started_at,
            "started_at": started_at,
        }
        self._record(number, "prepared", run_id, row, {_PREPARED: number})
        assert not isinstance(slice_, FrameSlice)  # refused by the store
        return Batch(number, run_id, "prepared", slice_, fingerprint, started_at, dict(settings or {}))

    def mark_staged(self, batch: Batch, manifest: Mapping[str, Any]) -> Batch:
        """All files of the batch lie there, as the manifest lists them; only commits are left to do."""
        self._record(batch.number, "staged", batch.run_id, {"manifest": json.dumps(manifest)}, {})
        return replace(batch, state="staged", manifest=manifest)

    def mark_held(self, batch: Batch, manifest: Mapping[str, Any]) -> Batch:
        """As staged, but nothing is committed before the batch is marked as staged, too."""
        self._record(batch.number, "held", batch.run_id, {"manifest": json.dumps(manifest)}, {})
        return replace(batch, state="held", manifest=manifest)

    def mark_discarded(self, batch: Batch, by_whom: Mapping[str, str]) -> Batch:
        """Somebody decided against a held batch; from here on it can only be abandoned."""
        decision = {DISCARD_SETTING: dict(by_whom)}
        self._record(batch.number, "discarded", batch.run_id, {"settings": json.dumps(decision)}, {})
        return replace(batch, state="discarded", settings={**batch.settings, **decision})

    def mark_committed(self, batch: Batch, *, note: str | None = None) -> Batch:
        """All tables carry the batch; the position of the source moves here and only here."""
        self._record(batch.number, "committed", batch.run_id, {"note": note}, {_OVER: batch.number})
        return replace(batch, state="committed")

    def abandon(self, batch: Batch, reason: str) -> Batch:
        """Give a batch up before any table carries it; its slice will be read again."""
        self._record(batch.number, "abandoned", batch.run_id, {"note": reason}, {_OVER: batch.number})
        return replace(batch, state="abandoned")

    def known_files(self) -> KnownFiles | None:
        """The index of all files that committed batches have read; None where no batch was committed."""
        batch = self._transaction(_OVER)
        if self._table is None or not batch:
            return None
        known = KnownFiles(index_folder(self._folder))
        reset = self.last_reset()
        point = JournalPoint(str(self._table.metadata().id), reset[0] if reset else 0, batch)
        known.follow(point, self._files_after)
        return None if known.is_empty() else known

    def _files_after(self, batch: int) -> Iterator[tuple[SourceFile, ...]]:
        slices = self._committed_slices(after=batch)
        return (slice_.files for slice_ in slices if isinstance(slice_, FileSlice))

    def committed_table(self, path: str) -> TableSlice | None:
        """The newest slice of the table at a path that was committed; reading goes on after its version."""
        slices = (slice_ for slice_ in self._committed_slices(newest_first=True) if isinstance(slice_, TableSlice))
        return next((slice_ for slice_ in slices if slice_.path == path), None)

    def loads(self) -> tuple[int, ...]:
        """Numbers of the committed batches that loaded rows and were not reset since."""
        _, loads = self._since_reset()
        return tuple(sorted(loads))

    def last_load(self) -> datetime | None:
        """When rows were last committed that were not reset since; None where none were."""
        _, loads = self._since_reset()
        condition = (pc.field("state") == "committed") & pc.field("batch").isin(sorted(loads))
        rows = self._rows(["recorded_at", "note"], condition) if loads else []
        # A note is of a batch that loaded nothing: a window without rows.
        return max((row["recorded_at"].astimezone(UTC) for row in rows if row["note"] is None), default=None)

    def done_windows(self) -> tuple[DoneWindow, ...]:
        """The interval ledger: windows that committed batches were for, since the last reset, in their order."""
        _, loads = self._since_reset()
        windows = ((number, decode_window(loads[number].get(WINDOW_SETTING))) for number in sorted(loads))
        return tuple(DoneWindow(window, number) for number, window in windows if window is not None)

    def last_reset(self) -> tuple[int, Mapping[str, Any]] | None:
        """The newest reset that was not undone, with what it was about."""
        reset, _ = self._since_reset()
        return reset

    def committed_offsets(self, topic: str) -> TopicSlice | None:
        """The newest slice of a topic that was committed; where its ranges end, reading goes on."""
        slices = (slice_ for slice_ in self._committed_slices(newest_first=True) if isinstance(slice_, TopicSlice))
        return next((slice_ for slice_ in slices if slice_.topic == topic), None)

    def committed_bounds(self, relation: str) -> DatabaseSlice | None:
        """The newest slice of a database relation that was committed within bounds; reading goes on from its end."""
        slices = (slice_ for slice_ in self._committed_slices(newest_first=True) if isinstance(slice_, DatabaseSlice))
        return next((slice_ for slice_ in slices if slice_.relation == relation and slice_.bounds), None)

    def read_up_to(self) -> datetime | None:
        """When the newest batch began that moved the position; None before the first."""
        _, loads = self._since_reset()
        moved = [number for number, settings in loads.items() if _moves(settings)]
        if not moved:
            return None
        condition = (pc.field("batch") == max(moved)) & (pc.field("state") == "prepared")
        started: datetime = self._rows(["started_at"], condition)[0]["started_at"]
        return started.astimezone(UTC)

    def _committed_slices(self, *, after: int = 0, newest_first: bool = False) -> Iterator[StoredSlice]:
        """In the order of their batches or against it, a handful read at a time."""
        _, loads = self._since_reset(after)
        whole = sorted((n for n, settings in loads.items() if _moves(settings)), reverse=newest_first)
        for start in range(0, len(whole), _SLICES_AT_ONCE):
            wanted = whole[start : start + _SLICES_AT_ONCE]
            condition = (pc.field("state") == "prepared") & pc.field("batch").isin(wanted)
            texts = {row["batch"]: row["slice"] for row in self._rows(["batch", "slice"], condition)}
            yield from (load_slice(self._folder, texts[number]) for number in wanted if texts[number])

    def _since_reset(self, after: int = 0) -> tuple[tuple[int, Mapping[str, Any]] | None, dict[int, Mapping[str, Any]]]:
        """The newest reset, and by number the settings of the batches that were committed after it."""
        condition = ~pc.field("state").isin(["staged", "held"]) & (pc.field("batch") > after)
        rows = self._rows(["batch", "state", "settings"], condition)
        over = {row["batch"] for row in rows if row["state"] == "committed"}
        begun = {row["batch"]: json.loads(row["settings"] or "{}") for row in rows if row["state"] == "prepared"}
        done = {number: begun[number] for number in over if number in begun}
        undone = {settings[UNDO_SETTING] for settings in done.values() if UNDO_SETTING in settings}
        resets = [n for n, settings in done.items() if RESET_SETTING in settings and n not in undone]
        # A reset of the quarantine alone forgets nothing of what was read.
        resets = [n for n in resets if "target" in done[n][RESET_SETTING]["tables"]]
        last = max(resets, default=0)
        loads = {
            n: settings
            for n, settings in done.items()
            if n > last and RESET_SETTING not in settings and UNDO_SETTING not in settings
        }
        return ((last, done[last][RESET_SETTING]) if last else None), loads

    def _read_batch(self, number: int) -> Batch:
        rows = {row["state"]: row for row in self._rows(SCHEMA.names, pc.field("batch") == number)}
        prepared, staged = rows["prepared"], rows.get("staged") or rows.get("held")
        reached: State = next(state for state in _LATEST_FIRST if state in rows)
        settings = {**json.loads(prepared["settings"]), **json.loads(rows.get("discarded", {}).get("settings", "{}"))}
        return Batch(
            number,
            prepared["run_id"],
            reached,
            load_slice(self._folder, prepared["slice"]),
            prepared["fingerprint"],
            prepared["started_at"].astimezone(UTC),
            settings,
            json.loads(staged["manifest"]) if staged else None,
        )

    def _rows(self, columns: Sequence[str], condition: pc.Expression) -> list[dict[str, Any]]:
        if self._table is None:
            return []
        rows: list[dict[str, Any]] = (
            arrow_rows(self._table).to_table(columns=list(columns), filter=condition).to_pylist()
        )
        return rows

    def _transaction(self, app_id: str) -> int:
        return 0 if self._table is None else self._table.transaction_version(app_id) or 0

    def _record(
        self, number: int, state: State, run_id: str, row: Mapping[str, Any], transactions: Mapping[str, int]
    ) -> None:
        self._confirm()
        if self._table is None:
            self._table = open_control_table(self._path, SCHEMA)
        head = {"batch": number, "state": state, "run_id": run_id, "recorded_at": self._clock.now()}
        append_rows(self._table, SCHEMA, [{**head, **row}], transactions=transactions)
        # What the next question reads must be what this commit left.
        self._table.update_incremental()


def _moves(settings: Mapping[str, Any]) -> bool:
    """Whether a batch moved the position of its source."""
    return WINDOW_SETTING not in settings or bool(settings.get(UNREAD_SETTING))


def open_journal(folder: str, *, clock: Clock | None = None, confirm: Callable[[], None] = lambda: None) -> Journal:
    """The journal below a dataset's control folder; it is created by the first batch.

    `confirm` is asked before each record, and raises where the dataset's lock was lost.
    """
    return Journal(folder, clock or SystemClock(), confirm)
