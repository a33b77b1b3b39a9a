"""A run that is killed anywhere and started again leaves what an undisturbed run leaves."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import (
    FIRST,
    SECOND,
    Estate,
    killed_in_process,
    make_estate,
    visible,
    windowed_contract,
)

from lakelogic.core.faults import FAULT_POINTS, MERGE_FAULT_POINTS
from lakelogic.core.window import window_of_days

pytestmark = pytest.mark.kill

# Spark needs a JVM per process that is killed, so there it is two points between which something is published; others
# are left by an exception. DuckDB is quick: every point, and any moment. Thirty processes are killed in all.
MOMENTS_S = [round(random.Random(seed).uniform(0.3, 2.5), 2) for seed in range(12)]
# All other points lie between steps that every engine shares.
AFTER_SPARK = ("after_stage", "after_quarantine_files", "before_target_commit", "after_target_commit", "after_run_log")
SPARK_KILLS = [("append", "after_target_commit"), ("merge", "after_quarantine_commit")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What readers see after both batches, by strategy; the same for every engine."""
    seen: dict[str, Any] = {}

    def look(estate: Estate, strategy: str) -> Any:
        if strategy not in seen:
            folder = tmp_path_factory.mktemp("undisturbed") / strategy
            calm = make_estate(folder, estate.engine, strategy, estate.spark)
            calm.drop("first.csv", FIRST)
            calm.run()
            calm.drop("second.csv", SECOND)
            calm.run()
            seen[strategy] = visible(calm)
        return seen[strategy]

    return look


def _kill_second_batch(estate: Estate, point: str) -> None:
    estate.drop("first.csv", FIRST)
    estate.run()
    estate.drop("second.csv", SECOND)
    process = estate.start(LAKELOGIC_FAULT=point)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, errors.decode()[-2000:]


def _assert_healed(estate: Estate, expected: Any) -> None:
    estate.run()
    assert visible(estate) == expected
    again = estate.run()
    assert again.status == "no_new_data"
    assert visible(estate) == expected


@pytest.mark.parametrize("point", FAULT_POINTS)
def test_killed_append_on_duckdb_heals(point: str, tmp_path: Path, undisturbed: Any) -> None:
    estate = make_estate(tmp_path / "killed", "duckdb", "append")
    _kill_second_batch(estate, point)
    _assert_healed(estate, undisturbed(estate, "append"))


@pytest.mark.parametrize(
    ("moment_s", "how"),
    [*((moment_s, signal.SIGKILL) for moment_s in MOMENTS_S), (0.9, signal.SIGTERM), (1.4, signal.SIGTERM)],
)
def test_append_killed_at_any_moment_heals(
    moment_s: float, how: signal.Signals, tmp_path: Path, undisturbed: Any
) -> None:
    estate = make_estate(tmp_path / "killed", "duckdb", "append")
    estate.drop("first.csv", FIRST)
    estate.run()
    estate.drop("second.csv", SECOND)
    process = estate.start()
    time.sleep(moment_s)
    process.send_signal(how)
    process.communicate(timeout=60)
    _assert_healed_or_idle(estate, undisturbed(estate, "append"))


def _assert_healed_or_idle(estate: Estate, expected: Any) -> None:
    estate.run()
    assert visible(estate) == expected


@pytest.mark.spark
@pytest.mark.parametrize(("strategy", "point"), SPARK_KILLS)
def test_killed_run_on_spark_heals(
    strategy: str, point: str, tmp_path: Path, undisturbed: Any, spark_session: Any
) -> None:
    estate = make_estate(tmp_path / "killed", "spark", strategy, spark_session)
    _kill_second_batch(estate, point)
    _assert_healed(estate, undisturbed(estate, strategy))


@pytest.mark.parametrize("point", ["after_stage", "after_target_commit"])
def test_killed_append_on_polars_heals(point: str, tmp_path: Path, undisturbed: Any) -> None:
    estate = make_estate(tmp_path / "killed", "polars", "append")
    _kill_second_batch(estate, point)
    _assert_healed(estate, undisturbed(estate, "append"))


def test_a_run_on_polars_that_is_left_at_any_point_heals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _leave_at_every_point(make_estate(tmp_path / "left", "polars", "append"), "append", monkeypatch)


@pytest.mark.parametrize(
    ("engine", "points"),
    [("duckdb", (*FAULT_POINTS, *MERGE_FAULT_POINTS)), ("polars", ("after_stage", *MERGE_FAULT_POINTS))],
    ids=["duckdb", "polars"],
)
def test_a_merge_without_spark_that_is_left_at_any_point_heals(
    engine: str, points: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _leave_at_every_point(make_estate(tmp_path / "left", engine, "merge"), "merge", monkeypatch, points)


@pytest.mark.spark
def test_a_run_on_spark_that_is_left_where_spark_has_worked_heals(
    tmp_path: Path, spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate = make_estate(tmp_path / "left", "spark", "merge", spark_session)
    _leave_at_every_point(estate, "merge", monkeypatch, AFTER_SPARK)


def test_killed_merge_on_duckdb_heals(tmp_path: Path, undisturbed: Any) -> None:
    estate = make_estate(tmp_path / "killed", "duckdb", "merge")
    _kill_second_batch(estate, "after_merge_files")
    _assert_healed(estate, undisturbed(estate, "merge"))


def _leave_at_every_point(
    estate: Estate, strategy: str, monkeypatch: pytest.MonkeyPatch, points: tuple[str, ...] = FAULT_POINTS
) -> None:
    """One table, and a batch for each point: left there, and finished by the next run."""
    written = []
    for number, point in enumerate(points):
        written.append([(1, number + 1), (100 + number, 7)])
        rows = [f"{order},{amount},a@x.io" for order, amount in written[-1]]
        estate.drop(f"{number:02}.csv", "\n".join(["order_id,amount,email", *rows, "x,1,b@x.io", ""]))
        with killed_in_process(point, monkeypatch):
            estate.run()
        estate.run()
    every = [row for batch in written for row in batch]
    expected = Counter(every if strategy == "append" else dict(every).items())
    seen = visible(estate)
    found = [json.loads(row) for row in seen["target"].elements()]
    assert Counter((row["order_id"], int(float(row["amount"]))) for row in found) == expected
    assert sum(seen["quarantine"].values()) == len(points)
    assert seen["log"] == [(batch, 3, 2, 1) for batch in range(1, len(points) + 1)]
    assert seen["versions"] == len(points)


@pytest.mark.parametrize("point", ["after_stage", "after_mark_staged", "before_target_commit", "after_target_commit"])
@pytest.mark.parametrize("partitions", ["[]", "[day]"])
def test_killed_run_for_a_window_heals(partitions: str, point: str, tmp_path: Path) -> None:
    """The run after it reads nothing new: it finishes the window of the killed one, and that window only."""
    estate = make_estate(tmp_path / "killed", "duckdb", "append")
    estate.contract.write_text(windowed_contract(partitions))
    estate.drop("first.csv", "order_id,day\n1,2026-03-01\n2,2026-03-02\n")
    estate.run()
    estate.drop("first.csv", "order_id,day\n10,2026-03-01\n20,2026-03-02\n21,2026-03-02\n")
    process = estate.start("--reprocess-start-date", "2026-03-02", LAKELOGIC_FAULT=point)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, errors.decode()[-2000:]
    estate.run(window=window_of_days(date(2026, 3, 2)))
    expected = {"1": "2026-03-01", "20": "2026-03-02", "21": "2026-03-02"}
    found = [json.loads(row) for row in visible(estate)["target"].elements()]
    assert {str(row["order_id"]): row["day"] for row in found} == expected
    assert (len(found), visible(estate)["versions"]) == (3, 3)


def test_two_runs_at_once_do_not_interleave(tmp_path: Path, undisturbed: Any) -> None:
    estate = make_estate(tmp_path / "twice", "duckdb", "append")
    estate.drop("first.csv", FIRST)
    estate.run()
    estate.drop("second.csv", SECOND)
    both = [estate.start(), estate.start()]
    codes = [process.wait(timeout=120) for process in both]
    # The second is refused with the holder named, or comes after the first and finds nothing to do.
    assert sorted(codes) in ([0, 0], [0, 4])
    for process in both:
        assert process.stderr is not None
        errors = process.stderr.read().decode()
        assert process.returncode == 0 or "is being written by run" in errors, errors
    estate.run()
    assert visible(estate) == undisturbed(estate, "append")


def test_dead_holder_is_taken_over(tmp_path: Path, undisturbed: Any) -> None:
    estate = make_estate(tmp_path / "dead", "duckdb", "append")
    _kill_second_batch(estate, "after_lock")
    assert (estate.folder / "lake/_lakelogic/orders/lock").read_text() != ""
    _assert_healed(estate, undisturbed(estate, "append"))


def test_failure_to_write_the_quarantine_publishes_nothing(tmp_path: Path) -> None:
    estate = make_estate(tmp_path / "full", "duckdb", "append")
    estate.drop("first.csv", FIRST)
    process = estate.start(LAKELOGIC_FAULT="before_quarantine_commit", LAKELOGIC_FAULT_MODE="raise")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 4, errors.decode()[-2000:]
    assert visible(estate)["target"] == {}
    assert visible(estate)["quarantine"] == {}
    assert estate.run().status == "succeeded"
    assert sum(visible(estate)["target"].values()) == 2


def test_rerun_of_overwrite_changes_nothing(tmp_path: Path) -> None:
    estate = make_estate(tmp_path / "again", "duckdb", "overwrite")
    estate.contract.write_text(estate.contract.read_text().replace("incremental", "full"))
    estate.drop("first.csv", FIRST)
    estate.run()
    first = visible(estate)["target"]
    estate.run()
    assert visible(estate)["target"] == first
