"""The commands that the driver's documentation shows, as it shows them, over the insurance example.

What they do does not hang on the engine, so they run on DuckDB; `test_driver_commands_spark.py` has those that do.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.e2e.insurance_estate import (
    BACKFILL,
    BASIC,
    ONE_ENTITY,
    ONE_FILE,
    Estate,
    copy_estate,
    generator,
    without_merges,
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
    without_merges(copied)
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

    # All layers, what is new: the file that was loaded is not loaded again.
    assert estate.run(BASIC) == 0
    whole = estate.tables()
    assert len(whole) == 13 and all(whole.values())
    for name, files in (("customers", "customers_*"), ("policies", "policies_*"), ("claims", "claims_cdc_*")):
        assert whole[f"bronze/{name}"].total() == lines(estate, files)

    # A week in windows of a day comes to the same, and can be repeated.
    assert estate.run(BACKFILL) == 0
    assert changed(whole, estate.tables()) == set()
    for name in ("customers", "policies", "claims"):
        contract = load_contract(estate.example / "contracts" / "insurance" / "bronze" / f"{name}.yaml")
        assert [str(entry.window) for entry in find_intervals(contract, Settings()).done] == DAYS

    # Something of two entities arrives; only the entity that is asked for moves.
    values = "2026-02-08,P200001,C10001,MOTOR,2025-06-01,,777.77,active,2026-02-08T10:00:00"
    (estate.landing / "policies_2026-02-08.csv").write_text(f"{POLICY}\n{values}\n")
    claims = (estate.landing / "claims_cdc_2026-02-07.csv").read_bytes()
    (estate.landing / "claims_cdc_2026-02-08.csv").write_bytes(claims)
    assert estate.run(ONE_ENTITY) == 0
    moved = {"bronze/policies", "silver/policies", "gold/policies_by_product"}
    assert changed(whole, estate.tables()) == moved
