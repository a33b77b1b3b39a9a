"""The run log has each committed batch once, and failed runs too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deltalake import DeltaTable

from lakelogic.core.events import Event
from lakelogic.record.control_table import COMPACT_EVERY, compact_control_table
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
from lakelogic.record.run_retention import forget_runs_before
from lakelogic.record.run_schema import LOG_TABLES

NOW = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
RUN = RunRecord("r1", "customers", "succeeded", NOW, NOW, 1.5, 1, 4, 2, 2, "/t", 0, "/t_quarantine", 0)
RULES = (
    RuleRecord("email", severity="error", failed=2, category="validity", phase="pre", evaluated=True, judged=4),
    RuleRecord("unique", "dataset", passed=True, value=0.0, maximum=0.0),
)
STEPS = (LedgerStep("read", 4, 4), LedgerStep("split", 4, 2, quarantined=2))


def test_no_log_is_an_empty_log(tmp_path: Path) -> None:
    assert read_runs(str(tmp_path)) == ()
    assert read_rules(str(tmp_path), run_id="r1") == ()


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    append_run(str(tmp_path), RUN, rules=RULES, steps=STEPS, resumed=True)
    assert read_runs(str(tmp_path)) == (RUN,)
    assert read_rules(str(tmp_path), run_id="r1") == RULES
    steps = read_steps(str(tmp_path), run_id="r1", dataset="customers")
    assert [replace(step, effect="same") for step in steps] == list(STEPS)


def test_a_resumed_run_is_logged_once_however_often_it_is_appended(tmp_path: Path) -> None:
    for _ in range(3):
        append_run(str(tmp_path), RUN, rules=RULES, steps=STEPS, resumed=True)
    other = replace(RUN, run_id="r2", dataset="orders")
    append_run(str(tmp_path), other, resumed=True)
    assert len(read_runs(str(tmp_path))) == 2
    assert len(read_rules(str(tmp_path), run_id="r1")) == 2
    assert len(read_steps(str(tmp_path), run_id="r1")) == 2


def test_a_log_that_broke_off_in_the_middle_is_completed(tmp_path: Path) -> None:
    append_run(str(tmp_path), RUN, rules=RULES, resumed=True)
    for path in sorted((tmp_path / "runs").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    append_run(str(tmp_path), RUN, rules=RULES, steps=STEPS, resumed=True)
    assert read_runs(str(tmp_path)) == (RUN,)
    assert read_rules(str(tmp_path), run_id="r1") == RULES


def test_failed_runs_are_logged_beside_the_one_that_succeeds(tmp_path: Path) -> None:
    failed = replace(RUN, status="failed", error_code="LL441", error_message="the disk is full")
    append_run(str(tmp_path), failed)
    later = replace(RUN, started_at=NOW + timedelta(seconds=5))
    append_run(str(tmp_path), later, resumed=True)
    assert [run.status for run in read_runs(str(tmp_path))] == ["succeeded", "failed"]
    assert read_runs(str(tmp_path))[1].error_message == "the disk is full"


def test_runs_are_chosen_by_dataset_and_limit_newest_first(tmp_path: Path) -> None:
    for batch in range(1, 5):
        run = replace(RUN, run_id=f"r{batch}", batch=batch, started_at=NOW + timedelta(hours=batch))
        append_run(str(tmp_path), run, resumed=True)
    append_run(str(tmp_path), replace(RUN, dataset="orders"), resumed=True)
    found = read_runs(str(tmp_path), dataset="customers", limit=2)
    assert [run.run_id for run in found] == ["r4", "r3"]
    assert [run.run_id for run in read_runs(str(tmp_path), run_id="r2")] == ["r2"]


def test_datasets_that_end_at_once_are_all_logged(tmp_path: Path) -> None:
    runs = [replace(RUN, run_id=f"r{n}", dataset=f"d{n}") for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda run: append_run(str(tmp_path), run, rules=RULES, resumed=True), runs))
    assert {run.dataset for run in read_runs(str(tmp_path))} == {run.dataset for run in runs}


def test_events_of_a_committed_run_are_written_once(tmp_path: Path) -> None:
    seen = Event("missing_column", "Column `a` is not in the source", "warning", {"column": "a"})
    run = RunRecord("r1", "orders", "succeeded", datetime(2026, 3, 1, tzinfo=UTC), batch=1)
    for _ in range(2):
        append_run(str(tmp_path), run, events=[seen], resumed=True)
    assert read_events(str(tmp_path), run_id="r1") == (seen,)
    assert read_events(str(tmp_path), dataset="other") == ()


def test_an_attempt_that_failed_does_not_hide_the_end_of_its_run(tmp_path: Path) -> None:
    append_run(str(tmp_path), replace(RUN, status="failed", error_code="LL444"))
    for _ in range(2):
        append_run(str(tmp_path), RUN, rules=RULES, steps=STEPS, resumed=True)
    assert sorted(run.status for run in read_runs(str(tmp_path))) == ["failed", "succeeded"]


def test_runs_are_chosen_by_status_start_and_beginning_of_their_id(tmp_path: Path) -> None:
    log = str(tmp_path)
    for day, status in ((1, "succeeded"), (2, "failed"), (2, "succeeded"), (3, "gate_failed")):
        at = datetime(2026, 3, day, tzinfo=UTC)
        append_run(log, replace(RUN, run_id=f"2026030{day}-{status}", status=status, started_at=at))  # type: ignore[arg-type]
    assert [run.run_id for run in read_runs(log, status="failed")] == ["20260302-failed"]
    since = datetime(2026, 3, 2, tzinfo=UTC)
    assert len(read_runs(log, since=since)) == 3
    assert [run.run_id for run in read_runs(log, since=since, status="succeeded")] == ["20260302-succeeded"]
    assert sorted(run.run_id for run in read_runs(log, prefix="20260302")) == ["20260302-failed", "20260302-succeeded"]
    assert read_runs(log, prefix="2026030x") == ()
    # Of runs with the same start, as many as were asked for.
    assert [run.run_id for run in read_runs(log, limit=1)] == ["20260303-gate_failed"]
    assert len(read_runs(log, limit=2)) == 2


def test_every_row_says_when_its_run_began(tmp_path: Path) -> None:
    seen = Event("missing_column", "Column `a` is not in the source", "warning", {"column": "a"})
    append_run(str(tmp_path), RUN, rules=RULES, steps=STEPS, events=[seen])
    for name in LOG_TABLES:
        rows = DeltaTable(str(tmp_path / name)).to_pyarrow_table().to_pylist()
        assert {row["started_at"] for row in rows} == {NOW}, name


def test_a_log_of_many_runs_stays_in_few_files_and_loses_none(tmp_path: Path) -> None:
    for number in range(COMPACT_EVERY + 5):
        append_run(str(tmp_path), replace(RUN, run_id=f"r{number:03}"))
    assert len(read_runs(str(tmp_path), limit=None)) == COMPACT_EVERY + 5
    assert len(DeltaTable(str(tmp_path / "runs")).file_uris()) < 10
    assert len(list((tmp_path / "runs" / "_delta_log").glob("*.checkpoint.parquet"))) >= 1


def test_a_log_can_be_searched_after_some_of_its_rows_were_forgotten(tmp_path: Path) -> None:
    """Old and young runs in one file: what is left of it is written again."""
    log = str(tmp_path)
    for number in range(4):
        start = NOW - timedelta(days=100 * number)
        append_run(log, replace(RUN, run_id=f"r{number}", started_at=start), rules=RULES, steps=STEPS)
    for name in ("runs", "rules", "steps"):
        compact_control_table(DeltaTable(str(tmp_path / name)))
        assert len(DeltaTable(str(tmp_path / name)).file_uris()) == 1
        assert forget_runs_before(log, name, NOW - timedelta(days=150)) in (2, 4)
    assert [run.run_id for run in read_runs(log, dataset="customers", status="succeeded")] == ["r0", "r1"]
    assert [run.run_id for run in read_runs(log, prefix="r1")] == ["r1"]
    assert read_rules(log, run_id="r1") == RULES
    assert read_rules(log, run_id="r2") == ()
    append_run(log, replace(RUN, run_id="r1"), rules=RULES, resumed=True)
    assert len(read_rules(log, run_id="r1")) == len(RULES)
