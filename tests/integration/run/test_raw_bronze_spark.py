"""Change events kept as raw payloads are applied from there, and again after Silver was wiped."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core.clock import FixedClock
from lakelogic.core.settings import Settings
from lakelogic.run.reset import reset
from lakelogic.run.validate import load_checked

pytestmark = pytest.mark.spark

BRONZE = """\
dataset: bronze_users
info: { system: crm }
source: { path: landing, pattern: "*.jsonl", raw: true }
materialization: { target_path: lake/bronze }
"""
SILVER = """\
dataset: silver_users
source: { path: lake/bronze, format: delta, load_mode: cdc }
model:
  fields: [{ name: id, type: long }, { name: name, type: string }]
materialization: { strategy: cdc, primary_key: [id], target_path: lake/users }
"""


def event(op: str, lsn: int, id_: int, name: str | None, *, wrapped: bool = False) -> str:
    row = {"id": id_, "name": name}
    body = {
        "before": row if op == "d" else None,
        "after": None if op == "d" else row,
        "source": {"lsn": lsn, "ts_ms": 1_700_000_000_000 + lsn},
        "op": op,
        "ts_ms": 1_700_000_000_500 + lsn,
    }
    return json.dumps({"schema": {}, "payload": body} if wrapped else body)


DAYS = [
    [event("c", 1, 1, "Ann"), event("c", 2, 2, "Bob", wrapped=True), "not JSON"],
    [event("u", 5, 1, "Anna", wrapped=True), event("u", 4, 1, "stale"), event("c", 6, 3, "Cy")],
    [event("d", 7, 2, None), event("u", 8, 3, "Cyd")],
]


def users(folder: Path) -> dict[int, tuple[str | None, bool]]:
    table = DeltaTable(str(folder / "lake/users")).to_pyarrow_dataset().to_table()
    return {row["id"]: (row["name"], row["is_deleted"]) for row in table.to_pylist()}


def test_change_events_are_applied_from_raw_payloads_and_replayed(tmp_path: Path, spark_session: Any) -> None:
    bronze, silver = tmp_path / "bronze.yaml", tmp_path / "silver.yaml"
    bronze.write_text(BRONZE)
    silver.write_text(SILVER)
    (tmp_path / "landing").mkdir()
    rejected = 0
    for number, lines in enumerate(DAYS):
        (tmp_path / "landing" / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
        clock = FixedClock(datetime(2026, 11, number + 1, tzinfo=UTC))
        kept = DataProcessor(bronze, spark=spark_session, clock=clock).run()
        assert (kept.counts.accepted, kept.counts.quarantined) == (len(lines), 0)
        rejected += DataProcessor(silver, spark=spark_session, clock=clock).run().counts.quarantined
    before = users(tmp_path)
    assert {key: value for key, value in before.items() if not value[1]} == {1: ("Anna", False), 3: ("Cyd", False)}
    assert before[2][1] and rejected == 1
    reset(load_checked(silver), Settings(), lambda: spark_session)
    assert users(tmp_path) == {}
    again = DataProcessor(silver, spark=spark_session).run()
    assert (again.counts.read, again.counts.quarantined) == (8, 1)
    assert users(tmp_path) == before
    with pytest.raises(Exception, match=r"(?i)append"):
        spark_session.sql(f"DELETE FROM delta.`{tmp_path}/lake/bronze` WHERE source_system = 'crm'")
