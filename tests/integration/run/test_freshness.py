"""Upstreams that are older than they may be: a gate, a warning, or a reason to skip."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.integration.driver.estates import land, write_estate

from lakelogic import DataProcessor
from lakelogic.core.clock import FixedClock
from lakelogic.core.settings import Settings
from lakelogic.core.window import window_of_days
from lakelogic.driver.checks import check_estate
from lakelogic.driver.estate import read_estate
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.outcome import PipelineResult
from lakelogic.driver.pipeline import Order, prepare, run_pipeline
from lakelogic.driver.select import Selection
from lakelogic.driver.worker import Request
from lakelogic.record.run_log import RunRecord, append_run, read_events, read_rules, read_runs
from lakelogic.run.reset import reset
from lakelogic.run.validate import load_checked

UP = """\
dataset: up
source: { path: up.csv, load_mode: incremental }
model: { fields: [{ name: id, type: long }] }
materialization: { target_path: lake/up }
"""
DOWN = """\
dataset: down
upstream: [{{ dataset: up, freshness: {{ max_age: 6h, on_stale: {on_stale} }} }}]
source: {{ path: lake/up, format: delta, load_mode: incremental }}
model: {{ fields: [{{ name: id, type: long }}] }}
materialization: {{ target_path: other/down }}
"""
REGISTRY = "entries:\n  - { entity: a, contracts: { bronze: up.yaml, silver: down.yaml } }\n"
NEVER = "upstream `up` is stale: it was never loaded, or was reset since (max_age 6h)"
OLD = "upstream `up` is stale: up to date 7 h N min ago, and max_age is 6h"


def _run(folder: Path, name: str, hours: float = 0, on_stale: str = "block") -> Any:
    """Some hours from now."""
    (folder / "down.yaml").write_text(DOWN.format(on_stale=on_stale))
    clock = FixedClock(datetime.now(UTC) + timedelta(hours=hours))
    with DataProcessor(folder / f"{name}.yaml", "duckdb", clock=clock) as processor:
        return processor.run()


def _whole(text: str | None) -> str:
    """Without the minutes, which depend on how long the test itself takes."""
    return re.sub(r"\d+ min", "N min", text or "")


def _down(folder: Path, hours: float = 0) -> dict[str, str]:
    return {what: _run(folder, "down", hours, what).status for what in ("block", "skip", "warn")}


def test_age_counts_from_the_last_commit_or_the_last_run_that_found_nothing_new(tmp_path: Path) -> None:
    (tmp_path / "up.yaml").write_text(UP)
    (tmp_path / "_registry.yaml").write_text(REGISTRY)
    (tmp_path / "up.csv").write_text("id\n1\n")
    never = _run(tmp_path, "down")
    assert (never.status, never.reason) == ("gate_failed", NEVER)
    assert _run(tmp_path, "down", on_stale="skip").status == "skipped"
    assert _run(tmp_path, "up").status == "succeeded"
    assert _run(tmp_path, "down").status == "succeeded"

    log, blocked = str(tmp_path / "other" / "_lakelogic"), _run(tmp_path, "down", 7)
    assert (blocked.status, blocked.stopped, _whole(blocked.reason)) == ("gate_failed", True, OLD)
    (run,) = read_runs(log, run_id=blocked.run_id)
    assert (run.error_code, run.rows_read, _whole(run.reason)) == ("LL503", None, OLD)
    (gate,) = read_rules(log, run_id=blocked.run_id)
    assert (gate.name, gate.passed, gate.maximum) == ("upstream.up.freshness", False, 6 * 3600)
    skipped = _run(tmp_path, "down", 7, "skip")
    assert (skipped.status, skipped.stopped) == ("skipped", False) and _whole(skipped.to_dict()["reason"]) == OLD
    (run,) = read_runs(log, run_id=skipped.run_id)
    assert (run.status, run.error_code, _whole(run.reason)) == ("skipped", None, OLD)
    warned = _run(tmp_path, "down", 7, "warn")
    assert (warned.status, [_whole(each) for each in warned.warnings]) == ("no_new_data", [OLD])
    (event,) = read_events(log, run_id=warned.run_id)
    assert (event.kind, event.severity, event.detail["upstream"]) == ("stale_upstream", "warning", "up")

    # A window without rows says nothing about today; a plain run does.
    at, window = datetime.now(UTC) + timedelta(hours=6), window_of_days(date(2020, 1, 1))
    looked = RunRecord("r", "up", "no_new_data", at, at, window_start=window.start, window_end=window.end)
    append_run(str(tmp_path / "lake" / "_lakelogic"), looked)
    assert _down(tmp_path, 8) == {"block": "gate_failed", "skip": "skipped", "warn": "no_new_data"}
    assert _run(tmp_path, "up", 7).status == "no_new_data"
    assert _down(tmp_path, 8) == dict.fromkeys(("block", "skip", "warn"), "no_new_data")
    reset(load_checked(tmp_path / "up.yaml"), Settings())
    assert _run(tmp_path, "down").reason == NEVER


def test_a_contract_without_a_target_and_one_that_no_registry_knows_are_judged_too(tmp_path: Path) -> None:
    (tmp_path / "up.csv").write_text("id\n1\n")
    text = DOWN.format(on_stale="block").replace("path: lake/up, format: delta, load_mode: incremental", "path: up.csv")
    (tmp_path / "check.yaml").write_text(text.partition("materialization")[0])
    assert _run(tmp_path, "check").reason == NEVER
    (tmp_path / "beside.yaml").write_text(text.replace("other/down", "lake/down"))
    (tmp_path / "up.yaml").write_text(UP)
    assert (_run(tmp_path, "beside").reason, _run(tmp_path, "up").status) == (NEVER, "succeeded")
    assert _run(tmp_path, "beside").status == "succeeded"


def _pipeline(registry: Path, on_stale: str, hours: float = 0, **chosen: tuple[str, ...]) -> PipelineResult:
    silver = registry.parent / "silver_e000.yaml"
    kept = [line for line in silver.read_text().splitlines() if not line.startswith("upstream")]
    policy = f"upstream: [{{ dataset: ref_countries, freshness: {{ max_age: 6h, on_stale: {on_stale} }} }}]"
    silver.write_text("\n".join([*kept, policy, ""]))
    clock = FixedClock(datetime.now(UTC) + timedelta(hours=hours))
    request, order = Request(Settings(engine="duckdb"), clock=clock), Order(2, continue_on_error=True)
    estate = read_estate([registry], settings=request.settings)
    return run_pipeline(prepare(estate, Selection(**chosen), request, order, Wanted()), request, order)


def _ends(result: PipelineResult) -> tuple[int, list[str]]:
    names = ("ref_countries", "silver_e000", "gold_e000")
    return result.exit_code, [result.outcomes[name].status for name in names if name in result.outcomes]


def test_in_a_pipeline_the_age_decides_also_where_the_upstream_failed(tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 1)
    assert _ends(_pipeline(registry, "block")) == (0, ["succeeded"] * 3)
    (tmp_path / "landing" / "countries.csv").write_text("name\nGermany\n")
    land(tmp_path, "e000", "day2.csv", [(4, "DE", 40)])
    # Young enough: what is there is good enough.
    assert _ends(_pipeline(registry, "block", 5)) == (4, ["failed", "succeeded", "succeeded"])
    land(tmp_path, "e000", "day3.csv", [(5, "DE", 50)])
    # A failure wins over a gate.
    assert _ends(_pipeline(registry, "block", 7)) == (4, ["failed", "gate_failed", "skipped"])
    assert _ends(_pipeline(registry, "block", 7, exclude=("ref_countries",))) == (5, ["gate_failed", "skipped"])
    skipped = _pipeline(registry, "skip", 7, exclude=("ref_countries",))
    assert _ends(skipped) == (0, ["skipped", "no_new_data"])
    assert (skipped.outcomes["silver_e000"].reason or "").startswith("upstream `ref_countries` is stale")
    assert _ends(_pipeline(registry, "warn", 7, exclude=("ref_countries",))) == (0, ["succeeded", "succeeded"])


def test_the_age_of_what_something_else_writes_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "down.yaml").write_text(DOWN.format(on_stale="block"))
    registry = "external: [up]\nentries:\n  - { entity: a, contracts: { silver: down.yaml } }\n"
    (tmp_path / "_registry.yaml").write_text(registry)
    checked, _ = check_estate(read_estate([tmp_path / "_registry.yaml"], settings=Settings()))
    (problem,) = checked.problems
    assert (problem.code, problem.place is not None and problem.place.line) == ("LL188", 2)
