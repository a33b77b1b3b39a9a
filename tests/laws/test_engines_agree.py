"""One contract, one result: DuckDB and Polars give the same rows and reasons, or one of them refuses.

Each contract has eight columns of naughty text, eight rules, three derived columns and up to two steps.
"""

from __future__ import annotations

import csv
import json
import os
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from tests.laws.expressions import TYPES, Expressions, make_rows

from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.testing.rows import plain

EXAMPLES = int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40")) // 10
ROWS, RULES = 24, 8
_STEPS = (
    {"filter": "i > 0 OR s IS NULL"}, {"deduplicate": ["s", "b"]}, {"trim": ["s"]}, {"upper": ["s"]},
    {"deduplicate": {"on": ["b"], "order_by": ["d desc", "t"]}},
    {"window": {"partition_by": ["b"], "order_by": ["dt", "s"], "columns": {"rn": "ROW_NUMBER()", "r": "RANK()"}}},
    {"coalesce": {"field": "s", "sources": ["s"], "default": "none"}},
    {"bucket": {"field": "band", "source": "d", "bins": [{"lt": 1, "label": "low"}], "default": "high"}},
    {"rollup": {"group_by": ["b", "dt"], "aggregations": {
        "n": "COUNT(*)", "total": "SUM(c)", "mean": "AVG(c)", "most": "MAX(d)", "least": "MIN(s)", "some": "SUM(i)",
        "kinds": "COUNT(DISTINCT s)"}}},
)  # fmt: skip
_DERIVED = ("whole", "number", "decimal", "text", "boolean", "date", "moment")


def _contract(random: Random) -> dict[str, Any]:
    make = Expressions(random)
    steps = random.sample(_STEPS[:-1], random.randint(0, 2))
    derived = {f"x{n}": make.of(random.choice(_DERIVED)) for n in range(3)}
    steps.append({"derive": derived, "phase": "post"})
    if random.random() < 0.3:
        steps = [*steps[:-1], _STEPS[-1]]
    return {
        "version": "1.0.0",
        "dataset": "rows",
        "source": {"path": "input.csv"},
        "model": {"fields": [{"name": name, "type": type_} for name, type_ in TYPES.items()]},
        "transformations": steps,
        "quality": {"row_rules": [{"name": f"r{n}", "sql": make.of("boolean")} for n in range(RULES)]},
    }


def _outcome(folder: Path, engine: str) -> dict[str, Any] | str:
    """All that a run says, or why the contract or the engine would not have it."""
    clock = FixedClock(datetime.fromisoformat("2026-03-28T12:00:00+00:00"))
    try:
        with DataProcessor(folder / "contract.yaml", engine, settings=Settings(), clock=clock) as processor:
            result = processor.run()
            good, bad = (_rows(frame) for frame in (result.good, result.bad))
    except CapabilityError:
        return "refused"
    except LakeLogicError as error:
        return f"failed: {error}"
    return {"good": good, "bad": bad, "rules": {rule.name: rule.failed for rule in result.rules}}


def _rows(frame: Any) -> list[str]:
    hidden = {"_lakelogic_run_id", "_lakelogic_id"}
    rows = [{name: plain(value) for name, value in row.items() if name not in hidden} for row in frame.to_dicts()]
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_a_contract_by_chance_gives_the_same_on_both_engines(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    (tmp_path / "contract.yaml").write_text(yaml.safe_dump(_contract(random), sort_keys=False), encoding="utf-8")
    with (tmp_path / "input.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(TYPES), lineterminator="\n")
        writer.writeheader()
        writer.writerows(make_rows(random, ROWS))
    duckdb, polars = _outcome(tmp_path, "duckdb"), _outcome(tmp_path, "polars")
    if "refused" in (duckdb, polars):
        pytest.skip("an engine refuses it, which it may")
    assert polars == duckdb
