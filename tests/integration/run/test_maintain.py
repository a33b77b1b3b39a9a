"""Upkeep changes no row, leaves what others need, and does nothing where nothing is needed."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import PlanError
from lakelogic.core.settings import Settings
from lakelogic.run.maintain import Step, maintain
from lakelogic.run.validate import load_checked, validate_contract

CONTRACT = """\
dataset: orders
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model:
  fields:
    - { name: order_id, type: long, required: true }
    - { name: amount, type: "decimal(10,2)" }
    - { name: day, type: date }
quality: { row_rules: [{ name: positive, sql: "amount > 0" }] }
quarantine: { retention: 30d }
materialization:
  target_path: lake/orders
"""


def estate(folder: Path, more: str = "", batches: int = 5) -> Path:
    contract = folder / "contract.yaml"
    contract.write_text(CONTRACT + more)
    for number in range(batches):
        load(contract, number)
    return contract


def load(contract: Path, number: int, **environ: str) -> Any:
    landing = contract.parent / "landing"
    landing.mkdir(exist_ok=True)
    (landing / f"{number:02}.csv").write_text(
        f"order_id,amount,day\n{number},1,2026-01-0{number % 2 + 1}\n9{number},-1,\n"
    )
    with DataProcessor(contract, engine="duckdb", environ={**os.environ, **environ}) as processor:
        return processor.run()


def keep(contract: Path, *, days: float = 0, **more: Any) -> dict[tuple[str, str], Step]:
    clock = FixedClock(datetime.now(UTC) + timedelta(days=days))
    return {(s.table, s.action): s for s in maintain(load_checked(contract), Settings(), clock=clock, **more)}


def table(contract: Path, name: str = "orders") -> DeltaTable:
    return DeltaTable(str(contract.parent / "lake" / name))


def rows(contract: Path, name: str = "orders") -> Counter[str]:
    return Counter(str(sorted(row.items(), key=str)) for row in table(contract, name).to_pyarrow_table().to_pylist())


def states(steps: dict[tuple[str, str], Step], *, of: str) -> dict[str, str]:
    return {action: step.state for (name, action), step in steps.items() if name == of}


def test_small_files_are_put_together_once(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    before, app = rows(contract), table(contract).transaction_version("lakelogic:orders")
    version = table(contract).version()
    planned = keep(contract, dry_run=True)
    assert (planned["target", "compact"].state, table(contract).version()) == ("needed", version)
    assert planned["target", "compact"].evidence.startswith("5 files, ")
    steps = keep(contract)
    assert steps["target", "compact"].result == {"files_removed": 5, "files_added": 1}
    assert states(steps, of="quarantine") == {
        "compact": "done", "vacuum": "not needed", "orphans": "not needed", "log": "not needed",
        "retention": "not needed",
    }  # fmt: skip
    assert steps["journal", "compact"].state == "done"
    assert (rows(contract), table(contract).transaction_version("lakelogic:orders")) == (before, app)
    again = keep(contract)
    assert {step.state for step in again.values()} == {"not needed"}
    assert load(contract, 7).counts.accepted == 1
    assert sum(rows(contract).values()) == 6


def test_old_rejected_rows_and_long_logs_go_when_their_time_has_come(tmp_path: Path) -> None:
    contract = estate(tmp_path, batches=2)
    before = rows(contract)
    for number in range(9):
        table(contract).alter.set_table_properties({"note": str(number)}, raise_if_not_exists=False)
    assert keep(contract)["quarantine", "retention"].state == "not needed"
    steps = keep(contract, days=31)
    assert steps["quarantine", "retention"].result == {"rows_deleted": 2}
    assert rows(contract, "orders_quarantine") == Counter()
    assert list((tmp_path / "lake/orders/_delta_log").glob("*.checkpoint.parquet")) != []
    assert (rows(contract), table(contract).transaction_version("lakelogic:orders")) == (before, 2)
    assert load(contract, 20).counts.accepted == 1


def test_short_retention_removes_files_that_only_old_versions_need(tmp_path: Path) -> None:
    contract = estate(tmp_path, "  maintenance: { vacuum_retain: 0h }\n")
    with pytest.raises(PlanError) as raised:
        keep(contract)
    assert raised.value.problem.code == "LL370"
    before = rows(contract)
    steps = keep(contract, short_retention=True)
    assert steps["target", "vacuum"].evidence == "5 files that no version of the last 0 h needs"
    assert len(list((tmp_path / "lake/orders").rglob("*.parquet"))) == 1
    assert keep(contract, short_retention=True)["target", "vacuum"].state == "not needed"
    assert rows(contract) == before


def test_files_are_sorted_again_only_where_new_ones_came(tmp_path: Path) -> None:
    contract = estate(tmp_path, "  partition_by: [day]\n  cluster_by: [order_id]\n")
    before = rows(contract)
    first = keep(contract)["target", "zorder"]
    assert (first.evidence, first.state) == ("5 files, never sorted by order_id", "done")
    assert first.result == {"files_removed": 5, "files_added": 2}
    assert keep(contract)["target", "zorder"].state == "not needed"
    load(contract, 6)
    again = keep(contract)["target", "zorder"]
    assert again.evidence == "1 of 3 files are newer than the last sort by order_id"
    assert again.result == {"files_removed": 2, "files_added": 1}
    assert sum(rows(contract).values()) == sum(before.values()) + 1


def test_orphans_go_and_files_of_pending_batches_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contract = estate(tmp_path, batches=1)
    sibling = tmp_path / "sibling.yaml"
    sibling.write_text(contract.read_text().replace("dataset: orders", "dataset: sibling"))
    with monkeypatch.context() as faulty:
        faulty.setattr("lakelogic.core.faults._reached", Counter())
        faulty.setenv("LAKELOGIC_FAULT", "after_mark_staged")
        faulty.setenv("LAKELOGIC_FAULT_MODE", "raise")
        with pytest.raises(OSError, match="fault injected"):
            load(sibling, 3)
    lake = tmp_path / "lake/orders"
    orphan = lake / "batch-00000009-dead" / "x.parquet"
    orphan.parent.mkdir()
    orphan.write_bytes(next(lake.rglob("*.parquet")).read_bytes())
    assert keep(contract, dry_run=True)["target", "orphans"].state == "not needed"
    old = datetime.now(UTC).timestamp() - 48 * 3600
    for file in lake.rglob("*.parquet"):
        os.utime(file, (old, old))
    step = keep(contract)["target", "orphans"]
    assert step.evidence == "1 files of batches that were given up over 24 h ago"
    assert not orphan.parent.exists()
    with DataProcessor(sibling, engine="duckdb") as processor:
        assert processor.run().status == "succeeded"
    assert sum(rows(contract).values()) == 3


def test_words_and_columns_are_checked_at_load_time(tmp_path: Path) -> None:
    contract = tmp_path / "contract.yaml"
    more = "  partition_by: [day]\n  maintenance: { optimize: sometimes, zorder_by: [day, order_idd] }\n"
    contract.write_text(CONTRACT + more)
    assert [problem.code for problem in validate_contract(contract)] == ["LL112", "LL175", "LL220"]
    contract.write_text(CONTRACT + more.replace("sometimes", "weekly"))
    assert [problem.code for problem in validate_contract(contract)] == ["LL175", "LL220"]


def test_two_datasets_may_write_to_one_table(tmp_path: Path) -> None:
    contract = estate(tmp_path, batches=2)
    sibling = tmp_path / "sibling.yaml"
    sibling.write_text(contract.read_text().replace("dataset: orders", "dataset: sibling"))
    for _ in range(2):
        with DataProcessor(sibling, engine="duckdb") as processor:
            processor.run()
    assert sum(rows(contract).values()) == 4


def test_a_lost_journal_is_a_full_load_and_loses_nothing(tmp_path: Path) -> None:
    contract = estate(tmp_path, batches=2)
    shutil.rmtree(tmp_path / "lake/_lakelogic")
    result = load(contract, 2)
    assert (result.counts.accepted, sum(rows(contract).values())) == (3, 5)
    assert table(contract).transaction_version("lakelogic:orders") == 3


def test_the_quarantine_can_be_searched_after_some_of_its_rows_were_forgotten(tmp_path: Path) -> None:
    """Old and young rows in one file: what is left of it is written again."""
    contract = estate(tmp_path, batches=4)
    (tmp_path / "landing/old.csv").write_text("order_id,amount,day\n7,-1,\n")
    long_ago = FixedClock(datetime.now(UTC) - timedelta(days=60))
    with DataProcessor(contract, engine="duckdb", clock=long_ago) as processor:
        processor.run()
    contract.write_text(CONTRACT.replace("quarantine: { retention: 30d }\n", ""))
    assert keep(contract)["quarantine", "compact"].result == {"files_removed": 5, "files_added": 1}
    contract.write_text(CONTRACT)
    assert keep(contract)["quarantine", "retention"].result == {"rows_deleted": 1}
    left = table(contract, "orders_quarantine").to_pyarrow_dataset()
    assert left.count_rows(filter=ds.field("order_id") == "7") == 0
    assert left.count_rows(filter=ds.field("order_id") != "7") == 4
