"""A value is what it was: change events keep the sign of a zero, also where another column of the event is left out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows

_CONTRACT = """
version: "1.0.0"
dataset: rows
source: { path: input.jsonl, load_mode: cdc, cdc: { deletes: hard } }
model:
  fields:
    - { name: id, type: int, required: true }
    - { name: d, type: double }
    - { name: f, type: float }
    - { name: large, type: string }
materialization: { strategy: cdc, target_path: out, primary_key: [id] }
"""


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("large", ["x", "__debezium_unavailable_value"])
def test_the_newest_event_keeps_the_sign_of_its_zeros(engine: str, large: str, tmp_path: Path) -> None:
    (tmp_path / "contract.yaml").write_text(_CONTRACT, encoding="utf-8")
    # In quotes: JSON has one zero only, as Spark reads it.
    rows = [{"id": 1, "d": "1.5", "f": "1.5", "large": "x"}, {"id": 1, "d": "-0.0", "f": "-0.0", "large": large}]
    events = [{"after": row, "op": "u", "source": {"lsn": n}} for n, row in enumerate(rows)]
    (tmp_path / "input.jsonl").write_text("".join(f"{json.dumps(e)}\n" for e in events), encoding="utf-8")
    with DataProcessor(tmp_path / "contract.yaml", engine, settings=Settings()) as processor:
        processor.run()
    (found,) = read_rows(str(tmp_path / "out")).rows
    assert [math.copysign(1, found[name]) for name in ("d", "f")] == [-1, -1]
    assert found["large"] == "x"
