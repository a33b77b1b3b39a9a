"""`runs` reads what the run log holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lakelogic.record.ledger import LedgerStep
from lakelogic.record.run_log import RuleRecord, RunRecord, append_run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    log = str(tmp_path / "lakehouse" / "_lakelogic")
    for number, status in enumerate(("succeeded", "failed"), start=1):
        record = RunRecord(
            run_id=f"run-{number}",
            dataset="customers",
            status=status,  # type: ignore[arg-type]
            started_at=datetime(2026, 3, number, tzinfo=UTC),
            duration_s=1.5,
            rows_read=4,
            rows_accepted=2,
            rows_quarantined=1,
            target="lakehouse/customers",
            target_version=0,
        )
        steps = [LedgerStep("filter", 4, 3, removed=1), LedgerStep("split", 3, 2, quarantined=1)]
        append_run(log, record, rules=[RuleRecord("email_is_there", failed=1)], steps=steps)
    append_run(log, RunRecord("other-1", "orders", "succeeded", started_at=datetime(2026, 3, 3, tzinfo=UTC)))
    (tmp_path / "contract.yaml").write_text(
        "dataset: customers\nsource: { path: a.csv }\nmodel: { fields: [{ name: a }] }\n"
        "materialization: { strategy: append, target_path: lakehouse/customers }\n"
    )
    return tmp_path


def test_a_folder_lists_all_runs_newest_first(lakelogic: Any, project: Path) -> None:
    listed = json.loads(lakelogic("runs", str(project), "--output", "json").stdout)
    assert [run["run_id"] for run in listed] == ["other-1", "run-2", "run-1"]


def test_a_contract_lists_its_own_runs(lakelogic: Any, project: Path) -> None:
    outcome = lakelogic("runs", str(project / "contract.yaml"), "--output", "json")
    assert [run["run_id"] for run in json.loads(outcome.stdout)] == ["run-2", "run-1"]


def test_limit_keeps_the_newest(lakelogic: Any, project: Path) -> None:
    listed = json.loads(lakelogic("runs", str(project), "--limit", "1", "--output", "json").stdout)
    assert [run["run_id"] for run in listed] == ["other-1"]


def test_show_tells_one_run_in_full(lakelogic: Any, project: Path) -> None:
    shown = json.loads(lakelogic("runs", "show", "run-1", str(project), "--output", "json").stdout)
    assert shown["counts"] == {"read": 4, "accepted": 2, "quarantined": 1}
    assert shown["rules"] == [{"name": "email_is_there", "failed": 1}]
    assert shown["ledger"][0] == {
        "step": "filter",
        "rows_in": 4,
        "rows_out": 3,
        "removed": 1,
        "added": 0,
        "quarantined": 0,
    }
    assert (
        "read 4 = accepted 2 + quarantined 1 + removed by steps 1"
        in lakelogic("runs", "show", "run-1", str(project)).stdout
    )


def test_a_beginning_that_fits_several_is_refused(lakelogic: Any, project: Path) -> None:
    outcome = lakelogic("runs", "show", "run", str(project))
    assert (outcome.code, "2 runs begin with `run`" in outcome.stderr) == (4, True)


def test_no_runs_is_said_and_is_no_error(lakelogic: Any, tmp_path: Path) -> None:
    outcome = lakelogic("runs", str(tmp_path))
    assert (outcome.code, outcome.stdout) == (0, "")
    assert "no runs recorded" in outcome.stderr
