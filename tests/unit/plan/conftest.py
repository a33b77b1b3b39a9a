"""Plans from contracts written as text, for sources that are described and never read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from lakelogic.contract import Contract, load_contract
from lakelogic.plan.build import build_plan
from lakelogic.plan.model import Column, Plan, SourceFacts
from lakelogic.plan.types import parse_type

Load = Callable[[str], Contract]
MakePlan = Callable[..., Plan]


def facts_of(columns: Mapping[str, str], *, text: bool = True) -> SourceFacts:
    """A source with these columns: name to contract type."""
    found = []
    for name, type_ in columns.items():
        parsed = parse_type(type_)
        assert parsed is not None
        found.append(Column(name, parsed))
    return SourceFacts(tuple(found), text)


@pytest.fixture
def contract(tmp_path: Path) -> Load:
    def load(text: str) -> Contract:
        path = tmp_path / "orders.yaml"
        path.write_text('version: "1.0.0"\ndataset: orders\n' + dedent(text), encoding="utf-8")
        return load_contract(path)

    return load


@pytest.fixture
def plan(contract: Load) -> MakePlan:
    """A plan for a source of text columns with these names, or of the given types."""

    def make(text: str, *names: str, has_key: bool = False, **types: str) -> Plan:
        columns = {**dict.fromkeys(names, "string"), **types}
        return build_plan(contract(text), facts_of(columns, text=not types), {}, has_key=has_key)

    return make
