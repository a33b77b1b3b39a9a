"""A run that applies change events and is killed between its commits leaves what an undisturbed run leaves."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.faults.support import Estate, killed_in_process, visible

pytestmark = pytest.mark.kill

_CONTRACT = """\
dataset: orders
source:
  path: landing
  pattern: "*.csv"
  load_mode: cdc
  cdc: { format: flat, operation_field: op, order_by: [at], deletes: hard }
model:
  fields:
    - { name: order_id, type: long, required: true }
    - { name: amount, type: "decimal(10,2)" }
    - { name: at, type: int }
materialization: { strategy: cdc, target_path: lake/orders, primary_key: [order_id] }
"""
FIRST = "op,order_id,amount,at\nI,1,10,1\nI,2,20,1\nI,3,30,1\nX,4,0,1\n"
SECOND = "op,order_id,amount,at\nD,1,,5\nU,1,11,4\nU,2,22,2\nD,9,,9\nI,,1,1\nT,,,1\n"
THIRD = "op,order_id,amount,at\nU,9,1,8\nI,1,12,6\nU,3,31,1\n"


def _estate(folder: Path, engine: str, spark: Any = None) -> Estate:
    folder.mkdir(parents=True)
    estate = Estate(folder, engine, spark)
    estate.contract.write_text(_CONTRACT)
    estate.drop("first.csv", FIRST)
    estate.run()
    estate.drop("second.csv", SECOND)
    return estate


def _remembered(estate: Estate) -> list[tuple[Any, ...]]:
    rows = DeltaTable(str(estate.folder / "lake/_lakelogic/deletes/orders")).to_pyarrow_table().to_pylist()
    return sorted((row["order_id"] or 0, row["_lakelogic_batch"], row["_lakelogic_reason"]) for row in rows)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same for every engine."""
    calm = _estate(tmp_path_factory.mktemp("undisturbed") / "calm", "duckdb")
    calm.run()
    calm.drop("third.csv", THIRD)
    calm.run()
    return visible(calm), _remembered(calm)


@pytest.mark.spark
def test_killed_change_events_heal(tmp_path: Path, undisturbed: Any, spark_session: Any) -> None:
    estate = _estate(tmp_path / "killed", "spark", spark_session)
    process = estate.start(LAKELOGIC_FAULT="after_deletes_commit")
    _, errors = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, errors.decode()[-2000:]
    _assert_healed(estate, undisturbed)


@pytest.mark.spark
def test_change_events_left_after_their_commit_on_spark_heal(
    tmp_path: Path, undisturbed: Any, spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate = _estate(tmp_path / "left", "spark", spark_session)
    with killed_in_process("after_target_commit", monkeypatch):
        estate.run()
    _assert_healed(estate, undisturbed)


@pytest.mark.parametrize(
    ("engine", "point"),
    [
        ("duckdb", "after_deletes_commit"),
        ("duckdb", "after_merge_files"),
        ("duckdb", "after_target_commit"),
        ("polars", "after_merge_files"),
    ],
)
def test_change_events_left_at_any_commit_without_spark_heal(
    engine: str, point: str, tmp_path: Path, undisturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate = _estate(tmp_path / "left", engine)
    with killed_in_process(point, monkeypatch):
        estate.run()
    _assert_healed(estate, undisturbed)


def _assert_healed(estate: Estate, expected: Any) -> None:
    estate.drop("third.csv", THIRD)
    estate.run()
    seen = visible(estate)
    assert (seen, _remembered(estate)) == expected
    assert sum(seen["target"].values()) == 2
    assert estate.run().status == "no_new_data"
