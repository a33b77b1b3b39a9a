"""The engines that every case runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from tests.conftest import compiled_plans

ENGINES = ("duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark))


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(engine: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The Spark session that all cases share; None for engines that need none.

    A case with several runs is about what tables keep; its few values are computed by plans that are not compiled.
    """
    if engine != "spark":
        yield None
        return
    spark = request.getfixturevalue("spark_session")
    case = request.node.callspec.params.get("case")
    with compiled_plans(spark) if case is None or len(case.runs) == 1 else nullcontext():
        yield spark
