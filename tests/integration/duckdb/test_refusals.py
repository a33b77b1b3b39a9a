"""What only the types of an expression tell: DuckDB would fail, or differ, at the rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core.errors import CapabilityError

_CONTRACT = """\
dataset: stays
source: {{ path: stays.csv }}
model:
  fields:
    - {{ name: id, type: int }}
    - {{ name: first, type: date }}
    - {{ name: last, type: date }}
transformations:
  - sql: "{sql} AS made"
    phase: post
materialization: {{ strategy: overwrite, target_path: lake/stays }}
"""


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("last - first", "datediff()"),
        ("CAST(SPLIT(CAST(first AS STRING), '-') AS STRING)", "the text of a nested"),
        ("SEQUENCE(first, last)", "date_range_explode"),
        ("REVERSE(SPLIT(CAST(first AS STRING), '-'))", "REVERSE"),
    ],
)
def test_is_refused_before_anything_is_written(tmp_path: Path, sql: str, said: str) -> None:
    (tmp_path / "stays.csv").write_text("id,first,last\n1,2026-01-01,2026-01-03\n")
    (tmp_path / "contract.yaml").write_text(_CONTRACT.format(sql=sql))
    with pytest.raises(CapabilityError, match="DuckDB engine cannot compute") as caught:
        DataProcessor(tmp_path / "contract.yaml", engine="duckdb").run()
    assert said in str(caught.value)
    assert not (tmp_path / "lake" / "stays").exists()


def test_a_number_of_days_is_not(tmp_path: Path) -> None:
    (tmp_path / "stays.csv").write_text("id,first,last\n1,2026-01-01,2026-01-03\n")
    (tmp_path / "contract.yaml").write_text(_CONTRACT.format(sql="DATEDIFF(last, first)"))
    DataProcessor(tmp_path / "contract.yaml", engine="duckdb").run()
    assert DeltaTable(tmp_path / "lake" / "stays").to_pyarrow_table()["made"].to_pylist() == [2]
