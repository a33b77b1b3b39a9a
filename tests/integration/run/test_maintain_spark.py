"""Upkeep through Spark, for a table with a feature that delta-rs would break."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core.clock import FixedClock
from lakelogic.core.settings import Settings
from lakelogic.run.maintain import maintain
from lakelogic.run.validate import load_checked

pytestmark = pytest.mark.spark

CONTRACT = """\
dataset: orders
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model: { fields: [{ name: id, type: int }, { name: v, type: int }] }
materialization:
  target_path: lake/orders
  maintenance: { optimize: always, vacuum_retain: 0h }
"""


def test_a_table_with_deletion_vectors_is_kept_by_spark(tmp_path: Path, spark_session: Any) -> None:
    contract, target = tmp_path / "contract.yaml", str(tmp_path / "lake/orders")
    contract.write_text(CONTRACT)
    (tmp_path / "landing").mkdir()
    for number in range(4):
        lines = "\n".join(f"{number * 10 + row},{row}" for row in range(10))
        (tmp_path / f"landing/{number}.csv").write_text(f"id,v\n{lines}\n")
        with DataProcessor(contract, engine="duckdb") as processor:
            processor.run()
    on = "SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    spark_session.sql(f"ALTER TABLE delta.`{target}` {on}")
    spark_session.sql(f"DELETE FROM delta.`{target}` WHERE v = 3")

    def ids() -> list[int]:
        return sorted(row["id"] for row in spark_session.read.format("delta").load(target).collect())

    def keep(open_spark: Any) -> dict[str, str]:
        clock = FixedClock(datetime.now(UTC) + timedelta(days=1))
        steps = maintain(load_checked(contract), Settings(), open_spark, short_retention=True, clock=clock)
        return {step.action: step.state for step in steps if step.table == "target"}

    expected = [id_ for id_ in range(40) if id_ % 10 != 3]
    assert ids() == expected
    assert keep(None) == {"all": "skipped"}
    assert keep(lambda: spark_session) == {"compact": "done", "vacuum": "done"}
    assert ids() == expected
    assert len(DeltaTable(target).file_uris()) == 1
    # What was put together holds no hidden rows, and the files before it are gone.
    assert len(list(Path(target).rglob("*.parquet"))) == 1
    with DataProcessor(contract, spark=spark_session) as processor:
        assert processor.run().status == "no_new_data"
    assert ids() == expected
