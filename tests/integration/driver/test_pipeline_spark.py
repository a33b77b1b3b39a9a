"""The same on one Spark application: sessions of their own, jobs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.integration.driver.estates import write_estate

from lakelogic.core.settings import Settings
from lakelogic.driver.estate import read_estate
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.pipeline import Order, prepare, run_pipeline
from lakelogic.driver.select import Selection
from lakelogic.driver.worker import Request


@pytest.mark.spark
def test_contracts_share_an_application_and_nothing_else(
    tmp_path: Path, spark_session: Any, spark_settings: Settings
) -> None:
    registry = write_estate(tmp_path, 1, engine="spark")
    silver = tmp_path / "contracts" / "silver_e000.yaml"
    silver.write_text(silver.read_text() + 'spark: { spark.sql.shuffle.partitions: "3" }\n')
    request = Request(spark_settings, engine="spark")
    order = Order(max_workers=2)
    prepared = prepare(read_estate([registry], settings=spark_settings), Selection(), request, order, Wanted())
    views = {table.name for table in spark_session.catalog.listTables()}
    before = spark_session.conf.get("spark.sql.shuffle.partitions")
    result = run_pipeline(prepared, request, order, session=spark_session)
    assert {name: outcome.status for name, outcome in result.outcomes.items()} == dict.fromkeys(
        ("ref_countries", "bronze_e000", "silver_e000", "gold_e000"), "succeeded"
    )
    gold = DeltaTable(str(tmp_path / "lake" / "gold_e000")).to_pyarrow_table()
    assert sorted(gold["country_name"].to_pylist()) == ["France", "Germany"]
    # The session of whoever called has neither our views nor another contract's settings.
    assert {table.name for table in spark_session.catalog.listTables()} == views
    assert spark_session.conf.get("spark.sql.shuffle.partitions") == before
    again = run_pipeline(prepared, request, order, session=spark_session)
    assert {outcome.status for outcome in again.outcomes.values()} == {"no_new_data"}
