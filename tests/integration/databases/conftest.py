"""A PostgreSQL for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.servers.postgresql import Server, start_server

from lakelogic.core.settings import Settings
from lakelogic.onboard.fetch_jars import OPTIONAL, has_jars


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with start_server() as server:
        yield server


@pytest.fixture
def spark_with_postgresql(spark_session: Any, spark_settings: Settings) -> Any:
    return _with_driver("postgresql", spark_session, spark_settings)


@pytest.fixture
def spark_with_sqlite(spark_session: Any, spark_settings: Settings) -> Any:
    return _with_driver("sqlite", spark_session, spark_settings)


@pytest.fixture
def spark_with_mysql(spark_session: Any, spark_settings: Settings) -> Any:
    return _with_driver("mysql", spark_session, spark_settings)


def _with_driver(name: str, spark: Any, settings: Settings) -> Any:
    if not has_jars(settings.jars, OPTIONAL[name]):
        pytest.skip(f"the JDBC driver is missing: lakelogic setup --with {name}")
    return spark
