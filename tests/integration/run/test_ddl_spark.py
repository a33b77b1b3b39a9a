"""`ddl` where only Spark can: features of the protocol, fields in the middle of a struct."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.core.settings import Settings
from lakelogic.run.ddl import DdlReport, plan_ddl
from lakelogic.run.ddl_apply import apply_ddl
from lakelogic.run.validate import load_checked

pytestmark = pytest.mark.spark

CONTRACT = """\
dataset: orders
source: { path: landing, pattern: "*.jsonl" }
model:
  fields:
    - { name: order_id, type: int, required: true }
    - { name: place, type: "struct<city: string, zip: string>" }
materialization:
  target_path: lake/orders
  table_properties: { delta.enableTypeWidening: "true" }
"""


def test_what_only_spark_can_do(tmp_path: Path, spark_session: Any) -> None:
    contract = tmp_path / "contract.yaml"
    contract.write_text(CONTRACT)

    def apply() -> DdlReport:
        return apply_ddl(load_checked(contract), Settings(), lambda: spark_session)

    def load(order: int, place: dict[str, str]) -> None:
        (tmp_path / "landing").mkdir(exist_ok=True)
        (tmp_path / "landing/a.jsonl").write_text(json.dumps({"order_id": order, "place": place}))
        with DataProcessor(contract, spark=spark_session) as processor:
            assert processor.run().status == "succeeded"

    assert [s.applied for s in apply().statements] == [True, True]
    load(1, {"city": "B", "zip": "1"})
    text = contract.read_text().replace("type: int", "type: long").replace("string, zip", "string, street: string, zip")
    contract.write_text(text)
    table = f"delta.`{tmp_path}/lake/orders`"
    assert [s.sql for s in apply().statements if s.table == "target"] == [
        f"ALTER TABLE {table} ALTER COLUMN `order_id` TYPE BIGINT",
        f"ALTER TABLE {table} ADD COLUMNS (`place`.`street` STRING AFTER `city`)",
    ]
    assert plan_ddl(load_checked(contract), Settings()).statements == ()
    load(2**40, {"city": "C", "street": "S", "zip": "2"})
    rows = spark_session.read.format("delta").load(str(tmp_path / "lake/orders")).select("order_id", "place.*")
    assert sorted(tuple(row) for row in rows.collect()) == [(1, "B", None, "1"), (2**40, "C", "S", "2")]


def test_a_catalog_name_is_created_under_its_name(tmp_path: Path, spark_session: Any) -> None:
    contract = tmp_path / "contract.yaml"
    view = "views: [{ name: masked, columns: { place: 'NULL' } }]\n"
    contract.write_text(CONTRACT.replace("lake/orders", "ddl_shop.orders").split("  table_properties")[0] + view)
    try:
        report = apply_ddl(load_checked(contract), Settings(), lambda: spark_session)
        assert report.statements[0].sql.startswith("CREATE TABLE IF NOT EXISTS `ddl_shop`.`orders` (")
        assert report.statements[2].sql.startswith("CREATE OR REPLACE VIEW `ddl_shop`.`masked` AS")
        assert [s.applied for s in report.statements] == [True, True, False]
        assert spark_session.table("spark_catalog.ddl_shop.orders").columns[:2] == ["order_id", "place"]
        assert (tmp_path / "lakehouse/ddl_shop/orders/_delta_log").is_dir()
    finally:
        spark_session.sql("DROP SCHEMA IF EXISTS spark_catalog.ddl_shop CASCADE")
        spark_session.sql("DROP SCHEMA IF EXISTS spark_catalog.quarantine CASCADE")


def test_masked_views_are_made_where_a_catalog_keeps_them(
    tmp_path: Path, spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session of the tests keeps its catalog in memory; here it counts as one that lasts."""
    monkeypatch.setattr("lakelogic.run.ddl_apply.keeps_views", lambda spark, location: True)
    contract = tmp_path / "contract.yaml"
    view = "views: [{ name: masked, columns: { place: 'NULL' } }]\n"
    contract.write_text(CONTRACT.replace("lake/orders", "ddl_views.orders").split("  table_properties")[0] + view)
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/a.jsonl").write_text(json.dumps({"order_id": 1, "place": {"city": "B", "zip": "1"}}))
    try:
        report = apply_ddl(load_checked(contract), Settings(), lambda: spark_session)
        assert [s.applied for s in report.statements] == [True, True, True]
        assert report.notes == ()
        with DataProcessor(contract, spark=spark_session) as processor:
            processor.run()
        seen = spark_session.table("spark_catalog.ddl_views.masked").select("order_id", "place").collect()
        assert [tuple(row) for row in seen] == [(1, None)]
        # A second time the view is made anew, and is the same.
        again = apply_ddl(load_checked(contract), Settings(), lambda: spark_session)
        assert [(s.table, s.applied) for s in again.statements] == [(report.statements[2].table, True)]
    finally:
        spark_session.sql("DROP SCHEMA IF EXISTS spark_catalog.ddl_views CASCADE")
        spark_session.sql("DROP SCHEMA IF EXISTS spark_catalog.quarantine CASCADE")
