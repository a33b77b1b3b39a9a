"""`runs` reads what the run log holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core.events import Event
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
    assert [(rule["name"], rule["failed"]) for rule in shown["rules"]] == [("email_is_there", 1)]
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


def test_a_beginning_that_fits_several_is_refused_with_the_candidates(lakelogic: Any, project: Path) -> None:
    outcome = lakelogic("runs", "show", "run", str(project))
    assert (outcome.code, "2 runs begin with `run`" in outcome.stderr) == (4, True)
    assert "run-2  customers, failed, 2026-03-02 00:00Z" in outcome.stderr
    assert "run-1  customers, succeeded, 2026-03-01 00:00Z" in outcome.stderr
    assert lakelogic("runs", "show", "nothing", str(project)).code == 4


def test_no_runs_is_said_and_is_no_error(lakelogic: Any, tmp_path: Path) -> None:
    outcome = lakelogic("runs", str(tmp_path))
    assert (outcome.code, outcome.stdout) == (0, "")
    assert "no runs recorded" in outcome.stderr


def _ids(outcome: Any) -> list[str]:
    return [run["run_id"] for run in json.loads(outcome.stdout)]


def test_runs_are_filtered_by_dataset_status_and_age(lakelogic: Any, project: Path) -> None:
    log = str(project / "lakehouse" / "_lakelogic")

    def listed(*options: str) -> list[str]:
        return _ids(lakelogic("runs", str(project), *options, "--output", "json"))

    assert listed("--dataset", "orders") == ["other-1"]
    assert listed("--status", "failed") == ["run-2"]
    assert listed("--status", "succeeded", "--dataset", "customers") == ["run-1"]
    assert listed("--since", "2026-03-02") == ["other-1", "run-2"]
    assert listed("--since", "2026-03-02T00:00:01+00:00") == ["other-1"]
    append_run(log, RunRecord("now-1", "orders", "succeeded", started_at=datetime.now(UTC)))
    assert listed("--since", "1d") == ["now-1"]
    assert listed("--since", "2h", "--status", "failed") == []


def test_a_contract_has_no_runs_of_another_dataset(lakelogic: Any, project: Path) -> None:
    outcome = lakelogic("runs", str(project / "contract.yaml"), "--dataset", "orders")
    assert (outcome.code, outcome.stdout) == (0, "")
    assert "no such runs recorded" in outcome.stderr


@pytest.mark.parametrize("since", ["soon", "7", "2026-13-01"])
def test_an_age_that_is_none_is_refused(since: str, lakelogic: Any, project: Path) -> None:
    outcome = lakelogic("runs", str(project), "--since", since)
    assert (outcome.code, "--since" in outcome.stderr) == (2, True)


def test_show_tells_an_error_with_its_hint_and_the_attempts_before(lakelogic: Any, tmp_path: Path) -> None:
    log = str(tmp_path / "_lakelogic")
    start = datetime(2026, 3, 1, tzinfo=UTC)
    failed = RunRecord(
        "r-1", "orders", "failed", started_at=start, finished_at=start, error_code="LL444",
        error_message="the disk is full", error_place="c.yaml:3:1", error_hint="make room",
    )  # fmt: skip
    append_run(log, failed)
    text = lakelogic("runs", "show", "r-", str(tmp_path)).stdout
    assert "c.yaml:3:1: LL444 the disk is full" in text
    assert "make room" in text
    append_run(log, RunRecord("r-1", "orders", "succeeded", started_at=start, finished_at=datetime.now(UTC)))
    shown = json.loads(lakelogic("runs", "show", "r-1", str(tmp_path), "--output", "json").stdout)
    assert (shown["status"], shown["error"]) == ("succeeded", None)
    assert [(a["status"], a["error"]["code"]) for a in shown["earlier_attempts"]] == [("failed", "LL444")]


def test_runs_of_one_id_are_told_apart_by_dataset(lakelogic: Any, tmp_path: Path) -> None:
    log = str(tmp_path / "_lakelogic")
    for dataset in ("orders", "customers"):
        append_run(log, RunRecord("r-1", dataset, "succeeded", started_at=datetime(2026, 3, 1, tzinfo=UTC)))
    assert lakelogic("runs", "show", "r-1", str(tmp_path)).code == 4
    outcome = lakelogic("runs", "show", "r-1", str(tmp_path), "--dataset", "orders", "--output", "json")
    assert json.loads(outcome.stdout)["dataset"] == "orders"


def test_the_shape_of_show_is_the_one_that_is_documented(lakelogic: Any, project: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "run_log.md"
    table = page.read_text(encoding="utf-8").partition("| key | value |")[2].partition("\n\n")[0]
    keys = {
        key: re.findall(r"`(\w+)`", value)
        for line in table.splitlines()[2:]
        for names, value in [line.strip("| ").split(" | ")]
        for key in re.findall(r"`(\w+)`", names)
    }
    log = str(project / "lakehouse" / "_lakelogic")
    record = RunRecord(
        "full-1", "orders", "gate_failed", datetime(2026, 3, 4, tzinfo=UTC), rows_inserted=1, error_code="LL500",
        window_start=datetime(2026, 3, 1, tzinfo=UTC), window_end=datetime(2026, 3, 2, tzinfo=UTC), window_zone="UTC",
        policy_packs='[{"name": "p", "file": "p.yaml", "digest": "sha256:0"}]',
    )  # fmt: skip
    rules = [RuleRecord("a"), RuleRecord("b", "dataset"), RuleRecord("c", "gate")]
    append_run(log, replace(record, status="failed", finished_at=datetime(2026, 3, 4, tzinfo=UTC)))
    append_run(
        log, replace(record, finished_at=datetime(2026, 3, 5, tzinfo=UTC)), rules=rules,
        steps=[LedgerStep("read", 1, 1)], events=[Event("e", "m")],
    )  # fmt: skip
    shown = json.loads(lakelogic("runs", "show", "full", str(project), "--output", "json").stdout)
    assert list(keys) and set(shown) == set(keys)
    for key, value in shown.items():
        inner = value[0] if isinstance(value, list) else value
        if isinstance(inner, dict):
            assert set(inner) == set(keys[key]), key
    assert set(json.loads(lakelogic("runs", "show", "other", str(project), "--output", "json").stdout)) == set(keys)


def test_a_registry_lists_the_runs_of_its_contracts(lakelogic: Any, project: Path) -> None:
    (project / "elsewhere").mkdir()
    (project / "elsewhere" / "returns.yaml").write_text(
        "dataset: returns\nsource: { path: a.csv }\nmodel: { fields: [{ name: a }] }\n"
        "materialization: { strategy: append, target_path: ../lake/returns }\n"
    )
    registry = project / "_registry.yaml"
    registry.write_text(
        "entries:\n"
        "  - { entity: customers, contracts: { bronze: contract.yaml } }\n"
        "  - { entity: returns, contracts: { bronze: elsewhere/returns.yaml } }\n"
    )
    at = datetime(2026, 3, 2, 1, tzinfo=UTC)
    append_run(str(project / "lake" / "_lakelogic"), RunRecord("ret-1", "returns", "skipped", started_at=at))
    assert _ids(lakelogic("runs", str(registry), "--output", "json")) == ["ret-1", "run-2", "run-1"]
    assert _ids(lakelogic("runs", str(registry), "--dataset", "returns", "--output", "json")) == ["ret-1"]
    assert _ids(lakelogic("runs", str(registry), "--dataset", "orders", "--output", "json")) == []
    assert lakelogic("runs", "show", "ret", str(registry)).code == 0
