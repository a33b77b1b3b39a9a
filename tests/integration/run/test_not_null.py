"""A table of somebody else that promises NOT NULL where the contract does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core.errors import RunError

CONTRACT = """\
dataset: orders
source: {{ path: landing, pattern: "*.csv", load_mode: incremental }}
model:
  fields:
    - {{ name: id, type: long }}
    - {{ name: name, type: string, required: {required} }}
materialization: {{ target_path: lake/orders }}
"""


def run(folder: Path, *, required: bool) -> tuple[int, int]:
    (folder / "contract.yaml").write_text(CONTRACT.format(required=str(required).lower()))
    with DataProcessor(folder / "contract.yaml", engine="duckdb", environ=dict(os.environ)) as processor:
        counts = processor.run().counts
    return counts.accepted, counts.quarantined


def test_a_refused_batch_does_not_stand_in_the_way_of_the_mended_contract(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "a.csv").write_text("id,name\n1,a\n2,\n")
    run(tmp_path, required=True)
    assert not DeltaTable(tmp_path / "lake" / "orders").schema().fields[1].nullable
    (tmp_path / "landing" / "b.csv").write_text("id,name\n3,c\n4,\n")
    with pytest.raises(RunError) as caught:
        run(tmp_path, required=False)
    assert caught.value.problem.code == "LL443"
    assert run(tmp_path, required=True) == (1, 1)
    names = DeltaTable(tmp_path / "lake" / "orders").to_pyarrow_table().column("name").to_pylist()
    assert sorted(names) == ["a", "c"]
