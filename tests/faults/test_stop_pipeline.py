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
from tests.integration.driver.test_resilience import ENDLESS
from tests.integration.driver.test_resilience import estate as one_contract
from tests.integration.driver.test_resume import run as run_here

from lakelogic.core.settings import Settings
from lakelogic.driver.outcome import PipelineResult
from lakelogic.driver.worker import Request
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
    assert_survives_a_kill(tmp_path, Request(Settings(engine="duckdb")), undisturbed, moment)


@pytest.mark.kill
@pytest.mark.spark
def test_so_is_one_on_spark(tmp_path: Path, undisturbed: Any, spark_session: Any, spark_settings: Settings) -> None:
    asked = Request(spark_settings, engine="spark")
    assert_survives_a_kill(tmp_path, asked, undisturbed, "after_target_commit:3", spark_session)


def assert_survives_a_kill(folder: Path, asked: Request, undisturbed: Any, moment: str, session: Any = None) -> None:
    engine = asked.engine or "duckdb"
    registry = write_estate(folder, ENTITIES, engine=engine)
    killed = pipeline(registry, engine=engine, LAKELOGIC_FAULT=moment)
    assert killed.returncode == -9, killed.stderr
    logged = {record.dataset for record in runs(folder) if record.status == "succeeded"}
    before = {name for name in logged if not pending(folder, name)}
    assert len(before) < len(NAMES)
    assert_made_whole(folder, before, run_here(registry, resume=True, request=asked, session=session), undisturbed)


@pytest.mark.kill
@pytest.mark.parametrize("moment", ["after_stage:3", "after_target_commit:4"])
def test_a_pipeline_that_is_asked_to_end_does_so_cleanly(tmp_path: Path, undisturbed: Any, moment: str) -> None:
    assert_ends_cleanly(tmp_path, Request(Settings(engine="duckdb")), undisturbed, moment)


@pytest.mark.kill
@pytest.mark.spark
def test_so_does_one_on_spark(tmp_path: Path, undisturbed: Any, spark_session: Any, spark_settings: Settings) -> None:
    asked = Request(spark_settings, engine="spark")
    assert_ends_cleanly(tmp_path, asked, undisturbed, "after_stage:2", spark_session)


def assert_ends_cleanly(folder: Path, asked: Request, undisturbed: Any, moment: str, session: Any = None) -> None:
    engine = asked.engine or "duckdb"
    registry, state = write_estate(folder, ENTITIES, engine=engine), folder / "state.json"
    fault = {"LAKELOGIC_FAULT": moment, "LAKELOGIC_FAULT_MODE": "term"}
    stopped = pipeline(registry, "--state-path", str(state), engine=engine, **fault)
    assert stopped.returncode == 143, stopped.stderr
    told = {each["dataset"]: each["status"] for each in json.loads(stopped.stdout)["contracts"]}
    kept = {name: each["status"] for name, each in json.loads(state.read_text())["contracts"].items()}
    assert told == kept == {record.dataset: record.status for record in runs(folder)}
    assert set(told) == set(NAMES) and set(told.values()) <= {"succeeded", "interrupted", "skipped"}
    assert "skipped" in told.values()
    for name, status in told.items():
        assert status == "skipped" or not pending(folder, name)
        assert status == "succeeded" or not list((folder / "lake" / name).glob("batch-*"))
    before = {name for name, status in told.items() if status == "succeeded"}
    resumed = run_here(registry, state=str(state), resume=True, request=asked, session=session)
    assert_made_whole(folder, before, resumed, undisturbed)


@pytest.mark.kill
def test_a_run_that_is_asked_to_end_breaks_off_what_it_reads(tmp_path: Path) -> None:
    contracts = one_contract(tmp_path, ENDLESS, "{ retries: 3 }")
    command = [sys.executable, "-m", "lakelogic", "run", str(contracts / "numbers.yaml"), "--engine", "duckdb"]
    environ = {**os.environ, "LAKELOGIC_FAULT": "after_prepare", "LAKELOGIC_FAULT_MODE": "term"}
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 143, ended.stderr
    assert "LL418 interrupted by SIGTERM" in ended.stderr
    (run,) = runs(tmp_path)
    assert (run.status, run.error_code, run.attempt) == ("interrupted", "LL418", 1)
    assert not pending(tmp_path, "numbers") and not list((tmp_path / "lake").glob("numbers/batch-*"))
