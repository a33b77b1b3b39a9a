"""Plain Parquet: a reader sees one version, whole, and a batch lands once however often it is committed."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from lakelogic import DataProcessor
from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.faults import FAULT_POINTS
from lakelogic.core.settings import Settings
from lakelogic.run.ddl import plan_ddl
from lakelogic.run.validate import load_checked, validate_contract

CONTRACT = """\
dataset: orders
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model: { fields: [{ name: id, type: long }, { name: day, type: date }] }
quality: { row_rules: [{ name: positive, sql: "id > 0" }] }
materialization: { format: parquet, strategy: append, partition_by: [day], target_path: lake/orders }
"""


def estate(folder: Path) -> Path:
    (folder / "landing").mkdir(parents=True)
    contract = folder / "contract.yaml"
    contract.write_text(CONTRACT)
    return contract


def load(contract: Path, *ids: int, spark: Any = None) -> Any:
    if ids:
        lines = "".join(f"{number},2026-01-0{number % 2 + 1}\n" for number in ids)
        (contract.parent / f"landing/{ids[0]:03}.csv").write_text("id,day\n-1,\n" + lines)
    with DataProcessor(contract, engine=None if spark else "duckdb", spark=spark) as processor:
        return processor.run()


def ids(contract: Path) -> list[int]:
    dataset = ds.dataset(str(contract.parent / "lake/orders"), format="parquet", partitioning="hive")
    return sorted(dataset.to_table(columns=["id"])["id"].to_pylist())


def edit(contract: Path, before: str, after: str) -> None:
    assert before in contract.read_text()
    contract.write_text(contract.read_text().replace(before, after))


def test_append_adds_and_overwrite_replaces_and_readers_keep_what_they_opened(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    first = load(contract, 1, 2)
    assert (first.counts.accepted, first.counts.quarantined, first.target.version) == (2, 1, 0)
    opened = os.path.realpath(tmp_path / "lake/orders")
    assert load(contract, 3).target.version == 1
    assert ids(contract) == [1, 2, 3]
    assert load(contract).status == "no_new_data"
    edit(contract, "strategy: append", "strategy: overwrite")
    load(contract, 4)
    assert ids(contract) == [4]
    assert sorted(ds.dataset(opened, partitioning="hive").to_table()["id"].to_pylist()) == [1, 2]
    for number in (5, 6):
        load(contract, number)
    assert not os.path.exists(opened)
    assert len([name for name in os.listdir(tmp_path / "lake/.orders.versions") if name.startswith("batch-")]) == 1


@pytest.mark.parametrize("point", [p for p in FAULT_POINTS if p.endswith("target_commit")])
def test_a_batch_lands_once(point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contract = estate(tmp_path)
    load(contract, 1, 2)
    with monkeypatch.context() as faulty:
        faulty.setattr("lakelogic.core.faults._reached", Counter())
        faulty.setenv("LAKELOGIC_FAULT", point)
        faulty.setenv("LAKELOGIC_FAULT_MODE", "raise")
        with pytest.raises(OSError, match="fault injected"):
            load(contract, 3)
    load(contract)
    assert ids(contract) == [1, 2, 3]


def test_a_commit_that_died_before_its_link_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contract = estate(tmp_path)
    load(contract, 1, 2)
    with monkeypatch.context() as broken:
        broken.setattr("lakelogic.table.parquet_files.ParquetTable._show", _die)
        with pytest.raises(KeyboardInterrupt):
            load(contract, 3)
    assert ids(contract) == [1, 2]
    assert (tmp_path / "lake/.orders.versions/v00000001").is_dir()
    load(contract)
    assert ids(contract) == [1, 2, 3]


def _die(*_: Any) -> None:
    raise KeyboardInterrupt


def test_what_plain_parquet_cannot_do_is_refused(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    load(contract, 1)
    edit(contract, "{ name: id, type: long }", "{ name: id, type: long }, { name: more, type: string }")
    with pytest.raises(LakeLogicError) as raised:
        load(contract, 2)
    assert raised.value.problem.code == "LL374"
    assert ids(contract) == [1]
    with pytest.raises(CapabilityError):
        plan_ddl(load_checked(contract), Settings())
    edit(contract, "strategy: append", "strategy: merge, primary_key: [id], table_properties: { a: b }")
    assert [problem.code for problem in validate_contract(contract)] == ["LL176", "LL176"]
    contract.write_text(CONTRACT.replace("lake/orders", "lake/mine"))
    (tmp_path / "lake/mine").mkdir()
    with pytest.raises(LakeLogicError) as raised:
        load(contract, 3)
    assert raised.value.problem.code == "LL373"


@pytest.mark.spark
def test_spark_writes_and_reads_it(tmp_path: Path, spark_session: Any) -> None:
    contract = estate(tmp_path)
    load(contract, 1, 2, spark=spark_session)
    load(contract, 3)
    frame = spark_session.read.parquet(str(tmp_path / "lake/orders"))
    assert sorted(tuple(map(str, row)) for row in frame.select("id", "day").collect()) == [
        ("1", "2026-01-02"), ("2", "2026-01-01"), ("3", "2026-01-02"),
    ]  # fmt: skip
