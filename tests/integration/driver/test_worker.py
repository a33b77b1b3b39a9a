"""One contract of a pipeline run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from loguru import logger

from lakelogic.core.settings import Settings
from lakelogic.driver.engines import SharedEngines
from lakelogic.driver.worker import Request, run_member
from lakelogic.record.run_log import read_runs
from lakelogic.run import pipeline
from lakelogic.run.validate import load_checked

CONTRACT = "dataset: orders\nsource: { path: a.csv }\nmaterialization: { target_path: lake/orders }\n"


def test_an_unexpected_error_is_on_record_once_and_without_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a value of a row")

    monkeypatch.setattr(pipeline, "choose_slice", fail)
    (tmp_path / "contract.yaml").write_text(CONTRACT)
    settings = Settings(engine="duckdb")
    told: list[str] = []
    sink = logger.add(lambda line: told.append(str(line)), level="DEBUG")  # as a program of the user's may have it
    outcome = run_member(
        load_checked(tmp_path / "contract.yaml"), Request(settings), SharedEngines(settings).open, datetime.now(UTC)
    )
    logger.remove(sink)
    assert told and "a value of a row" not in "".join(told)
    assert (outcome.status, outcome.reason) == ("failed", "unexpected ValueError")
    (run,) = read_runs(str(tmp_path / "lake" / "_lakelogic"), limit=None)
    assert (run.status, run.error_code, run.error_message) == ("failed", "LL900", "unexpected ValueError")
