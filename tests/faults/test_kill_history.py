"""A history is written in two commits, the observation store's and its own; a kill between them leaves no trace."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import Estate, killed_in_process, visible

from lakelogic.table.history_store import store_path

# One run in a process of its own, which starts Spark, and eight in this one.
pytestmark = [pytest.mark.kill, pytest.mark.spark, pytest.mark.timeout(900)]

CONTRACT = """\
dataset: orders
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model:
  fields:
    - { name: order_id, type: long }
    - { name: state, type: string }
    - { name: at, type: timestamp }
materialization:
  strategy: scd2
  target_path: lake/orders
  primary_key: [order_id]
  merge: { delete_when: "state = 'gone'" }
  scd2: { timestamp_field: at }
"""
FIRST = "order_id,state,at\n1,new,2024-01-01\n2,new,2024-01-05\n3,new,2024-01-01\n"
# An unchanged row, a delete and an earlier start all go to the store; key 4 is new.
SECOND = "order_id,state,at\n1,new,2024-01-03\n2,new,2024-01-02\n3,gone,2024-01-04\n4,new,2024-01-01\n"
# Late rows, which come out right only if the store has its rows once.
THIRD = "order_id,state,at\n1,sent,2024-01-02\n2,sent,2024-01-03\n3,new,2024-01-02\n"


def _estate(folder: Path, spark: Any) -> Estate:
    folder.mkdir()
    estate = Estate(folder, "spark", spark)
    estate.contract.write_text(CONTRACT)
    return estate


def _killed(estate: Estate, point: str) -> None:
    process = estate.start(LAKELOGIC_FAULT=point)
    _, errors = process.communicate(timeout=400)
    assert process.returncode == -signal.SIGKILL, errors.decode()[-2000:]


def _feed(estate: Estate, monkeypatch: pytest.MonkeyPatch | None = None) -> dict[str, Any]:
    """Three batches; with a patch at hand, the second is killed for good, and the third is left by an exception."""
    estate.drop("first.csv", FIRST)
    estate.run()
    estate.drop("second.csv", SECOND)
    if monkeypatch is not None:
        _killed(estate, "after_history_files")
    estate.run()
    estate.drop("third.csv", THIRD)
    if monkeypatch is not None:
        with killed_in_process("after_target_commit", monkeypatch):
            estate.run()
    estate.run()
    assert estate.run().status == "no_new_data"
    return visible(estate)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, spark_session: Any) -> dict[str, Any]:
    return _feed(_estate(tmp_path_factory.mktemp("calm") / "estate", spark_session))


def test_killed_runs_leave_the_history_that_undisturbed_ones_leave(
    tmp_path: Path, undisturbed: dict[str, Any], spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch has remembered its rows and written its files, but not committed them; the next has committed them."""
    estate = _estate(tmp_path / "killed", spark_session)
    assert _feed(estate, monkeypatch) == undisturbed
    assert sum(undisturbed["target"].values()) == 8
    target = estate.folder / "lake" / "orders"
    left = [path.name for path in target.iterdir() if path.name.startswith("merge-")]
    # The staged rows of the last batch stay until the next run; no scratch of a killed one does.
    assert [name for name in left if "history" in name] == []
    # Nor does a killed attempt leave files beside those that the table shows or has shown.
    folders = [path.name for path in target.iterdir() if path.name.startswith("batch-")]
    assert sorted(name.split("-")[1] for name in folders) == ["00000001", "00000002", "00000003"]
    assert sorted(path.name for path in Path(store_path(str(target))).glob("batch-*")) == [
        "batch-00000002",
        "batch-00000003",
    ]
