"""Looking for mistakes only finds the same ones as planning does, and comes to the same columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.contract import load_draft
from lakelogic.plan.build import _assumed, _compile

CASES = Path(__file__).resolve().parents[2] / "cases"
CONTRACTS = sorted(CASES.glob("*/contract.yaml"))
BROKEN = """\
dataset: broken
model:
  fields: [{ name: id, type: long, min: abc }, { name: day, type: date }, { name: mail, type: string, pattern: "(" }]
schema_policy: strict
transformations:
  - sql: "SELECT *, nope + 1 AS x FROM source"
  - derive: { half: "id / 2", wrong: "day + mail" }
  - filter: "COUNT(*) > 1"
  - rollup: { group_by: [dy], aggregations: { n: "SUM(half)" } }
quality:
  row_rules: [{ sql: "id >" }, { sql: "mail > 5" }, { sql: "conv(mail, 10, 2) = '1'" }, { sql: "half > 0" }]
  dataset_rules: [{ unique: [idd] }, { sql: "SELECT 1, 2 FROM source", must_be: 1 }]
materialization: { strategy: merge, primary_key: [id], target_path: lake/x, merge: { order_by: [dya] } }
"""


def compare(path: Path, text: str | None = None) -> int:
    contract = load_draft(path, environ={}, text=text).contract
    assert contract is not None
    quick, _ = _compile(contract, _assumed(contract), {}, text=True, facts=None, checking=True)
    whole, _ = _compile(contract, _assumed(contract), {}, text=True, facts=None)
    assert quick.problems == whole.problems
    assert quick.relation.columns == whole.relation.columns
    assert set(quick.relation.hidden) <= set(whole.relation.hidden)
    return len(quick.problems)


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.parent.name)
def test_either_way_gives_the_same(path: Path) -> None:
    compare(path)


def test_the_same_mistakes_are_found() -> None:
    assert compare(CASES / "broken.yaml", BROKEN) >= 8
