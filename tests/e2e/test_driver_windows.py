"""The insurance example with its history, its merge and its change events, run for windows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.insurance_estate import BASIC, RANGE, REGISTRY, REPROCESS, Estate, copy_estate, generator

CLAIM = "extract_date,op,seq,claim_id,policy_id,incident_date,reported_on,amount,status,changed_at"


@pytest.fixture
def estate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Estate:
    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")
    copied = copy_estate(tmp_path, monkeypatch)
    generator().generate(copied.landing, scale=0.05)
    return copied


@pytest.mark.slow
def test_windows_over_an_estate_of_mixed_tables_change_their_own_rows_only(estate: Estate) -> None:
    assert estate.run(BASIC) == 0
    whole = estate.tables()
    assert len(whole) == 13 and all(whole.values())
    assert estate.run(RANGE) == 0
    assert estate.tables() == whole, "a window that is run again leaves the tables as they were"

    # Events arrive late: one of the window and one after it. A run for the window takes the first and not the second.
    policy = sorted(estate.column("silver/policies", "policy_id"))[0]
    late = [
        f"2026-02-08,I,900001,K900001,{policy},2026-02-03,2026-02-03,111.11,open,2026-02-03T12:00:00",
        f"2026-02-08,I,900002,K900002,{policy},2026-02-06,2026-02-06,222.22,open,2026-02-06T12:00:00",
    ]
    (estate.landing / "claims_cdc_2026-02-08_late.csv").write_text("\n".join([CLAIM, *late]) + "\n")
    assert estate.run(f"lakelogic-driver {REGISTRY} --layers bronze") == 0
    assert estate.run(f"{REPROCESS} --entities claims") == 0
    after = estate.tables()
    moved = {name for name in after if after[name] != whole[name]}
    assert moved == {"bronze/claims", "silver/claims", "gold/claims_daily", "gold/fact_claims", "gold/loss_ratio"}
    assert _ids(after["silver/claims"] - whole["silver/claims"]) == {"K900001"}
    assert not whole["silver/claims"] - after["silver/claims"]
    assert _ids(after["gold/fact_claims"] - whole["gold/fact_claims"]) == {"K900001"}


def _ids(rows: Counter[Any]) -> set[str]:
    return {value for row in rows for value in row if isinstance(value, str) and value.startswith("K")}
