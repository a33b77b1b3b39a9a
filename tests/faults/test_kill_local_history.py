"""A history that DuckDB or Polars writes is killed anywhere, and finished by the other one."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import Estate, killed_in_process, visible
from tests.faults.test_kill_history import CONTRACT, FIRST, SECOND, THIRD

from lakelogic.table.history_store import store_path

pytestmark = pytest.mark.kill

OTHER = {"duckdb": "polars", "polars": "duckdb"}


def _estate(folder: Path, engine: str) -> Estate:
    folder.mkdir()
    estate = Estate(folder, engine)
    estate.contract.write_text(CONTRACT)
    estate.drop("first.csv", FIRST)
    estate.run()
    return estate


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    estate = _estate(tmp_path_factory.mktemp("calm") / "estate", "duckdb")
    for name, text in (("second.csv", SECOND), ("third.csv", THIRD)):
        estate.drop(name, text)
        estate.run()
    return visible(estate)


def _no_traces(estate: Estate) -> None:
    """Neither scratch nor files of an attempt that ended before its commit are left."""
    target = estate.folder / "lake" / "orders"
    assert [path.name for path in target.iterdir() if "history" in path.name] == []
    folders = [path.name for path in target.iterdir() if path.name.startswith("batch-")]
    assert sorted(name.split("-")[1] for name in folders) == ["00000001", "00000002", "00000003"]
    remembered = [path.name for path in Path(store_path(str(target))).glob("batch-*")]
    assert sorted(remembered) == ["batch-00000002", "batch-00000003"]


def _kill(estate: Estate, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with killed_in_process(point, monkeypatch):
        estate.run()


def _kill_process(estate: Estate, point: str) -> None:
    process = estate.start(LAKELOGIC_FAULT=point)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, errors.decode()[-2000:]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_killed_run_is_finished_by_the_other_engine(
    tmp_path: Path, undisturbed: dict[str, Any], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate = _estate(tmp_path / "killed", engine)
    other = replace(estate, engine=OTHER[engine])
    estate.drop("second.csv", SECOND)
    _kill(estate, "after_history_scratch", monkeypatch)
    _kill(estate, "after_history_files", monkeypatch)
    other.run()
    estate.drop("third.csv", THIRD)
    if engine == "duckdb":
        _kill_process(estate, "after_store_commit")
    else:
        _kill(estate, "after_store_commit", monkeypatch)
    other.run()
    assert estate.run().status == "no_new_data"
    assert visible(estate) == undisturbed
    assert sum(undisturbed["target"].values()) == 8
    _no_traces(estate)
