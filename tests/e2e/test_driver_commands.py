"""The commands that the driver's documentation shows, as it shows them, over the insurance example.

What they do does not hang on the engine, so they run on DuckDB; `make demo` runs the example on Spark.
"""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest
import yaml
from tests.e2e.insurance_estate import (
    APPROVAL,
    BACKFILL,
    BOOTSTRAP,
    CACHED,
    EXAMPLE,
    OBSERVED,
    ONE_ENTITY,
    ONE_FILE,
    POLICY_PACK,
    REPROCESS,
    RESUME,
    SCRAPED,
    Estate,
    copy_estate,
    generator,
)

from lakelogic.contract import load_contract
from lakelogic.core.settings import Settings
from lakelogic.run.windows import find_intervals

DAYS = [f"2026-02-0{day}" for day in range(1, 8)]
POLICY = "extract_date,policy_id,customer_id,product,start_date,end_date,premium,status,updated_at"


@pytest.fixture
def estate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Estate:
    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")
    copied = copy_estate(tmp_path, monkeypatch)
    generator().generate(copied.landing, scale=0.05)
    return copied


def lines(estate: Estate, pattern: str) -> int:
    return sum(len(list(csv.DictReader(file.open(encoding="utf-8")))) for file in estate.landing.glob(pattern))


def changed(before: dict[str, object], after: dict[str, object]) -> set[str]:
    return {name for name in after if after[name] != before.get(name)}


def test_everything_one_entity_one_file_and_a_backfill(estate: Estate) -> None:
    # One file, named for a whole layer, is loaded by the contract that it belongs to.
    assert estate.run(ONE_FILE) == 0
    assert list(estate.tables()) == ["bronze/claims"]
    assert estate.rows("bronze/claims").total() == lines(estate, "claims_cdc_2026-02-06.csv")

    # All layers, what is new, and told to a table and to a file: what was loaded is not loaded again.
    assert estate.run(OBSERVED) == 0
    whole = estate.tables()
    logs = estate.example / "output" / "run_logs"
    with duckdb.connect(str(logs / "lakelogic_pipeline_runs.duckdb"), read_only=True) as connection:
        told = connection.sql("SELECT dataset, status FROM lakelogic.pipeline_runs").fetchall()
    assert len(told) == 13 and {status for _, status in told} == {"succeeded"}
    assert "silver_claims" in (logs / "pipeline_metrics.json").read_text()
    assert len(whole) == 13 and all(whole.values())
    for name, files in (("customers", "customers_*"), ("policies", "policies_*"), ("claims", "claims_cdc_*")):
        assert whole[f"bronze/{name}"].total() == lines(estate, files)

    # A week in windows of a day comes to the same, and can be repeated.
    assert estate.run(BACKFILL) == 0
    assert changed(whole, estate.tables()) == set()
    for name in ("customers", "policies", "claims"):
        contract = load_contract(estate.example / "contracts" / "insurance" / "bronze" / f"{name}.yaml")
        assert [str(entry.window) for entry in find_intervals(contract, Settings()).done] == DAYS

    # Silver and gold for some days, as when something came late that they have by now.
    assert estate.run(REPROCESS) == 0
    assert changed(whole, estate.tables()) == set()

    # Something of two entities arrives; only the entity that is asked for moves.
    values = "2026-02-08,P200001,C10001,MOTOR,2025-06-01,,777.77,active,2026-02-08T10:00:00"
    (estate.landing / "policies_2026-02-08.csv").write_text(f"{POLICY}\n{values}\n")
    claims = (estate.landing / "claims_cdc_2026-02-07.csv").read_bytes()
    (estate.landing / "claims_cdc_2026-02-08.csv").write_bytes(claims)
    assert estate.run(ONE_ENTITY) == 0
    moved = {"bronze/policies", "silver/policies", "gold/policies_by_product"}
    assert changed(whole, estate.tables()) == moved


TOO_FEW = "quality: { dataset_rules: [{ name: enough, row_count_between: { min: 1000000 } }] }\nmaterialization:"


def test_what_failed_is_resumed_and_what_a_gate_holds_waits_for_its_approval(estate: Estate) -> None:
    # Whether a scraper finds the port or somebody else has it, the data is loaded.
    assert estate.run(SCRAPED) == 0
    assert len(estate.tables()) == 13

    # Gold fails; when the rule is mended, a resumed run does gold and nothing else.
    daily = "gold/claims_daily.yaml"
    estate.edit(daily, "materialization:", TOO_FEW)
    assert estate.run(RESUME) == 5
    assert estate.runs("gold_claims_daily")[0].status == "gate_failed"
    silver_runs = len(estate.runs("silver_claims"))
    estate.edit(daily, "1000000", "1")
    assert estate.run(RESUME) == 0
    assert estate.runs("gold_claims_daily")[0].status == "succeeded"
    assert len(estate.runs("silver_claims")) == silver_runs
    assert estate.runs("gold_claims_daily")[0].pipeline_run_id == estate.runs("silver_claims")[0].pipeline_run_id

    # A batch behind a closed gate is held, readers see what they saw, and the right approval publishes it.
    version = estate.runs("gold_claims_daily")[0].target_version
    estate.edit(daily, "min: 1 }", "min: 1000000 }")
    assert estate.run(APPROVAL) == 5
    held = estate.runs("gold_claims_daily")[0]
    assert (held.status, estate.version("gold/claims_daily")) == ("held", version)
    where = "examples/insurance_elt/contracts/insurance/gold/claims_daily.yaml"
    file = "--approval-file approvals/2026-02-06.ok"
    assert estate.run(f"lakelogic approvals approve {held.run_id} {where} --by ann@example.com {file}") == 0
    assert estate.run(APPROVAL) == 0
    assert estate.version("gold/claims_daily") != version
    assert estate.runs("gold_claims_daily")[0].approved_by == "ann@example.com"

    # The policy packs that were applied are in the record of each silver table.
    assert estate.run(POLICY_PACK) == 0
    for name in ("customers", "policies", "claims"):
        assert "baseline_silver" in (estate.runs(f"silver_{name}")[0].policy_packs or "")

    # Tables are the same where references are read once for all.
    before = {name: estate.rows(f"silver/{name}") for name in ("customers", "policies", "claims")}
    assert estate.run(CACHED) == 0
    assert {name: estate.rows(f"silver/{name}") for name in before} == before


def test_contracts_can_be_had_from_the_landing_zone(estate: Estate) -> None:
    assert estate.run(BOOTSTRAP) == 0
    made = f"{EXAMPLE}/bootstrap_contracts"
    registry = yaml.safe_load((estate.folder / made / "_registry.yaml").read_text(encoding="utf-8"))
    assert len(registry["entries"]) == 3, "files that differ by their day are one dataset"
    assert estate.run(f"lakelogic validate {made}") == 0
    assert estate.run(f"lakelogic-driver --registry {made}/_registry.yaml") == 0
