"""Time limits, retries and the circuit breaker, as the tables and the run log show them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.integration.driver.test_resume import ORDER, REQUEST, SETTINGS

from lakelogic.core.settings import Settings
from lakelogic.driver import guard
from lakelogic.driver.estate import read_estate
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.outcome import PipelineResult
from lakelogic.driver.patience import Limits
from lakelogic.driver.pipeline import prepare, run_pipeline
from lakelogic.driver.select import Selection
from lakelogic.driver.worker import Request
from lakelogic.record.holders import Holder
from lakelogic.record.journal import open_journal
from lakelogic.record.lock import Lock, acquire
from lakelogic.record.run_log import RunRecord, read_runs

CONTRACT = """\
dataset: numbers
source: { path: ../landing }
model: { fields: [{ name: n, type: long }] }
transformations: [{ sql: "%s" }]
materialization: { target_path: ../lake/numbers }
resilience: %s
"""
ROWS = 3_000
QUICK = "SELECT n FROM source"
# Thousands of millions of rows, and yet few enough for each of the first table that Spark looks now and then whether it
# is to stop.
ENDLESS = "SELECT n FROM source WHERE n < (SELECT SUM(a.n + b.n + c.n) FROM source a, source b, source c)"


def estate(folder: Path, sql: str, resilience: str) -> Path:
    contracts = folder / "contracts"
    contracts.mkdir(exist_ok=True)
    (contracts / "numbers.yaml").write_text(CONTRACT % (sql, resilience))
    (folder / "landing").mkdir(exist_ok=True)
    (folder / "landing" / "n.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(ROWS)))
    return contracts


def run(contracts: Path, request: Request = REQUEST, session: Any = None) -> PipelineResult:
    prepared = prepare(read_estate([contracts], settings=SETTINGS), Selection(), request, ORDER, Wanted())
    return run_pipeline(prepared, request, ORDER, session=session)


def log(folder: Path) -> tuple[RunRecord, ...]:
    return read_runs(str(folder / "lake" / "_lakelogic"), limit=None)


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_time_limit_ends_the_query_and_leaves_nothing_behind(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    session = request.getfixturevalue("spark_session") if engine == "spark" else None
    asked = Request(Settings(engine=engine), limits=Limits(grace=timedelta(seconds=60)))
    contracts = estate(tmp_path, ENDLESS, "{ retries: 1, backoff: 1ms, timeout: 2s }")
    result = run(contracts, asked, session)
    problem = result.outcomes["numbers"].problem
    assert problem is not None and (result.exit_code, problem.code) == (4, "LL417")
    attempts = [(r.attempt, r.status, r.error_code, r.pipeline_run_id) for r in log(tmp_path)]
    assert attempts == [(number, "failed", "LL417", result.run_id) for number in (2, 1)]
    assert open_journal(str(tmp_path / "lake/_lakelogic/numbers")).pending() is None
    assert not list((tmp_path / "lake" / "numbers").glob("batch-*"))
    if session is not None:
        assert not session.sparkContext.statusTracker().getActiveJobsIds()
    # Nobody holds the dataset: the mended contract runs, and in less time.
    assert run(estate(tmp_path, QUICK, "{ timeout: 100s }"), asked, session).exit_code == 0
    assert DeltaTable(str(tmp_path / "lake" / "numbers")).to_pyarrow_table().num_rows == ROWS


def test_a_dataset_that_is_held_is_tried_again_until_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contracts = estate(tmp_path, QUICK, "{ retries: 5, backoff: 1ms }")
    holder = Holder("elsewhere", 1, "another-run", datetime.now(UTC))
    locks: list[Lock] = [acquire(str(tmp_path / "lake/_lakelogic/numbers"), holder)]
    tell = guard.Guard._tell_retry

    def let_go(this: guard.Guard, state: object) -> None:
        if locks and state.attempt_number == 2:  # type: ignore[attr-defined]
            locks.pop().release()
        tell(this, state)  # type: ignore[arg-type]

    monkeypatch.setattr(guard.Guard, "_tell_retry", let_go)
    assert run(contracts).exit_code == 0
    assert [(r.attempt, r.status, r.error_code) for r in log(tmp_path)] == [
        (3, "succeeded", None), (2, "failed", "LL410"), (1, "failed", "LL410"),
    ]  # fmt: skip


def test_a_dataset_that_fails_again_and_again_is_left_alone_until_a_run_succeeds(tmp_path: Path) -> None:
    contracts = estate(tmp_path, QUICK, "{ retries: 0, max_consecutive_failures: 2 }")
    landing, gone = tmp_path / "landing", tmp_path / "gone"
    landing.rename(gone)
    assert [run(contracts).outcomes["numbers"].status for _ in range(2)] == ["failed", "failed"]
    gone.rename(landing)
    third = run(contracts)
    outcome = third.outcomes["numbers"]
    assert (outcome.status, third.exit_code) == ("skipped", 4)
    assert outcome.reason is not None and "2 runs in a row failed" in outcome.reason and "LL430" in outcome.reason
    assert (log(tmp_path)[0].status, log(tmp_path)[0].error_code) == ("skipped", "LL422")
    assert run(contracts).outcomes["numbers"].status == "skipped"  # being held back is no failure, and no success
    assert run(contracts, replace(REQUEST, ignore_breaker=True)).outcomes["numbers"].status == "succeeded"
    assert run(contracts).outcomes["numbers"].status == "succeeded"
