"""The run log: what each run did, for people, the driver and reports; shared by the datasets of one folder.

Delta tables, written in this order, so that a row in `runs` means that its rules, steps and events are there:

* ``rules``: run_id STRING, dataset STRING, position LONG, name STRING, scope STRING (`row` | `dataset`),
  severity STRING, failed LONG (rows; NULL for dataset rules), passed BOOLEAN, value DOUBLE (of a dataset
  rule), recorded_at.
* ``steps``: run_id STRING, dataset STRING, position LONG, step STRING, rows_in, rows_out, removed, added,
  quarantined LONG, recorded_at TIMESTAMP.
* ``events``: see record/events.py.
* ``runs``: see RunRecord; one row per run. recorded_at TIMESTAMP is when the row was written.

A run that committed a batch is appended under (dataset, batch), so a repeated append changes nothing. A run
without a batch (failed before, or nothing to read) has no such number and is appended once by the attempt
itself. No row values ever stand in these tables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.events import Event
from lakelogic.core.faults import fault_point
from lakelogic.record.control_table import append_rows, find_control_table, open_control_table
from lakelogic.record.events import append_events
from lakelogic.record.ledger import LedgerStep

Status = Literal["succeeded", "no_new_data", "failed", "gate_failed"]

_INSTANT = pa.timestamp("us", "UTC")
_KEY = [pa.field("run_id", pa.string(), nullable=False), pa.field("dataset", pa.string(), nullable=False)]
_RECORDED = pa.field("recorded_at", _INSTANT, nullable=False)
RUNS_SCHEMA = pa.schema(
    [
        *_KEY,
        pa.field("status", pa.string(), nullable=False),
        pa.field("started_at", _INSTANT, nullable=False),
        pa.field("finished_at", _INSTANT),
        pa.field("duration_s", pa.float64()),
        pa.field("batch", pa.int64()),
        pa.field("rows_read", pa.int64()),
        pa.field("rows_accepted", pa.int64()),
        pa.field("rows_quarantined", pa.int64()),
        pa.field("target", pa.string()),
        pa.field("target_version", pa.int64()),
        pa.field("quarantine", pa.string()),
        pa.field("quarantine_version", pa.int64()),
        pa.field("layer", pa.string()),
        pa.field("engine", pa.string()),
        pa.field("contract_version", pa.string()),
        pa.field("fingerprint", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("error_code", pa.string()),
        pa.field("error_message", pa.string()),
        *(pa.field(f"rows_{what}", pa.int64()) for what in ("inserted", "updated", "deleted", "ignored")),
        _RECORDED,
    ]
)
RULES_SCHEMA = pa.schema(
    [
        *_KEY,
        pa.field("position", pa.int64(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("scope", pa.string(), nullable=False),
        pa.field("severity", pa.string()),
        pa.field("failed", pa.int64()),
        pa.field("passed", pa.bool_()),
        pa.field("value", pa.float64()),
        _RECORDED,
    ]
)
STEPS_SCHEMA = pa.schema(
    [
        *_KEY,
        pa.field("position", pa.int64(), nullable=False),
        pa.field("step", pa.string(), nullable=False),
        *(pa.field(name, pa.int64()) for name in ("rows_in", "rows_out", "removed", "added", "quarantined")),
        _RECORDED,
    ]
)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of one dataset; an error has its code and message, never a value of a row."""

    run_id: str
    dataset: str
    status: Status
    started_at: datetime
    finished_at: datetime | None = None
    duration_s: float | None = None
    batch: int | None = None
    rows_read: int | None = None
    rows_accepted: int | None = None
    rows_quarantined: int | None = None
    target: str | None = None
    target_version: int | None = None
    quarantine: str | None = None
    quarantine_version: int | None = None
    layer: str | None = None
    engine: str | None = None
    contract_version: str | None = None
    fingerprint: str | None = None
    reason: str | None = None  # why this slice was read, or why nothing was
    error_code: str | None = None
    error_message: str | None = None
    rows_inserted: int | None = None  # what a merge did to the target's rows
    rows_updated: int | None = None
    rows_deleted: int | None = None
    rows_ignored: int | None = None


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """What a rule came to in a run."""

    name: str
    scope: Literal["row", "dataset"] = "row"
    severity: str | None = None
    failed: int | None = None
    passed: bool | None = None
    value: float | None = None


def append_run(
    folder: str,
    run: RunRecord,
    *,
    rules: Sequence[RuleRecord] = (),
    steps: Sequence[LedgerStep] = (),
    events: Sequence[Event] = (),
    committed: bool = False,
    clock: Clock | None = None,
) -> None:
    """Write a run to the log; when it `committed` its batch, exactly once however often this is called."""
    recorded_at = (clock or SystemClock()).now()
    stamp = {"run_id": run.run_id, "dataset": run.dataset, "recorded_at": recorded_at}
    once = {run.dataset: run.batch} if committed and run.batch is not None else {}
    rule_rows = [{**asdict(rule), "position": at, **stamp} for at, rule in enumerate(rules)]
    step_rows = [{**_step_row(step), "position": at, **stamp} for at, step in enumerate(steps)]
    _append(folder, "rules", RULES_SCHEMA, rule_rows, once)
    fault_point("during_run_log")
    _append(folder, "steps", STEPS_SCHEMA, step_rows, once)
    append_events(folder, events, run_id=run.run_id, dataset=run.dataset, recorded_at=recorded_at, once=once)
    _append(folder, "runs", RUNS_SCHEMA, [{**asdict(run), **stamp}], once)


def read_runs(
    folder: str, *, dataset: str | None = None, run_id: str | None = None, limit: int | None = 20
) -> tuple[RunRecord, ...]:
    """Runs, newest first."""
    names = [field.name for field in fields(RunRecord)]
    rows = _read(folder, "runs", {"dataset": dataset, "run_id": run_id}, [*names, "recorded_at"])
    rows.sort(key=lambda row: (row["started_at"], row["recorded_at"]), reverse=True)
    return tuple(_run_record(row) for row in rows[:limit])


def read_rules(folder: str, *, run_id: str, dataset: str | None = None) -> tuple[RuleRecord, ...]:
    """The rules of a run, in the order of its contract."""
    names = [field.name for field in fields(RuleRecord)]
    rows = _read(folder, "rules", {"run_id": run_id, "dataset": dataset}, [*names, "position"])
    ordered = sorted(rows, key=lambda row: row["position"])
    return tuple(RuleRecord(**{name: row[name] for name in names}) for row in ordered)


def read_steps(folder: str, *, run_id: str, dataset: str | None = None) -> tuple[LedgerStep, ...]:
    """The ledger of a run."""
    rows = _read(folder, "steps", {"run_id": run_id, "dataset": dataset}, list(STEPS_SCHEMA.names))
    names = ("step", "rows_in", "rows_out", "removed", "added", "quarantined")
    # The effect that a step declared is in the plan; the log keeps only what it did.
    ordered = sorted(rows, key=lambda row: row["position"])
    return tuple(LedgerStep(**{name: row[name] for name in names}, effect="changes") for row in ordered)


def _append(
    folder: str, name: str, schema: pa.Schema, rows: Sequence[Mapping[str, Any]], once: Mapping[str, int]
) -> None:
    if not rows:
        return
    table = open_control_table(os.path.join(folder, name), schema)
    if any((table.transaction_version(app_id) or 0) >= version for app_id, version in once.items()):
        return
    append_rows(table, schema, rows, transactions=once)


def _read(folder: str, name: str, wanted: Mapping[str, str | None], columns: list[str]) -> list[dict[str, Any]]:
    table = find_control_table(os.path.join(folder, name))
    if table is None:
        return []
    condition = pc.scalar(True)
    for column, value in wanted.items():
        condition = condition if value is None else condition & (pc.field(column) == value)
    data = table.to_pyarrow_dataset()
    there = [column for column in columns if column in data.schema.names]
    rows: list[dict[str, Any]] = data.to_table(columns=there, filter=condition).to_pylist()
    # A log that an older version began lacks the columns that came later.
    return [dict.fromkeys(columns) | row for row in rows]


def _step_row(step: LedgerStep) -> dict[str, Any]:
    row = asdict(step)
    del row["effect"]
    return row


def _run_record(row: Mapping[str, Any]) -> RunRecord:
    values = {field.name: row[field.name] for field in fields(RunRecord)}
    for name in ("started_at", "finished_at"):
        values[name] = values[name].astimezone(UTC) if values[name] else None
    return RunRecord(**values)
