"""Tables with a feature that delta-rs would break are looked after, and reset, by Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.core.settings import Settings
from lakelogic.run.maintain import maintain
from lakelogic.run.reset import preview_reset, reset, undo_reset
from lakelogic.run.validate import load_checked

pytestmark = pytest.mark.spark

CONTRACT = """\
dataset: orders
source: { path: landing, pattern: "*.csv" }
model: { fields: [{ name: id, type: long }] }
materialization: { target_path: lake/orders, cluster_by: [id] }
"""


def test_deletion_vectors_are_left_to_spark(tmp_path: Path, spark_session: Any) -> None:
    (tmp_path / "contract.yaml").write_text(CONTRACT)
    contract, settings, path = load_checked(tmp_path / "contract.yaml"), Settings(), str(tmp_path / "lake/orders")
    spark_session.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT) USING DELTA TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark_session.range(0, 8, 1, 1).write.format("delta").mode("append").save(path)
    spark_session.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")

    def rows() -> list[int]:
        return sorted(row["id"] for row in spark_session.read.format("delta").load(path).collect())

    without = [1, 2, 4, 5, 6, 7]
    (step, *_) = maintain(contract, settings)
    assert (step.state, step.evidence) == (
        "skipped",
        "the table has deletion vectors, which only Spark looks after",
    )
    steps = {step.action: step.state for step in maintain(contract, settings, lambda: spark_session)}
    assert (steps["zorder"], steps["vacuum"]) == ("done", "done")
    assert rows() == [0, *without]
    assert [step.state for step in maintain(contract, settings, lambda: spark_session) if step.action == "zorder"] == [
        "not needed"
    ]
    assert preview_reset(contract, settings).tables[0].rows is None
    reset(contract, settings, lambda: spark_session)
    assert (rows(), DeltaTable(path).transaction_version("lakelogic:orders")) == ([], 1)
    undo_reset(contract, settings, lambda: spark_session)
    assert (rows(), DeltaTable(path).transaction_version("lakelogic:orders")) == ([0, *without], 2)
