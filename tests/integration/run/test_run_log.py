"""What runs leave in the run log, and that old runs can be forgotten without anything being read again."""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.faults.support import killed_in_process

from lakelogic import DataProcessor
from lakelogic.cli.history import RunFilter, find_run
from lakelogic.cli.run_page import print_run
from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import LakeLogicError
from lakelogic.core.settings import Settings
from lakelogic.core.window import window_of_days
from lakelogic.record.run_log import RuleRecord, RunRecord, read_rules, read_runs, read_steps
from lakelogic.record.run_schema import LOG_TABLES
from lakelogic.run.maintain import Step, maintain
from lakelogic.run.validate import load_checked
from lakelogic.run.windows import find_intervals

CONTRACT = """\
dataset: {dataset}
version: "2.1.0"
source: {{ path: landing, pattern: "*.csv", load_mode: incremental }}
model:
  fields:
    - {{ name: order_id, type: long, required: true }}
    - {{ name: amount, type: "decimal(10,2)" }}
    - {{ name: day, type: date }}
transformations:
  - filter: "order_id <> 0"
  - derive: {{ double_amount: "amount * 2" }}
quality:
  max_quarantine_ratio: 0.5
  row_rules:
    - {{ name: positive, sql: "100 / amount > 0", category: validity }}
    - {{ name: small, sql: "double_amount < 100", severity: warning }}
  dataset_rules:
    - unique: [order_id]
    - {{ name: mean, sql: "SELECT AVG(amount) FROM source", must_be_between: [1, 50] }}
materialization:
  target_path: lake/{dataset}
  reprocess: {{ date_column: day }}
"""
GOOD = "order_id,amount,day\n1,10,2026-03-01\n2,70,2026-03-01\n3,-1,2026-03-01\n0,1,2026-03-01\n4,x,2026-03-03\n"
BAD = "order_id,amount,day\n5,-1,2026-03-01\n6,-1,2026-03-01\n7,3,2026-03-01\n"
NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(days=500)


def estate(folder: Path, dataset: str = "orders") -> Path:
    contract = folder / f"{dataset}.yaml"
    contract.write_text(CONTRACT.format(dataset=dataset))
    (folder / "landing").mkdir(exist_ok=True)
    return contract


def drop(contract: Path, name: str, text: str = GOOD) -> None:
    (contract.parent / "landing" / name).write_text(text)


def run(contract: Path, *, at: datetime = NOW, **wanted: Any) -> Any:
    with DataProcessor(contract, engine="duckdb", environ=dict(os.environ), clock=FixedClock(at)) as processor:
        return processor.run(**wanted)


def log_of(contract: Path) -> str:
    return str(contract.parent / "lake" / "_lakelogic")


def rows(contract: Path, table: str) -> list[dict[str, Any]]:
    path = f"{log_of(contract)}/{table}"
    return DeltaTable(path).to_pyarrow_table().to_pylist() if DeltaTable.is_deltatable(path) else []


def show(where: Path, run_id: str) -> dict[str, Any]:
    return find_run(where, Settings(), RunFilter(prefix=run_id)).to_dict()


def keep(contract: Path, **more: Any) -> dict[tuple[str, str], Step]:
    settings = Settings(**more.pop("settings", {}))
    steps = maintain(load_checked(contract), settings, clock=FixedClock(NOW), **more)
    return {(step.table, step.action): step for step in steps}


def test_every_rule_step_and_gate_of_a_run_is_on_record(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    drop(contract, "a.csv")
    result = run(contract)
    rules = {rule.name: rule for rule in read_rules(log_of(contract), run_id=result.run_id)}
    # Five lines, one of them filtered; the rejected rows of both phases are judged by the others too.
    assert rules["positive"] == RuleRecord(
        "positive", "row", "error", 1, False, None, "validity", "pre", True, 4
    )  # fmt: skip
    assert rules["small"] == RuleRecord("small", "row", "warning", 1, False, None, "correctness", "post", True, 4)
    assert rules["order_id is required"].category == "completeness"
    assert rules["order_id is unique"] == RuleRecord(
        "order_id is unique", "dataset", "error", None, True, 0.0, None, "post", True, None, None, 0.0
    )
    assert (rules["mean"].value, rules["mean"].minimum, rules["mean"].maximum) == (40.0, 1.0, 50.0)
    gate = rules["quality.max_quarantine_ratio"]
    assert (gate.scope, gate.value, gate.maximum, gate.passed, gate.evaluated) == ("gate", 0.5, 0.5, True, True)
    steps = {step.step: step for step in read_steps(log_of(contract), run_id=result.run_id)}
    assert (steps["split"].rows_in, steps["split"].quarantined) == (4, 2)
    [record] = read_runs(log_of(contract))
    assert (record.source_slice, record.source_files, record.source_bytes) == (f"1 file, {len(GOOD)} B", 1, len(GOOD))
    assert record.source == str(tmp_path / "landing")
    assert (record.contract_version, record.engine, record.batch) == ("2.1.0", "duckdb", 1)
    assert None not in (record.engine_version, record.lakelogic_version, record.fingerprint)


def test_a_run_that_a_gate_stops_leaves_its_numbers_and_why(tmp_path: Path, capsys: Any) -> None:
    contract = estate(tmp_path)
    drop(contract, "a.csv", BAD)
    result = run(contract)
    assert result.status == "gate_failed"
    [record] = read_runs(log_of(contract))
    assert (record.status, record.error_code, record.target_version) == ("gate_failed", "LL500", None)
    assert record.error_message == "quarantine ratio 66.7% is above 50.0%"
    assert (record.rows_read, record.rows_quarantined, record.source_files) == (3, 2, 1)
    shown = show(contract, record.run_id)
    [gate] = shown["gates"]
    assert (gate["name"], gate["passed"], round(gate["value"], 3)) == ("quality.max_quarantine_ratio", False, 0.667)
    assert [(r["name"], r["failed"], r["judged"]) for r in shown["rules"] if r["failed"]] == [("positive", 2, 3)]
    assert shown["ledger"][-1]["quarantined"] == 2
    print_run(show(tmp_path, record.run_id[:12]))
    text = capsys.readouterr().out
    assert "LL500 quarantine ratio 66.7% is above 50.0%" in text
    assert f"1 file, {len(BAD)} B" in text


def test_a_run_that_fails_leaves_code_and_hint(tmp_path: Path, capsys: Any) -> None:
    contract = estate(tmp_path)
    os.rmdir(tmp_path / "landing")
    with pytest.raises(LakeLogicError) as raised:
        run(contract)
    [record] = read_runs(log_of(contract))
    problem = raised.value.problem
    assert (record.status, record.error_code, record.error_hint) == ("failed", problem.code, problem.hint)
    print_run(show(contract, record.run_id))
    text = capsys.readouterr().out
    assert f"{problem.code} {problem.message}" in text
    assert str(problem.hint) in text


def test_an_unexpected_error_is_on_record_without_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contract = estate(tmp_path)
    drop(contract, "a.csv")

    def fail(*given: Any, **named: Any) -> None:
        raise KeyError("a value of a row")

    monkeypatch.setattr("lakelogic.run.pipeline.stage_batch", fail)
    with pytest.raises(KeyError):
        run(contract)
    [record] = read_runs(log_of(contract))
    assert (record.status, record.error_code, record.error_message) == ("failed", "LL900", "unexpected KeyError")


def test_a_window_is_on_record_also_where_it_has_no_rows(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    drop(contract, "a.csv")
    window = window_of_days(datetime(2026, 3, 1).date(), datetime(2026, 3, 2).date(), "Europe/Berlin")
    run(contract, window=window)
    [record] = read_runs(log_of(contract))
    assert (record.window_start, record.window_end, record.window_zone) == (window.start, window.end, "Europe/Berlin")
    empty = window_of_days(datetime(2025, 3, 1).date())
    assert run(contract, window=empty, at=NOW + timedelta(seconds=1)).status == "no_new_data"
    record = read_runs(log_of(contract))[0]
    assert (record.status, record.window_start, record.batch) == ("no_new_data", empty.start, 2)


def test_old_runs_are_forgotten_and_nothing_is_read_again(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    drop(contract, "a.csv")
    run(contract, at=LONG_AGO)
    run(contract, at=LONG_AGO, window=window_of_days(datetime(2026, 3, 1).date()))
    run(contract, at=LONG_AGO, window=window_of_days(datetime(2026, 3, 4).date()))
    run(contract, at=NOW - timedelta(days=399))
    before = {name: len(rows(contract, name)) for name in LOG_TABLES}
    intervals = find_intervals(load_checked(contract), Settings())
    assert [str(window) for window in intervals.missing] == ["2026-03-02", "2026-03-03"]

    assert keep(contract, settings={"run_log_days": 0})["run log", "retention"].state == "off"
    assert keep(contract, settings={"run_log_days": 501})["run log (runs)", "retention"].state == "not needed"
    planned = keep(contract, dry_run=True)
    assert planned["run log (runs)", "retention"].state == "needed"
    assert {name: len(rows(contract, name)) for name in LOG_TABLES} == before
    steps = keep(contract)
    assert steps["run log (runs)", "retention"].result == {"rows_deleted": 3}
    assert [r.status for r in read_runs(log_of(contract))] == ["no_new_data"]
    assert rows(contract, "rules") == rows(contract, "steps") == []
    assert keep(contract)["run log (rules)", "retention"].state == "not needed"

    assert find_intervals(load_checked(contract), Settings()) == intervals
    assert run(contract).status == "no_new_data"
    drop(contract, "b.csv", "order_id,amount,day\n9,9,2026-03-09\n")
    result = run(contract)
    assert (result.counts.read, result.counts.accepted) == (1, 1)
    assert [r.batch for r in read_runs(log_of(contract), status="succeeded")] == [4]


@pytest.mark.parametrize("point", ["after_mark_staged", "after_target_commit", "during_run_log", "after_run_log"])
def test_a_run_that_was_interrupted_long_ago_is_finished_after_its_rows_were_forgotten(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own upkeep waits until it is finished; a neighbour's, in the same log, does not."""
    contract, neighbour = estate(tmp_path), estate(tmp_path, "neighbour")
    drop(contract, "a.csv")
    run(neighbour)
    with killed_in_process(point, monkeypatch):
        run(contract, at=LONG_AGO)
    keep(neighbour)
    result = run(contract)
    assert result.counts.accepted == 2
    assert len(DeltaTable(str(tmp_path / "lake/orders")).to_pyarrow_table()) == 2
    finished = [r for r in read_runs(log_of(contract), dataset="orders") if r.status == "succeeded"]
    assert [(r.run_id, r.batch) for r in finished] == [(result.run_id, 1)]
    assert len(read_steps(log_of(contract), run_id=result.run_id)) == len(result.ledger)
    assert run(contract).status == "no_new_data"


def test_rows_are_forgotten_while_others_write(tmp_path: Path) -> None:
    """Two datasets in one log: upkeep of one and runs of the other do not get in each other's way."""
    from concurrent.futures import ThreadPoolExecutor

    from lakelogic.record.run_log import append_run
    from lakelogic.record.run_retention import forget_runs_before

    log = str(tmp_path)
    append_run(log, RunRecord("old", "orders", "succeeded", LONG_AGO), rules=[RuleRecord("a")])

    def write(number: int) -> None:
        if number % 4 == 0:
            forget_runs_before(log, "runs", NOW - timedelta(days=400))
        append_run(log, RunRecord(f"n{number}", f"d{number}", "succeeded", NOW), rules=[RuleRecord("a")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(16)))
    assert sorted(r.run_id for r in read_runs(log, limit=None)) == sorted(f"n{number}" for number in range(16))


def test_a_database_is_named_without_its_address(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, day TEXT)")
        connection.execute("INSERT INTO orders VALUES (1, '2026-03-01')")
    contract = tmp_path / "shop.yaml"
    contract.write_text(
        "dataset: shop\nsource: { path: 'sqlite:///shop.db', database: { table: orders } }\n"
        "model: { fields: [{ name: id, type: long }] }\nmaterialization: { target_path: lake/shop }\n"
    )
    run(contract)
    [record] = read_runs(log_of(contract))
    assert (record.source, record.source_slice) == ("database table orders", "all rows of sqlite:orders")
    assert (record.source_files, record.source_bytes) == (None, None)
