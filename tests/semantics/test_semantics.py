"""One contract means one thing: every probe has its value and its type on every engine, or is refused there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.semantics.probes import Probe, compute, read_probes, render_page, write_contract

from lakelogic.core.errors import CapabilityError
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "semantics.md"
ENGINES = ("duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_gives_the_values_of_the_page(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue("spark_session") if engine == "spark" else None
    probes = tuple(probe for probe in read_probes() if engine not in probe.refused)

    found = compute(probes, engine, tmp_path, spark=spark)

    wanted = {probe.expression: _told(probe.type, [each.value for each in probe.samples]) for probe in probes}
    given = {name: _told(found.types[name], list(found.values[name])) for name in wanted}
    assert {name: given[name] for name in wanted if given[name] != wanted[name]} == {}


def _told(type_: str, values: list[Any]) -> str:
    """As text: True is not 1, and -0.0 is not 0.0."""
    return f"{type_} {json.dumps(values, ensure_ascii=False)}"


_REFUSED = [(probe, engine) for probe in read_probes() for engine in probe.refused]


@pytest.mark.parametrize(("probe", "engine"), _REFUSED, ids=lambda each: getattr(each, "expression", each))
def test_what_an_engine_cannot_compute_is_refused_before_data_moves(probe: Probe, engine: str, tmp_path: Path) -> None:
    write_contract((probe,), tmp_path)

    with (
        DataProcessor(tmp_path / "contract.yaml", engine, settings=Settings()) as processor,
        pytest.raises(CapabilityError, match="spark") as refused,
    ):
        processor.run()

    assert not (tmp_path / "out").exists()
    assert refused.value.problem.code == "LL310"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(read_probes()), "write it again: make docs"
