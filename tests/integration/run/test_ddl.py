"""`ddl` on real tables: what it makes is what a run makes, and what it changes a run can go on with."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from lakelogic import DataProcessor
from lakelogic.cli.main import app
from lakelogic.core.errors import ContractError, LakeLogicError
from lakelogic.core.settings import Settings
from lakelogic.run.ddl import DdlReport, plan_ddl
from lakelogic.run.ddl_apply import apply_ddl
from lakelogic.run.validate import load_checked, validate_contract

CONTRACT = """\
dataset: orders
info: { description: Orders of the shop. }
source: { path: landing, pattern: "*.csv" }
model:
  fields:
    - { name: order_id, type: long, required: true, description: Number of the order. }
    - { name: amount, type: "decimal(10,2)" }
    - { name: email, type: string, pii: true, masking: hash }
    - { name: day, type: date }
transformations:
  - derive: { net: "amount * 0.8" }
quality:
  row_rules:
    - { name: positive, sql: "amount > 0" }
materialization:
  target_path: lake/orders
  partition_by: [day]
  table_properties: { delta.logRetentionDuration: interval 60 days, owner: shop }
"""
NESTED = """
    - { name: place, type: "struct<city: string>" }
    - { name: lines, type: "array<struct<sku: string>>" }
    - { name: more, type: "map<string, struct<a: int>>" }"""
ROWS = "order_id,amount,email,day\n1,10,a@x.io,2026-01-01\n2,-1,b@x.io,2026-01-02\n3,5,,2026-01-02\n"


def estate(folder: Path, text: str = CONTRACT) -> Path:
    (folder / "landing").mkdir(parents=True)
    (folder / "landing" / "a.csv").write_text(ROWS)
    contract = folder / "contract.yaml"
    contract.write_text(text)
    return contract


def edit(contract: Path, before: str, after: str) -> None:
    text = contract.read_text()
    assert before in text
    contract.write_text(text.replace(before, after))


def run(contract: Path) -> Any:
    with DataProcessor(contract, engine="duckdb") as processor:
        return processor.run()


def printed(contract: Path) -> DdlReport:
    return plan_ddl(load_checked(contract), Settings())


def applied(contract: Path) -> DdlReport:
    return apply_ddl(load_checked(contract), Settings(), None)


def shape(path: Path) -> dict[str, Any]:
    table = DeltaTable(str(path))
    fields = json.loads(table.schema().to_json())["fields"]
    metadata = table.metadata()
    return {
        "fields": {field["name"]: field for field in fields},
        "partitions": metadata.partition_columns,
        "description": metadata.description,
        "properties": metadata.configuration,
    }


def test_what_ddl_makes_is_what_a_run_makes(tmp_path: Path) -> None:
    first, second = estate(tmp_path / "ddl"), estate(tmp_path / "run")
    report = applied(first)
    assert [(s.table, s.applied) for s in report.statements] == [("target", True), ("quarantine", True)]
    run(second)
    for name in ("orders", "orders_quarantine"):
        assert shape(tmp_path / "ddl/lake" / name) == shape(tmp_path / "run/lake" / name)
    assert [list(shape(tmp_path / where / "lake/orders")["fields"]) for where in ("ddl", "run")] == [
        ["order_id", "amount", "email", "day", "net", "_lakelogic_run_id", "_lakelogic_source",
         "_lakelogic_processed_at", "_lakelogic_contract_version"]
    ] * 2  # fmt: skip
    for contract in (first, second):
        report = printed(contract)
        assert (report.statements, report.refused) == ((), ())
    result = run(first)
    assert (result.counts.accepted, result.counts.quarantined) == (2, 1)
    assert printed(first).statements == ()


def test_edits_are_applied_and_the_next_run_goes_on(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    run(contract)
    edit(contract, "required: true, description: Number of the order.", "description: The order's number.")
    edit(
        contract,
        "    - { name: day, type: date }",
        "    - { name: day, type: date }\n    - { name: note, type: string }",
    )
    edit(contract, "interval 60 days", "interval 30 days")
    edit(contract, "Orders of the shop.", "All orders.")
    report = applied(contract)
    table = f"delta.`{tmp_path}/lake/orders`"
    assert [s.sql for s in report.statements if s.table == "target"] == [
        f"ALTER TABLE {table} ADD COLUMNS (`note` STRING)",
        f"ALTER TABLE {table} ALTER COLUMN `order_id` DROP NOT NULL",
        f"ALTER TABLE {table} ALTER COLUMN `order_id` COMMENT 'The order\\'s number.'",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 30 days')",
        f"COMMENT ON TABLE {table} IS 'All orders.'",
    ]
    assert [s.sql for s in report.statements if s.table == "quarantine"] == [
        f"ALTER TABLE delta.`{tmp_path}/lake/orders_quarantine` ADD COLUMNS (`note` STRING)"
    ]
    after = printed(contract)
    assert (after.statements, after.refused) == ((), ())
    run(contract)
    rows = DeltaTable(str(tmp_path / "lake/orders")).to_pyarrow_table().to_pylist()
    assert sorted(row["order_id"] for row in rows) == [1, 1, 3, 3]
    assert {row["note"] for row in rows} == {None}


def test_one_refusal_holds_everything_back(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    run(contract)
    edit(contract, "Orders of the shop.", "All orders.")
    edit(contract, "name: email, type: string", "name: email, type: string, required: true")
    before = DeltaTable(str(tmp_path / "lake/orders")).version()
    report = applied(contract)
    assert [(table, refused.code) for table, refused in report.refused] == [("target", "LL343")]
    assert "1 rows of the table have NULL" in report.refused[0][1].message
    assert not any(statement.applied for statement in report.statements)
    assert DeltaTable(str(tmp_path / "lake/orders")).version() == before
    done = CliRunner().invoke(app, ["ddl", str(contract), "--apply", "--engine", "duckdb", "--output", "json"])
    assert (done.exit_code, json.loads(done.stdout)["refused"][0]["code"]) == (3, "LL343")


def test_a_table_without_rows_takes_another_shape(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    applied(contract)
    edit(contract, "  partition_by: [day]\n", "")
    edit(contract, "type: long", "type: string")
    assert printed(contract).refused == ()
    applied(contract)
    assert shape(tmp_path / "lake/orders")["partitions"] == []
    assert run(contract).counts.accepted == 2
    assert printed(contract).statements == ()


def test_nested_fields_are_added_where_they_belong(tmp_path: Path) -> None:
    contract = estate(tmp_path, CONTRACT.replace("name: day, type: date }", f"name: day, type: date }}{NESTED}"))
    applied(contract)
    edit(contract, "struct<city: string>", "struct<city: string, zip: string>")
    edit(contract, "array<struct<sku: string>>", "array<struct<sku: string, qty: int>>")
    edit(contract, "map<string, struct<a: int>>", "map<string, struct<a: int, b: int>>")
    table = f"delta.`{tmp_path}/lake/orders`"
    assert [s.sql for s in applied(contract).statements if s.table == "target"] == [
        f"ALTER TABLE {table} ADD COLUMNS (`place`.`zip` STRING)",
        f"ALTER TABLE {table} ADD COLUMNS (`lines`.`element`.`qty` INT)",
        f"ALTER TABLE {table} ADD COLUMNS (`more`.`value`.`b` INT)",
    ]
    assert printed(contract).statements == ()


def test_views_are_printed_and_checked(tmp_path: Path) -> None:
    view = """\
views:
  - { name: sales.orders_masked, columns: { email: "CONCAT('****@', SPLIT(email, '@')[1])" }, grant_select: [analysts] }
"""
    contract = estate(tmp_path, CONTRACT + view)
    create, grant = [s.sql for s in printed(contract).statements if s.table == "sales.orders_masked"]
    assert create.startswith("CREATE OR REPLACE VIEW `sales`.`orders_masked` AS\nSELECT\n  `order_id`,\n  `amount`,\n")
    assert "CONCAT('****@', SPLIT(email, '@')[1]) AS `email`" in create
    assert "_lakelogic" not in create
    assert create.endswith(f"FROM delta.`{tmp_path}/lake/orders`")
    assert grant == "GRANT SELECT ON VIEW `sales`.`orders_masked` TO `analysts`"
    report = applied(contract)
    assert [s.applied for s in report.statements] == [True, True, False, False]
    assert any("no catalog that would keep it" in note for note in report.notes)
    edit(contract, "columns: { email:", "columns: { emial:")
    (mistake,) = validate_contract(contract)
    assert (mistake.code, mistake.hint) == ("LL220", "did you mean `email`?")
    with pytest.raises(ContractError):
        printed(contract)


def test_a_pending_batch_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contract = estate(tmp_path)
    monkeypatch.setattr("lakelogic.core.faults._reached", Counter())
    monkeypatch.setenv("LAKELOGIC_FAULT", "after_mark_staged")
    monkeypatch.setenv("LAKELOGIC_FAULT_MODE", "raise")
    with pytest.raises(OSError, match="fault injected"):
        run(contract)
    monkeypatch.delenv("LAKELOGIC_FAULT")
    with pytest.raises(LakeLogicError) as raised:
        applied(contract)
    assert raised.value.problem.code == "LL464"
    assert not os.path.exists(tmp_path / "lake/orders/_delta_log")


def test_a_typed_source_gives_its_types_to_the_quarantine(tmp_path: Path) -> None:
    bronze = estate(tmp_path)
    run(bronze)
    silver = tmp_path / "silver.yaml"
    silver.write_text(
        "dataset: silver\nsource: { path: lake/orders }\n"
        "model: { fields: [{ name: order_id, type: long }, { name: amount, type: 'decimal(10,2)' }] }\n"
        "quality: { row_rules: [{ sql: 'amount > 7' }] }\n"
        "materialization: { target_path: lake/silver }\n"
    )
    applied(silver)
    fields = shape(tmp_path / "lake/silver_quarantine")["fields"]
    assert fields["amount"]["type"] == "decimal(10,2)"
    assert run(silver).counts.quarantined == 1
    assert printed(silver).statements == ()
