"""A parallel pipeline that is stopped or killed in the middle, and gone on with: as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.integration.driver.estates import write_estate
from tests.integration.driver.test_resume import run as run_here

from lakelogic.driver.outcome import PipelineResult
from lakelogic.record.journal import open_journal
from lakelogic.record.run_log import RunRecord, read_runs

ENTITIES = 2
NAMES = ("ref_countries", *(f"{layer}_e{n:03d}" for n in range(ENTITIES) for layer in ("bronze", "silver", "gold")))
UNSTABLE = ("_lakelogic_run_id", "_lakelogic_processed_at", "_lakelogic_source", "_lakelogic_id")


def pipeline(
    registry: Path, *options: str, engine: str = "duckdb", **environment: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lakelogic", "pipeline", "--registry", str(registry), "--engine", engine]
    environ = {**os.environ, **environment}
    return subprocess.run(
        [*command, "--output", "json", *options], env=environ, capture_output=True, text=True, timeout=240, check=False
    )


def tables(folder: Path) -> dict[str, Counter[str]]:
    """The rows of all tables, quarantines too, without what names a single run."""
    found = {}
    for path in sorted((folder / "lake").iterdir()):
        if DeltaTable.is_deltatable(str(path)):
            rows = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
            plain = [{key: value for key, value in row.items() if key not in UNSTABLE} for row in rows]
            found[path.name] = Counter(json.dumps(row, default=str, sort_keys=True) for row in plain)
    return found


def runs(folder: Path) -> tuple[RunRecord, ...]:
    return read_runs(str(folder / "lake" / "_lakelogic"), limit=None)


def pending(folder: Path, name: str) -> bool:
    return open_journal(str(folder / "lake" / "_lakelogic" / name)).pending() is not None


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[str]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run_here(write_estate(folder, ENTITIES)).exit_code == 0
    return tables(folder)


def assert_made_whole(folder: Path, before: set[str], resumed: PipelineResult, undisturbed: Any) -> None:
    """All is there once, and what had ended well before was not touched again."""
    assert resumed.exit_code == 0
    assert tables(folder) == undisturbed
    done = Counter(record.dataset for record in runs(folder) if record.status in ("succeeded", "no_new_data"))
    assert done == Counter(NAMES)
    assert {record.pipeline_run_id for record in runs(folder)} == {resumed.run_id}
    assert {name for name, outcome in resumed.outcomes.items() if outcome.results} == set(NAMES) - before
    assert not any(pending(folder, name) for name in NAMES)


@pytest.mark.kill
@pytest.mark.parametrize("moment", ["after_prepare:2", "after_run_log:5"])
def test_a_killed_pipeline_is_gone_on_with(tmp_path: Path, undisturbed: Any, moment: str) -> None:
    registry = write_estate(tmp_path, ENTITIES)
    assert pipeline(registry, LAKELOGIC_FAULT=moment).returncode == -9
    logged = {record.dataset for record in runs(tmp_path) if record.status == "succeeded"}
    before = {name for name in logged if not pending(tmp_path, name)}
    assert len(before) < len(NAMES)
    assert_made_whole(tmp_path, before, run_here(registry, resume=True), undisturbed)


@pytest.mark.kill
@pytest.mark.parametrize("moment", ["after_stage:3", "after_target_commit:4"])
def test_a_pipeline_that_is_asked_to_end_does_so_cleanly(tmp_path: Path, undisturbed: Any, moment: str) -> None:
    registry, state = write_estate(tmp_path, ENTITIES), tmp_path / "state.json"
    stopped = pipeline(registry, "--state-path", str(state), LAKELOGIC_FAULT=moment, LAKELOGIC_FAULT_MODE="term")
    assert stopped.returncode == 143, stopped.stderr
    told = {each["dataset"]: each["status"] for each in json.loads(stopped.stdout)["contracts"]}
    kept = {name: each["status"] for name, each in json.loads(state.read_text())["contracts"].items()}
    assert told == kept == {record.dataset: record.status for record in runs(tmp_path)}
    assert set(told) == set(NAMES) and set(told.values()) <= {"succeeded", "interrupted", "skipped"}
    assert "skipped" in told.values()
    for name, status in told.items():
        assert status == "skipped" or not pending(tmp_path, name)
        assert status == "succeeded" or not list((tmp_path / "lake" / name).glob("batch-*"))
    before = {name for name, status in told.items() if status == "succeeded"}
    assert_made_whole(tmp_path, before, run_here(registry, state=str(state), resume=True), undisturbed)
