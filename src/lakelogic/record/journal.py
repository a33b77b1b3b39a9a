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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice, Slice, SourceFile, StoredSlice, TableSlice, TopicSlice
from lakelogic.record.control_table import append_rows, find_control_table, open_control_table
from lakelogic.record.slice_json import decode_slice, encode_slice

State = Literal["prepared", "staged", "committed", "abandoned"]

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
# Settings of batches that load nothing: one that empties tables and forgets what was read, and one that takes
# such a batch back.
RESET_SETTING, UNDO_SETTING = "reset", "undoes"
_PREPARED, _OVER = "lakelogic.prepared", "lakelogic.over"


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that works on a batch."""

    host: str
    pid: int
    run_id: str
    started_at: datetime


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


class Journal:
    """The journal in a dataset's control folder; every change of state is one commit."""

    def __init__(self, folder: str, clock: Clock) -> None:
        self._path = os.path.join(folder, "journal")
        self._clock = clock
        self._table: DeltaTable | None = find_control_table(self._path)

    def last_batch(self) -> int:
        """The number of the newest batch; 0 before the first."""
        return self._transaction(_PREPARED)

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
            "slice": encode_slice(slice_),
            "fingerprint": fingerprint,
            "settings": json.dumps(dict(settings or {})),
            "holder_host": holder.host,
            "holder_pid": holder.pid,
            "holder_started_at": holder.started_at,
            "started_at": started_at,
        }
        self._record(number, "prepared", run_id, row, {_PREPARED: number})
        decoded = decode_slice(str(row["slice"]))
        return Batch(number, run_id, "prepared", decoded, fingerprint, started_at, dict(settings or {}))

    def mark_staged(self, batch: Batch, manifest: Mapping[str, Any]) -> Batch:
        """All files of the batch lie there, as the manifest lists them; only commits are left to do."""
        self._record(batch.number, "staged", batch.run_id, {"manifest": json.dumps(manifest)}, {})
        return replace(batch, state="staged", manifest=manifest)

    def mark_committed(self, batch: Batch, *, note: str | None = None) -> Batch:
        """All tables carry the batch; the position of the source moves here and only here."""
        self._record(batch.number, "committed", batch.run_id, {"note": note}, {_OVER: batch.number})
        return replace(batch, state="committed")

    def abandon(self, batch: Batch, reason: str) -> Batch:
        """Give a batch up before any table carries it; its slice will be read again."""
        self._record(batch.number, "abandoned", batch.run_id, {"note": reason}, {_OVER: batch.number})
        return replace(batch, state="abandoned")

    def committed_files(self) -> frozenset[SourceFile]:
        """Identities of all files that committed batches have read."""
        slices = (slice_ for slice_ in self._committed_slices() if isinstance(slice_, FileSlice))
        return frozenset(file for slice_ in slices for file in slice_.files)

    def committed_version(self, path: str) -> int | None:
        """The newest version of the table at a path that a committed batch has read."""
        slices = (slice_ for slice_ in self._committed_slices() if isinstance(slice_, TableSlice))
        return max((slice_.version for slice_ in slices if slice_.path == path), default=None)

    def loads(self) -> tuple[int, ...]:
        """Numbers of the committed batches that loaded rows and were not reset since."""
        _, loads = self._since_reset()
        return tuple(sorted(loads))

    def last_reset(self) -> tuple[int, Mapping[str, Any]] | None:
        """The newest reset that was not undone, with what it was about."""
        reset, _ = self._since_reset()
        return reset

    def committed_offsets(self, topic: str) -> TopicSlice | None:
        """The newest slice of a topic that was committed; where its ranges end, reading goes on."""
        slices = [slice_ for slice_ in self._committed_slices() if isinstance(slice_, TopicSlice)]
        return next((slice_ for slice_ in reversed(slices) if slice_.topic == topic), None)

    def _committed_slices(self) -> Iterator[StoredSlice]:
        """In the order of their batches."""
        _, loads = self._since_reset()
        ordered = (loads[number] for number in sorted(loads))
        whole = (row for row, settings in ordered if row["slice"] and WINDOW_SETTING not in settings)
        return (decode_slice(row["slice"]) for row in whole)

    def _since_reset(self) -> tuple[tuple[int, Mapping[str, Any]] | None, dict[int, tuple[Any, Mapping[str, Any]]]]:
        """The newest reset, and by number the batches that were committed after it."""
        rows = self._rows(["batch", "state", "slice", "settings"], pc.field("state") != "staged")
        over = {row["batch"] for row in rows if row["state"] == "committed"}
        begun = {row["batch"]: (row, json.loads(row["settings"] or "{}")) for row in rows if row["state"] == "prepared"}
        done = {number: begun[number] for number in over if number in begun}
        undone = {settings[UNDO_SETTING] for _, settings in done.values() if UNDO_SETTING in settings}
        resets = [n for n, (_, settings) in done.items() if RESET_SETTING in settings and n not in undone]
        # A reset of the quarantine alone forgets nothing of what was read.
        resets = [n for n in resets if "target" in done[n][1][RESET_SETTING]["tables"]]
        last = max(resets, default=0)
        loads = {
            n: found
            for n, found in done.items()
            if n > last and RESET_SETTING not in found[1] and UNDO_SETTING not in found[1]
        }
        return ((last, done[last][1][RESET_SETTING]) if last else None), loads

    def _read_batch(self, number: int) -> Batch:
        rows = {row["state"]: row for row in self._rows(SCHEMA.names, pc.field("batch") == number)}
        prepared, staged = rows["prepared"], rows.get("staged")
        return Batch(
            number,
            prepared["run_id"],
            "staged" if staged else "prepared",
            decode_slice(prepared["slice"]),
            prepared["fingerprint"],
            prepared["started_at"].astimezone(UTC),
            json.loads(prepared["settings"]),
            json.loads(staged["manifest"]) if staged else None,
        )

    def _rows(self, columns: Sequence[str], condition: pc.Expression) -> list[dict[str, Any]]:
        if self._table is None:
            return []
        rows: list[dict[str, Any]] = (
            self._table.to_pyarrow_dataset().to_table(columns=list(columns), filter=condition).to_pylist()
        )
        return rows

    def _transaction(self, app_id: str) -> int:
        return 0 if self._table is None else self._table.transaction_version(app_id) or 0

    def _record(
        self, number: int, state: State, run_id: str, row: Mapping[str, Any], transactions: Mapping[str, int]
    ) -> None:
        if self._table is None:
            self._table = open_control_table(self._path, SCHEMA)
        head = {"batch": number, "state": state, "run_id": run_id, "recorded_at": self._clock.now()}
        append_rows(self._table, SCHEMA, [{**head, **row}], transactions=transactions)
        # What the next question reads must be what this commit left.
        self._table.update_incremental()


def open_journal(folder: str, *, clock: Clock | None = None) -> Journal:
    """The journal below a dataset's control folder; it is created by the first batch."""
    return Journal(folder, clock or SystemClock())
