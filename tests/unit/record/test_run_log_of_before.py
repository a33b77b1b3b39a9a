"""A run log that the version before this one began is read, written to and forgotten like any other.

The tables are made here as that version made them: its columns, its settings, its transactions.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from lakelogic.core.events import Event
from lakelogic.record.ledger import LedgerStep
from lakelogic.record.run_log import (
    RuleRecord,
    RunRecord,
    append_run,
    read_events,
    read_rules,
    read_runs,
    read_steps,
)
from lakelogic.record.run_retention import FORGET_ORDER, count_runs_before, forget_runs_before
from lakelogic.record.run_schema import LOG_TABLES
from lakelogic.run.manifest import decode_manifest

_INSTANT = pa.timestamp("us", "UTC")
_KEY = [pa.field("run_id", pa.string(), nullable=False), pa.field("dataset", pa.string(), nullable=False)]
_POSITION = pa.field("position", pa.int64(), nullable=False)
_RECORDED = pa.field("recorded_at", _INSTANT, nullable=False)
BEFORE = {
    "runs": pa.schema(
        [
            *_KEY,
            pa.field("status", pa.string(), nullable=False),
            pa.field("started_at", _INSTANT, nullable=False),
            pa.field("finished_at", _INSTANT),
            pa.field("duration_s", pa.float64()),
            *(pa.field(name, pa.int64()) for name in ("batch", "rows_read", "rows_accepted", "rows_quarantined")),
            pa.field("target", pa.string()),
            pa.field("target_version", pa.int64()),
            pa.field("quarantine", pa.string()),
            pa.field("quarantine_version", pa.int64()),
            *(pa.field(name, pa.string()) for name in ("layer", "engine", "contract_version", "fingerprint")),
            *(pa.field(name, pa.string()) for name in ("reason", "error_code", "error_message")),
            *(pa.field(f"rows_{what}", pa.int64()) for what in ("inserted", "updated", "deleted", "ignored")),
            _RECORDED,
        ]
    ),
    "rules": pa.schema(
        [
            *_KEY,
            _POSITION,
            pa.field("name", pa.string(), nullable=False),
            pa.field("scope", pa.string(), nullable=False),
            pa.field("severity", pa.string()),
            pa.field("failed", pa.int64()),
            pa.field("passed", pa.bool_()),
            pa.field("value", pa.float64()),
            _RECORDED,
        ]
    ),
    "steps": pa.schema(
        [
            *_KEY,
            _POSITION,
            pa.field("step", pa.string(), nullable=False),
            *(pa.field(name, pa.int64()) for name in ("rows_in", "rows_out", "removed", "added", "quarantined")),
            _RECORDED,
        ]
    ),
    "events": pa.schema(
        [
            *_KEY,
            _POSITION,
            pa.field("kind", pa.string(), nullable=False),
            pa.field("severity", pa.string(), nullable=False),
            pa.field("message", pa.string()),
            pa.field("detail", pa.string()),
            _RECORDED,
        ]
    ),
}
SETTINGS = {"delta.checkpointInterval": "25", "delta.logRetentionDuration": "interval 1 days"}
THEN = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = THEN + timedelta(days=10)
ROWS: dict[str, dict[str, Any]] = {
    "runs": {"status": "succeeded", "started_at": THEN, "batch": 1, "rows_read": 2, "rows_accepted": 1},
    "rules": {"position": 0, "name": "positive", "scope": "row", "severity": "error", "failed": 1, "passed": False},
    "steps": {"position": 0, "step": "split", "rows_in": 2, "rows_out": 1, "removed": 0, "added": 0, "quarantined": 1},
    "events": {"position": 0, "kind": "missing_column", "severity": "info", "message": "m", "detail": "{}"},
}


@pytest.fixture
def log(tmp_path: Path) -> str:
    for name, schema in BEFORE.items():
        table = DeltaTable.create(str(tmp_path / name), schema, mode="error", configuration=SETTINGS)
        row = {"run_id": "old", "dataset": "orders", "recorded_at": THEN, **ROWS[name]}
        carried = CommitProperties(app_transactions=[Transaction("orders", 1)])
        data = pa.Table.from_pylist([row], schema=schema)
        write_deltalake(table, data, mode="append", schema_mode="merge", commit_properties=carried)
    return str(tmp_path)


def _append(log: str, run_id: str) -> None:
    run = RunRecord(run_id, "orders", "succeeded", NOW, batch=2, source_files=3, lakelogic_version="1")
    rules = [RuleRecord("positive", "row", "error", 0, True, category="validity", judged=5)]
    append_run(log, run, rules=rules, steps=[LedgerStep("split", 5, 5)], events=[Event("e", "m")], resumed=True)


def test_old_rows_are_read_with_nothing_where_they_have_nothing(log: str) -> None:
    [run] = read_runs(log)
    assert (run.run_id, run.rows_read, run.source_files, run.error_hint) == ("old", 2, None, None)
    [rule] = read_rules(log, run_id="old")
    assert (rule.name, rule.failed, rule.category, rule.judged) == ("positive", 1, None, None)
    assert [step.step for step in read_steps(log, run_id="old")] == ["split"]
    assert read_events(log, run_id="old") == (Event("missing_column", "m"),)


def test_new_runs_are_appended_to_it_once(log: str) -> None:
    for _ in range(2):
        _append(log, "new")
    assert [(run.run_id, run.source_files) for run in read_runs(log)] == [("new", 3), ("old", None)]
    assert [(rule.category, rule.judged) for rule in read_rules(log, run_id="new")] == [("validity", 5)]
    assert [rule.failed for rule in read_rules(log, run_id="old")] == [1]
    for name, schema in LOG_TABLES.items():
        table = DeltaTable(str(Path(log) / name))
        assert {field.name for field in table.schema().fields} == set(schema.names), name
        assert table.to_pyarrow_table().num_rows == 2, name


@pytest.mark.parametrize("continued", [False, True])
def test_old_rows_are_forgotten_when_their_time_has_come(log: str, continued: bool) -> None:
    if continued:
        _append(log, "new")
    for name in FORGET_ORDER:
        assert count_runs_before(log, name, THEN) == 0
        assert count_runs_before(log, name, THEN + timedelta(seconds=1)) == 1
        assert forget_runs_before(log, name, THEN + timedelta(seconds=1)) == 1
        assert forget_runs_before(log, name, THEN + timedelta(seconds=1)) == 0
    assert [run.run_id for run in read_runs(log)] == (["new"] if continued else [])


def test_a_batch_that_the_version_before_staged_is_published_with_its_rules() -> None:
    """The manifest of a batch in the journal tells less of a rule than this version would."""
    shape = {"columns": [], "partition_by": [], "properties": {}, "description": None}
    rule = {"name": "positive", "scope": "row", "severity": "error", "failed": 1, "passed": False, "value": None}
    manifest = decode_manifest(
        json.loads(
            json.dumps(
                {
                    "write": {"kind": "WriteAppend"},
                    "target_files": [],
                    "target": shape,
                    "quarantine_files": [],
                    "quarantine": shape,
                    "ledger": {"steps": [], "read": 0, "accepted": 0, "quarantined": 0},
                    "rules": [rule],
                    "warnings": [],
                    "personal": [],
                    "reason": None,
                    "extra": {},
                }
            )
        )
    )
    assert manifest.rules == (RuleRecord("positive", "row", "error", 1, False),)
