"""Wherever a process dies that holds, releases or discards a batch, the next one brings it to the same end."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import FIRST, SECOND, Estate, killed_in_process, make_estate, visible

from lakelogic import DataProcessor
from lakelogic.core.settings import Settings
from lakelogic.record.approval_file import Approval, add_approval
from lakelogic.record.run_log import read_runs
from lakelogic.run.held_batches import discard_held, find_held
from lakelogic.run.validate import load_checked

pytestmark = pytest.mark.kill

HOLD_POINTS = ("after_quarantine_files", "after_mark_held", "during_run_log", "after_run_log")
RELEASE_POINTS = ("after_approval", "after_quarantine_commit", "after_target_commit", "after_run_log")
DISCARD_POINTS = ("after_mark_discarded", "during_run_log", "after_discarded_files")


def _estate(folder: Path, engine: str = "duckdb", spark: Any = None, strategy: str = "append") -> Estate:
    """Its second batch has more rejected rows than accepted ones."""
    estate = make_estate(folder, engine, strategy, spark)
    text = estate.contract.read_text().replace("quality:", "quality:\n  max_quarantine_ratio: 0.4")
    estate.contract.write_text(text)
    estate.drop("first.csv", FIRST)
    estate.run()
    estate.drop("second.csv", SECOND)
    return estate


def _run(estate: Estate, *, required: bool = True) -> Any:
    processor = DataProcessor(
        estate.contract, estate.engine, estate.spark, environ={**os.environ, "LAKELOGIC_PII_KEY": "a key for tests"},
        approval_required=required, approval_file=_file(estate),
    )  # fmt: skip
    try:
        return processor.run()
    finally:
        processor.close()


def _file(estate: Estate) -> Path:
    return estate.folder / "approvals.yaml"


def _approve(estate: Estate, held: Any) -> None:
    expires = datetime.now(UTC) + timedelta(hours=1)
    add_approval(_file(estate), Approval("orders", held.run_id, held.digest, "ann", expires))


def _discard(estate: Estate, run_id: str) -> None:
    discard_held(load_checked(estate.contract), Settings(), run_id, by="bob")


def _statuses(estate: Estate) -> list[str]:
    return [run.status for run in reversed(read_runs(str(estate.folder / "lake/_lakelogic"), limit=None))]


def _seen(estate: Estate) -> dict[str, Any]:
    """What readers see; the log's rows of held batches are looked at where they are written."""
    return {name: seen for name, seen in visible(estate).items() if name not in ("rules", "steps")}


def test_a_run_that_dies_while_it_holds_publishes_nothing_and_names_the_digest_that_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One dataset, held and given up once for each point."""
    estate = _estate(tmp_path / "killed")
    before = _seen(estate)
    for number, point in enumerate(HOLD_POINTS, 1):
        with killed_in_process(point, monkeypatch):
            _run(estate)
        held = _run(estate, required=False).held
        assert _seen(estate) == before, point
        log = read_runs(str(estate.folder / "lake/_lakelogic"), run_id=held.run_id, limit=None)
        assert [(run.status, run.digest) for run in log] == [("held", held.digest)], point
        assert _statuses(estate).count("held") == number
        _discard(estate, held.run_id)


def test_an_approved_batch_is_published_once_wherever_the_run_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One dataset, and a batch for each point."""
    estate = _estate(tmp_path / "killed")
    for number, point in enumerate(RELEASE_POINTS, 1):
        estate.drop("second.csv", f"order_id,amount,email\n{number}0,1,a@x.io\n{number}1,-1,b@x.io\n")
        _approve(estate, _run(estate).held)
        with killed_in_process(point, monkeypatch):
            _run(estate)
        _file(estate).unlink()  # what was found is not needed again
        result = _run(estate, required=False)
        assert (result.approved_by, sum(_seen(estate)["target"].values())) == ("ann", 2 + number), point
        assert sum(_seen(estate)["quarantine"].values()) == 1 + number
        assert _seen(estate)["versions"] == 1 + number
        assert _statuses(estate)[-2:] == ["held", "succeeded"]
    assert visible(estate)["log"] == [(1, 3, 2, 1), *[(batch, 2, 1, 1) for batch in range(2, 6)]]
    assert set(visible(estate)["rules"].values()) == set(visible(estate)["steps"].values()) == {1}


def test_a_batch_is_discarded_once_wherever_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    estate = _estate(tmp_path / "killed")
    before, held = _seen(estate), _run(estate).held
    for number, point in enumerate(DISCARD_POINTS, 1):
        with killed_in_process(point, monkeypatch):
            _discard(estate, held.run_id)
        _approve(estate, held)  # too late
        again = _run(estate).held
        assert again.run_id != held.run_id and _seen(estate) == before, point
        assert _statuses(estate) == ["succeeded", *["held", "discarded"] * number, "held"]
        staged = [path.name for path in (estate.folder / "lake/orders").glob("batch-*")]
        assert len(staged) == 2  # of the first batch and of the one that is held now
        held = again


def test_a_process_that_is_killed_at_a_release_leaves_nothing_undone(tmp_path: Path) -> None:
    """With real processes: one that holds and one that publishes, both ended by SIGKILL."""
    estate = _estate(tmp_path / "killed")
    options = ("--approval-required", "--approval-file", str(_file(estate)))
    for point in ("after_mark_held", "after_target_commit"):
        process = estate.start(*options, LAKELOGIC_FAULT=point)
        _, errors = process.communicate(timeout=240)
        assert process.returncode == -signal.SIGKILL, errors.decode()[-2000:]
        if point == "after_mark_held":
            (found,) = find_held([load_checked(estate.contract)], Settings())
            _approve(estate, found.held)
    assert _run(estate).approved_by == "ann"
    assert (sum(_seen(estate)["target"].values()), sum(_seen(estate)["quarantine"].values())) == (4, 3)
    assert (_seen(estate)["log"], _seen(estate)["versions"]) == ([(1, 3, 2, 1), (2, 4, 2, 2)], 2)


@pytest.mark.spark
def test_a_held_merge_on_spark_is_released_after_a_kill(
    tmp_path: Path, spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deletes above their limit are a gate, too; the approved batch deletes them."""
    estate = make_estate(tmp_path / "killed", "spark", "merge", spark_session)
    merge = "  merge: { delete_missing: true, max_delete_ratio: 0.1 }\n"
    text = estate.contract.read_text().replace(", load_mode: incremental", "")
    estate.contract.write_text(text + merge)
    estate.drop("all.csv", "order_id,amount,email\n1,10,a@x.io\n2,20,b@x.io\n3,30,c@x.io\n")
    _run(estate)
    estate.drop("all.csv", "order_id,amount,email\n1,11,a@x.io\n")
    held = _run(estate).held
    assert held.reasons == ("2 of 3 rows are gone from the source (66.7%), above 10.0% (merge.max_delete_ratio)",)
    assert sum(visible(estate)["target"].values()) == 3
    _approve(estate, held)
    with killed_in_process("after_target_commit", monkeypatch):
        _run(estate)
    assert _run(estate, required=False).approved_by == "ann"
    (row,) = visible(estate)["target"]
    assert '"amount": "11.00", "order_id": 1' in row
    assert _statuses(estate) == ["succeeded", "held", "succeeded"]
