"""The run log: what each run did, for people, the driver and reports; shared by the datasets of one folder.

Delta tables (record/run_schema.py), written in the order `rules`, `steps`, `events`, `runs`, so that a row in `runs`
means that its rules, steps and events are there. Each table gets all rows of a run in one commit. A run that goes on
with a batch of an interrupted one (`resumed`) has that one's run id, and looks before each commit whether the rows
stand there already; under the dataset's lock nobody else can write them. No row values ever stand in these tables.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.events import Event
from lakelogic.core.faults import fault_point
from lakelogic.record.control_table import append_rows, find_control_table, open_control_table
from lakelogic.record.ledger import LedgerStep
from lakelogic.record.run_schema import LOG_TABLES
from lakelogic.storage.tables import arrow_rows

# skipped: a driver held the contract back, or a stale upstream did; `reason` says why.
# interrupted: somebody stopped the run from outside.
# held: the batch waits for an approval, and ends as `succeeded` or `discarded` under the same run id.
Status = Literal["succeeded", "no_new_data", "failed", "gate_failed", "held", "discarded", "skipped", "interrupted"]
Scope = Literal["row", "dataset", "gate"]
_AFTER_EVERY_ID = "\U0010ffff"


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
    window_start: datetime | None = None
    window_end: datetime | None = None
    window_zone: str | None = None
    source: str | None = None
    source_slice: str | None = None  # what was read of it, in words
    source_files: int | None = None
    source_bytes: int | None = None
    engine_version: str | None = None
    lakelogic_version: str | None = None
    error_place: str | None = None
    error_hint: str | None = None
    policy_packs: str | None = None  # JSON: name, file and digest of each
    pipeline_run_id: str | None = None  # of the driver's run that this run is a part of
    attempt: int | None = None  # from 1; a failed attempt has a row of its own
    digest: str | None = None  # of what a held batch would publish
    approved_by: str | None = None


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """What a rule came to in a run; a gate is a rule over the numbers of the run."""

    name: str
    scope: Scope = "row"
    severity: str | None = None
    failed: int | None = None  # rows
    passed: bool | None = None
    value: float | None = None  # what a dataset rule or a gate was judged by
    category: str | None = None
    phase: str | None = None
    evaluated: bool | None = None  # False: there was nothing to judge
    judged: int | None = None  # rows
    minimum: float | None = None
    maximum: float | None = None


def append_run(
    folder: str,
    run: RunRecord,
    *,
    rules: Sequence[RuleRecord] = (),
    steps: Sequence[LedgerStep] = (),
    events: Sequence[Event] = (),
    resumed: bool = False,
    clock: Clock | None = None,
) -> None:
    """Write a run to the log; with `resumed`, what an interrupted attempt has written is not written again."""
    recorded_at = (clock or SystemClock()).now()
    stamp = {"run_id": run.run_id, "dataset": run.dataset, "started_at": run.started_at, "recorded_at": recorded_at}
    mine: dict[str, Any] = {"run_id": run.run_id, "dataset": run.dataset}

    def write(name: str, rows: Sequence[Mapping[str, Any]], key: Mapping[str, Any]) -> None:
        if not rows:
            return
        table = open_control_table(os.path.join(folder, name), LOG_TABLES[name])
        if not (resumed and arrow_rows(table).count_rows(filter=_matches(key))):
            append_rows(table, LOG_TABLES[name], rows)

    write("rules", [{**asdict(rule), "position": at, **stamp} for at, rule in enumerate(rules)], mine)
    fault_point("during_run_log")
    write("steps", [{**_step_row(step), "position": at, **stamp} for at, step in enumerate(steps)], mine)
    fault_point("after_logged_steps")
    write("events", [{**_event_row(event), "position": at, **stamp} for at, event in enumerate(events)], mine)
    fault_point("after_logged_events")
    # An attempt that failed is on record under the same run id; that is another row.
    write("runs", [{**asdict(run), **stamp}], {**mine, "status": run.status})


def append_records(folder: str, runs: Sequence[RunRecord]) -> None:
    """Write runs that judged no rows, all in one commit."""
    recorded_at = SystemClock().now()
    table = open_control_table(os.path.join(folder, "runs"), LOG_TABLES["runs"])
    append_rows(table, LOG_TABLES["runs"], [{**asdict(run), "recorded_at": recorded_at} for run in runs])


def read_runs(
    folder: str,
    *,
    dataset: str | None = None,
    datasets: Collection[str] | None = None,
    run_id: str | None = None,
    status: str | None = None,
    since: datetime | None = None,
    prefix: str | None = None,
    pipeline_run_id: str | None = None,
    limit: int | None = 20,
) -> tuple[RunRecord, ...]:
    """Runs, newest first; `since` is about their start, `prefix` about how their id begins."""
    data = _open(folder, "runs")
    if data is None:
        return ()
    if pipeline_run_id is not None and "pipeline_run_id" not in data.schema.names:
        return ()
    condition = _matches({"dataset": dataset, "run_id": run_id, "status": status, "pipeline_run_id": pipeline_run_id})
    if datasets is not None:
        condition &= pc.field("dataset").isin(sorted(datasets))
    if since is not None:
        condition &= pc.field("started_at") >= pa.scalar(since)
    if prefix:
        # Bounds instead of a function: files whose range of ids lies outside are not opened.
        condition &= (pc.field("run_id") >= prefix) & (pc.field("run_id") < prefix + _AFTER_EVERY_ID)
    if limit is not None:
        condition &= _among_newest(data, condition, limit)
    names = [field.name for field in fields(RunRecord)]
    rows = _rows(data, [*names, "recorded_at"], condition)
    rows.sort(key=lambda row: (row["started_at"], row["recorded_at"]), reverse=True)
    return tuple(_run_record(row) for row in rows[:limit])


def find_last_successes(folder: str, datasets: Collection[str]) -> dict[str, datetime]:
    """When the last run of each dataset that ended well was over; without a new row counts as well."""
    data = _open(folder, "runs")
    if data is None:
        return {}
    condition = pc.field("status").isin(["succeeded", "no_new_data"]) & pc.field("dataset").isin(sorted(datasets))
    times = data.to_table(columns=["dataset", "finished_at"], filter=condition)
    newest = times.group_by("dataset").aggregate([("finished_at", "max")]).to_pylist()
    return {row["dataset"]: row["finished_at_max"].astimezone(UTC) for row in newest if row["finished_at_max"]}


def read_rules(folder: str, *, run_id: str, dataset: str | None = None) -> tuple[RuleRecord, ...]:
    """The rules of a run, in the order of its contract."""
    names = [field.name for field in fields(RuleRecord)]
    rows = _of_run(folder, "rules", run_id, dataset)
    return tuple(RuleRecord(**{name: row[name] for name in names}) for row in rows)


def read_steps(folder: str, *, run_id: str, dataset: str | None = None) -> tuple[LedgerStep, ...]:
    """The ledger of a run."""
    names = ("step", "rows_in", "rows_out", "removed", "added", "quarantined")
    # The effect that a step declared is in the plan; the log keeps only what it did.
    rows = _of_run(folder, "steps", run_id, dataset)
    return tuple(LedgerStep(**{name: row[name] for name in names}, effect="changes") for row in rows)


def read_events(folder: str, *, run_id: str | None = None, dataset: str | None = None) -> tuple[Event, ...]:
    """The events of a run, or of all runs of a dataset, in the order of their recording."""
    rows = _of_run(folder, "events", run_id, dataset)
    rows.sort(key=lambda row: (row["recorded_at"], row["run_id"], row["position"]))
    return tuple(Event(row["kind"], row["message"], row["severity"], json.loads(row["detail"])) for row in rows)


def _open(folder: str, name: str) -> ds.Dataset | None:
    table = find_control_table(os.path.join(folder, name))
    return None if table is None else arrow_rows(table)


def _matches(wanted: Mapping[str, Any]) -> pc.Expression:
    condition = pc.scalar(True)
    for column, value in wanted.items():
        condition = condition if value is None else condition & (pc.field(column) == value)
    return condition


def _among_newest(data: ds.Dataset, condition: pc.Expression, limit: int) -> pc.Expression:
    """Only the times are read to find the newest runs: a log of years has hundreds of thousands."""
    times = data.to_table(columns=["started_at"], filter=condition)
    if times.num_rows <= limit:
        return pc.scalar(True)
    newest = pc.select_k_unstable(times, k=limit, sort_keys=[("started_at", "descending")])
    return pc.field("started_at") >= pc.min(times["started_at"].take(newest))


def _of_run(folder: str, name: str, run_id: str | None, dataset: str | None) -> list[dict[str, Any]]:
    data = _open(folder, name)
    if data is None:
        return []
    rows = _rows(data, LOG_TABLES[name].names, _matches({"run_id": run_id, "dataset": dataset}))
    return sorted(rows, key=lambda row: row["position"])


def _rows(data: ds.Dataset, columns: Sequence[str], condition: pc.Expression) -> list[dict[str, Any]]:
    there = [column for column in columns if column in data.schema.names]
    rows: list[dict[str, Any]] = data.to_table(columns=there, filter=condition).to_pylist()
    # A log that an older version began lacks the columns that came later.
    return [dict.fromkeys(columns) | row for row in rows]


def _step_row(step: LedgerStep) -> dict[str, Any]:
    row = asdict(step)
    del row["effect"]
    return row


def _event_row(event: Event) -> dict[str, Any]:
    return {**asdict(event), "detail": json.dumps(dict(event.detail), ensure_ascii=False)}


def _run_record(row: Mapping[str, Any]) -> RunRecord:
    values = {field.name: row[field.name] for field in fields(RunRecord)}
    for name in ("started_at", "finished_at", "window_start", "window_end"):
        values[name] = values[name].astimezone(UTC) if values[name] else None
    return RunRecord(**values)
