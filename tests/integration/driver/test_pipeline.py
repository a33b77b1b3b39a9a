"""Estates through the scheduler: order, failures that hold back what builds on them, and runs that go on later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.integration.driver.estates import land, write_estate

from lakelogic import DataProcessor
from lakelogic.core.errors import ContractError
from lakelogic.core.settings import Settings
from lakelogic.driver.checks import build_dag
from lakelogic.driver.dry_run import plan_pipeline
from lakelogic.driver.estate import read_estate
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.outcome import PipelineResult
from lakelogic.driver.pipeline import Order, Prepared, prepare, run_pipeline
from lakelogic.driver.select import Selection
from lakelogic.driver.worker import Request
from lakelogic.record.run_log import RunRecord, read_runs
from lakelogic.run.windows import Span

SETTINGS = Settings(engine="duckdb")
REQUEST = Request(SETTINGS)
GOES_ON = Order(max_workers=4, continue_on_error=True)


def ready(registry: Path, wanted: Selection | None = None, request: Request = REQUEST, **how: Any) -> Prepared:
    estate = read_estate([registry], settings=SETTINGS)
    return prepare(estate, wanted or Selection(), request, Order(), Wanted(**how))


def run(registry: Path, wanted: Selection | None = None, order: Order = GOES_ON) -> PipelineResult:
    return run_pipeline(ready(registry, wanted), REQUEST, order)


def statuses(result: PipelineResult) -> dict[str, str]:
    return {name: outcome.status for name, outcome in result.outcomes.items()}


def logged(folder: Path) -> dict[str, RunRecord]:
    """The newest run of each dataset."""
    newest: dict[str, RunRecord] = {}
    for record in read_runs(str(folder / "lake" / "_lakelogic"), limit=None):
        newest.setdefault(record.dataset, record)
    return newest


def rows(folder: Path, name: str) -> int:
    return DeltaTable(str(folder / "lake" / name)).to_pyarrow_table().num_rows


def test_sixty_contracts_run_after_what_they_build_on_and_a_failure_is_made_good_by_the_next_run(
    tmp_path: Path,
) -> None:
    registry = write_estate(tmp_path, 18, facts=5)
    broken = tmp_path / "contracts" / "bronze_e004.yaml"
    text = broken.read_text()
    broken.write_text(
        text.replace("load_mode: incremental }", "load_mode: incremental, on_empty: fail }").replace(
            'e004"', 'none"', 1
        )
    )
    gated = tmp_path / "contracts" / "silver_e007.yaml"
    gated_text = gated.read_text()
    gated.write_text(gated_text.replace("quality: {", "quality: { max_quarantine_ratio: 0.1,"))

    first = run(registry)
    assert len(first.outcomes) == 60 and first.exit_code == 4
    below = build_dag(read_estate([registry], settings=SETTINGS))
    held = below.descendants("bronze_e004") | below.descendants("silver_e007")
    bad = {"bronze_e004": "failed", "silver_e007": "gate_failed", **dict.fromkeys(held, "skipped")}
    assert {name: status for name, status in statuses(first).items() if status != "succeeded"} == bad
    assert held == {"silver_e004", "gold_e004", "gold_e007", "gold_fact_1", "gold_fact_2"}

    log = logged(tmp_path)
    assert {name: record.status for name, record in log.items()} == statuses(first)
    assert log["gold_e004"].reason is not None and "upstream `bronze_e004` failed" in log["gold_e004"].reason
    assert log["gold_e007"].reason is not None and "was stopped by a gate" in log["gold_e007"].reason
    for edge in below.edges:
        above, this = log[edge.upstream], log[edge.downstream]
        ended = above.finished_at
        assert this.status == "skipped" or (ended is not None and ended <= this.started_at)

    broken.write_text(text)
    gated.write_text(gated_text)
    second = run(registry)
    again = {"bronze_e004", "silver_e007", *held}
    assert second.exit_code == 0
    assert {name for name, status in statuses(second).items() if status == "succeeded"} == again
    assert set(statuses(second).values()) == {"succeeded", "no_new_data"}
    assert {rows(tmp_path, f"gold_e{number:03d}") for number in range(18)} == {2}
    assert rows(tmp_path, "silver_e004_quarantine") == 1

    land(tmp_path, "e002", "day2.csv", [(4, "XX", 5)])
    third = run(registry, Selection(select=("bronze_e002+",)), Order(max_workers=2, strict_layers=True))
    assert statuses(third)["silver_e002"] == statuses(third)["gold_e002"] == "succeeded"
    names = DeltaTable(str(tmp_path / "lake" / "gold_e002")).to_pyarrow_table()["country_name"].to_pylist()
    assert sorted(names) == ["France", "Germany", "Unknown"]


def test_without_leave_to_go_on_the_rest_is_not_started(tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 2)
    (tmp_path / "landing" / "countries.csv").write_text("name\nGermany\n")
    result = run(registry, order=Order(max_workers=1))
    assert result.outcomes["ref_countries"].status == "failed"
    others = {outcome.status for name, outcome in result.outcomes.items() if name != "ref_countries"}
    assert (others, result.exit_code) == ({"skipped"}, 4)
    assert {record.status for record in logged(tmp_path).values()} == {"failed", "skipped"}


def test_what_is_switched_off_does_not_run_and_holds_back(tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 3, facts=1)
    registry.write_text(registry.read_text().replace("entity: e001\n", "entity: e001\n    enabled: false\n"))
    result = run(registry)
    assert statuses(result).keys().isdisjoint({"bronze_e001", "silver_e001", "gold_e001"})
    assert statuses(result)["gold_fact_0"] == "skipped"
    reason = result.outcomes["gold_fact_0"].reason
    assert reason is not None and "upstream `gold_e001` is switched off" in reason
    assert result.exit_code == 0


def test_overrides_are_for_the_chosen_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = write_estate(tmp_path, 2)
    land(tmp_path, "special", "fix.csv", [(9, "DE", 1)])
    monkeypatch.chdir(tmp_path)
    chosen = ready(
        registry, Selection(layers=("bronze",), entities=("e001",)), overrides=("source.path=landing/special",)
    )
    result = run_pipeline(chosen, REQUEST, GOES_ON)
    assert statuses(result) == {"bronze_e001": "succeeded"}
    assert rows(tmp_path, "bronze_e001") == 1


def test_a_dry_run_tells_the_order_and_touches_nothing(tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 2)
    planned = plan_pipeline(ready(registry), REQUEST, GOES_ON)
    waves = {each.dataset: each.wave for each in planned}
    assert (waves["bronze_e000"], waves["silver_e000"], waves["gold_e000"]) == (1, 2, 3)
    by_name = {each.dataset: each for each in planned}
    assert by_name["bronze_e000"].reads.endswith(
        "landing/e000: 1 file, full load of 1 file: no batch was committed before"
    )
    assert by_name["silver_e000"].reads == "what `bronze_e000` writes"
    assert set(by_name["silver_e000"].after) == {"bronze_e000", "ref_countries"}
    assert by_name["gold_e000"].writes.startswith("append -> ")
    assert not (tmp_path / "lake").exists()


def test_windows_that_a_contract_cannot_have_are_refused_before_anything_runs(tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 1)
    request = replace(REQUEST, window="range", span=Span(date(2026, 2, 1), date(2026, 2, 5)))
    with pytest.raises(ContractError) as error:
        ready(registry, request=request)
    # The reference table has no dates either, and is brought up to date; appended rows could only be doubled.
    assert len(error.value.problems) == 3
    assert all("a window needs to know the date of a row" in problem.message for problem in error.value.problems)


def test_a_contract_by_itself_inherits_and_links_as_in_a_pipeline(tmp_path: Path) -> None:
    together, alone = tmp_path / "together", tmp_path / "alone"
    run(write_estate(together, 1))
    contracts = write_estate(alone, 1).parent
    for name in ("ref_countries", "bronze_e000", "silver_e000", "gold_e000"):
        with DataProcessor(contracts / f"{name}.yaml", settings=SETTINGS) as processor:
            assert (processor.run().status, processor.contract.info.owner) == ("succeeded", "sales@example.com")
    tables = [DeltaTable(str(each / "lake" / "gold_e000")).to_pyarrow_table() for each in (together, alone)]
    wanted = ["id", "country_name", "amount"]
    assert tables[0].select(wanted).sort_by("id") == tables[1].select(wanted).sort_by("id")
    with DataProcessor(contracts / "silver_e000.yaml", settings=SETTINGS) as processor:
        assert processor.run().status == "no_new_data"


Lakelogic = Callable[..., Any]


@pytest.fixture
def lakelogic(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lakelogic:
    import sys

    from lakelogic.cli.driver import main

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lakelogic-driver", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


def test_the_command_runs_registries_and_ends_with_the_code_of_the_worst(tmp_path: Path, lakelogic: Lakelogic) -> None:
    registry = write_estate(tmp_path, 1)
    common = ("--registry", str(registry), "--engine", "duckdb", "--output", "json")
    code, out, _ = lakelogic(*common, "--layers", "reference,bronze", "--window", "last_success", "--dry-run")
    assert (code, [each["dataset"] for each in json.loads(out)]) == (0, ["ref_countries", "bronze_e000"])
    code, out, _ = lakelogic(*common, "--layers", "reference,bronze,silver,gold", "--window", "last_success")
    told = json.loads(out)
    assert (code, told["exit_code"]) == (0, 0)
    assert {each["dataset"]: each["accepted"] for each in told["contracts"]} == {
        "ref_countries": 2, "bronze_e000": 3, "silver_e000": 2, "gold_e000": 2,
    }  # fmt: skip
    land(tmp_path, "e000", "day2.csv", [(5, "DE", -5), (6, "DE", -6)])
    silver = tmp_path / "contracts" / "silver_e000.yaml"
    silver.write_text(silver.read_text().replace("quality: {", "quality: { max_quarantine_ratio: 0.1,"))
    code, out, _ = lakelogic(*common, "--continue-on-error")
    assert (code, json.loads(out)["exit_code"]) == (5, 5)
    code, _, err = lakelogic(*common, "--layers", "platinum")
    assert (code, "there is no layer `platinum`" in err) == (2, True)


def test_policy_packs_are_for_the_chosen_contracts_and_on_record(lakelogic: Lakelogic, tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 1)
    packs = tmp_path / "packs"
    packs.mkdir()
    (packs / "strict.yaml").write_text("defaults: { quality: { max_quarantine_ratio: 0.0 } }\n")
    common = ("--registry", str(registry), "--engine", "duckdb", "--output", "json")
    assert lakelogic(*common, "--layers", "reference,bronze")[0] == 0
    chosen = (*common, "--layers", "silver", "--policy-pack-dir", str(packs))
    code, _, err = lakelogic(*chosen, "--policy-pack", "strickt")
    assert (code, "LL123" in err, "did you mean `strict`?" in err) == (2, True, True)
    # The one bad row closes the gate that the pack has, and no other.
    code, _, _ = lakelogic(*chosen, "--policy-pack", "strict")
    record = logged(tmp_path)["silver_e000"]
    digest = "sha256:" + hashlib.sha256((packs / "strict.yaml").read_bytes()).hexdigest()
    assert (code, record.status) == (5, "gate_failed")
    assert json.loads(record.policy_packs or "") == [
        {"name": "strict", "file": str(packs / "strict.yaml"), "digest": digest}
    ]
    assert logged(tmp_path)["bronze_e000"].policy_packs is None
    assert lakelogic(*chosen)[0] == 0
    assert logged(tmp_path)["silver_e000"].policy_packs is None
