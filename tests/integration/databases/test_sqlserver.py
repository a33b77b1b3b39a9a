"""SQL Server, of which no server can be had here: what is said where it cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.integration.databases.estate import ADDRESS, Estate

from lakelogic.core.errors import CapabilityError
from lakelogic.core.settings import Settings
from lakelogic.onboard.fetch_jars import OPTIONAL, has_jars

CONTRACT = """
dataset: orders
source:
  path: "${LAKELOGIC_TEST_DATABASE}"
  database: { table: dbo.orders }
model: { fields: [{ name: id, type: long }] }
primary_key: [id]
materialization: { strategy: overwrite, target_path: lake/out }
"""


@pytest.fixture(autouse=True)
def address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, "mssql://lake:needle-password@127.0.0.1:1/shop")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engines_without_jdbc_refuse_it(engine: str, tmp_path: Path) -> None:
    estate = Estate(tmp_path, engine)
    estate.declare(CONTRACT)
    with pytest.raises(CapabilityError, match="mssql cannot be read without Spark"):
        estate.run()


def test_it_is_read_whole_only(tmp_path: Path) -> None:
    estate = Estate(tmp_path)
    estate.declare(CONTRACT.replace("database:", "load_mode: incremental\n  watermark_field: id\n  database:"))
    with pytest.raises(CapabilityError, match="read whole only"):
        estate.run()


@pytest.mark.spark
def test_a_missing_driver_names_the_command_that_fetches_it(
    tmp_path: Path, spark_session: Any, spark_settings: Settings
) -> None:
    if has_jars(spark_settings.jars, OPTIONAL["mssql"]):
        pytest.skip("the driver is there")
    estate = Estate(tmp_path, "spark", spark_session)
    estate.declare(CONTRACT)
    with pytest.raises(CapabilityError, match="no JDBC driver for mssql") as caught:
        estate.run()
    assert "lakelogic setup --with mssql" in str(caught.value)
    assert "needle-password" not in str(caught.value)
