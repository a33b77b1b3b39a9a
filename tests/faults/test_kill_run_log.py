"""Wherever a run dies while it is recorded, the run log has each of its rows once after the next run."""

from __future__ import annotations

import os
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.faults.support import killed_in_process

from lakelogic import DataProcessor
from lakelogic.core.faults import LOG_FAULT_POINTS
from lakelogic.core.window import Window, window_of_days
from lakelogic.record.run_log import read_runs
from lakelogic.record.run_schema import LOG_TABLES

pytestmark = pytest.mark.kill

POINTS = ("during_run_log", *LOG_FAULT_POINTS, "after_run_log")
# The source lacks a column, which is an event.
CONTRACT = """\
dataset: orders
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model: { fields: [{ name: order_id, type: long }, { name: day, type: date }, { name: note, type: string }] }
quality: { max_quarantine_ratio: 0.4, row_rules: [{ name: positive, sql: "order_id > 0" }] }
materialization: { target_path: lake/orders, reprocess: { date_column: day } }
"""
GOOD, BAD = "order_id,day\n1,2026-03-01\n2,2026-03-01\n", "order_id,day\n-1,2026-03-01\n3,2026-03-01\n"


def _estate(folder: Path) -> Path:
    (folder / "landing").mkdir(parents=True)
    (folder / "contract.yaml").write_text(CONTRACT)
    return folder


def _run(folder: Path, window: Window | None = None) -> Any:
    with DataProcessor(folder / "contract.yaml", engine="duckdb", environ=dict(os.environ)) as processor:
        return processor.run(window=window)


def _rows(folder: Path, table: str) -> list[dict[str, Any]]:
    path = str(folder / "lake/_lakelogic" / table)
    return DeltaTable(path).to_pyarrow_table().to_pylist() if DeltaTable.is_deltatable(path) else []


def _without_run(folder: Path) -> dict[str, Counter[str]]:
    """All rows of the log without what names a single run."""
    told = ("run_id", "started_at", "finished_at", "duration_s", "recorded_at", "source", "target", "quarantine")
    return {
        table: Counter(str(sorted((k, v) for k, v in row.items() if k not in told)) for row in _rows(folder, table))
        for table in LOG_TABLES
    }


def _assert_each_row_once(folder: Path) -> None:
    for table in ("rules", "steps", "events"):
        keys = Counter((row["run_id"], row["dataset"], row["position"]) for row in _rows(folder, table))
        assert set(keys.values()) <= {1}, table
        recorded = {row["run_id"] for row in _rows(folder, "runs")}
        assert {run_id for run_id, _, _ in keys} <= recorded
    runs = Counter((row["run_id"], row["status"]) for row in _rows(folder, "runs"))
    assert set(runs.values()) == {1}


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What undisturbed runs record, by their input."""
    told = {}
    for text in (GOOD, BAD):
        folder = _estate(tmp_path_factory.mktemp("calm") / "estate")
        (folder / "landing/a.csv").write_text(text)
        _run(folder)
        told[text] = _without_run(folder)
    return told


@pytest.mark.parametrize("point", POINTS)
def test_a_published_run_is_recorded_once(
    point: str, tmp_path: Path, calm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = _estate(tmp_path / "killed")
    (killed / "landing/a.csv").write_text(GOOD)
    with killed_in_process(point, monkeypatch):
        _run(killed)
    _run(killed)
    assert [len(rows) > 0 for rows in calm[GOOD].values()] == [True] * 4
    assert _without_run(killed) == calm[GOOD]
    _assert_each_row_once(killed)


@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_a_gate_stops_is_recorded_once(
    point: str, tmp_path: Path, calm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = _estate(tmp_path / "killed")
    (killed / "landing/a.csv").write_text(BAD)
    with killed_in_process(point, monkeypatch):
        _run(killed)
    assert _run(killed).status == "gate_failed"
    assert _without_run(killed) == calm[BAD]
    _assert_each_row_once(killed)
    # The next attempt is another run, and leaves rows of its own.
    (killed / "landing/a.csv").write_text(GOOD)
    assert _run(killed).counts.accepted == 2
    assert [run.status for run in read_runs(str(killed / "lake/_lakelogic"))] == ["succeeded", "gate_failed"]
    _assert_each_row_once(killed)


def test_a_gate_that_is_open_at_the_second_look_doubles_no_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _estate(tmp_path / "killed")
    (folder / "landing/a.csv").write_text(BAD)
    with killed_in_process("after_run_log", monkeypatch):
        _run(folder)
    (folder / "contract.yaml").write_text(CONTRACT.replace("0.4", "0.9"))
    assert _run(folder).status == "succeeded"
    assert {run.status for run in read_runs(str(folder / "lake/_lakelogic"))} == {"succeeded", "gate_failed"}
    _assert_each_row_once(folder)


@pytest.mark.parametrize("point", ["after_logged_events", "after_run_log"])
def test_a_window_without_rows_is_recorded_once(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, window = _estate(tmp_path / "killed"), window_of_days(date(2025, 1, 1))
    (folder / "landing/a.csv").write_text(GOOD)
    with killed_in_process(point, monkeypatch):
        _run(folder, window)
    _run(folder)
    runs = read_runs(str(folder / "lake/_lakelogic"))
    assert sorted(run.status for run in runs) == ["no_new_data", "succeeded"]
    _assert_each_row_once(folder)
