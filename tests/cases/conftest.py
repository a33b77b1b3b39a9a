"""The engines that every case runs on."""

from __future__ import annotations

from typing import Any

import pytest

ENGINES = ("duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark))


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(engine: str, request: pytest.FixtureRequest) -> Any:
    """The Spark session that all cases share; None for engines that need none."""
    return request.getfixturevalue("compiled") if engine == "spark" else None
