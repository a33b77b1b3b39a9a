"""A run that replaces rows and is killed on Spark leaves, once it is finished, what an undisturbed run leaves.

The kills leave the process alive (`killed_in_process`); those of test_kill.py and test_kill_history.py end it for good.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.faults.support import Estate, killed_in_process

from lakelogic import DataProcessor
from lakelogic.core.clock import FixedClock
from lakelogic.core.window import Window, window_of_days

pytestmark = [pytest.mark.kill, pytest.mark.spark]

_CONTRACT = """\
dataset: orders
source: {{ path: landing, pattern: "*.csv" }}
model:
  fields:
    - {{ name: id, type: int, required: true }}
    - {{ name: v, type: int }}
    - {{ name: day, type: date }}
materialization:
  target_path: lake/orders
{more}
"""
# After the files are ready, between the two commits, and before the run log.
POINTS = ("after_mark_staged", "after_quarantine_commit", "after_target_commit")
TODAY = datetime(2026, 3, 9, 23, 59, tzinfo=UTC)
TOMORROW = datetime(2026, 3, 10, 0, 1, tzinfo=UTC)
Rows = list[tuple[int, int, str | None]]


@dataclass(frozen=True)
class Situation:
    """A strategy, and what a table holds after a batch, by what it held before."""

    more: str
    after: Callable[[Rows, Rows], Rows]
    window: Window | None = None
    prepare: str = ""  # a statement on the table after the first batch


def _by_partition(before: Rows, batch: Rows) -> Rows:
    days = {row[2] for row in batch}
    return [row for row in before if row[2] not in days] + batch


def _by_window(before: Rows, batch: Rows) -> Rows:
    return [row for row in before if row[2] != "2026-03-02"] + [row for row in batch if row[2] == "2026-03-02"]


SITUATIONS = {
    "overwrite": Situation("  strategy: overwrite", lambda before, batch: batch),
    "overwrite_partitions": Situation("  strategy: overwrite_partitions\n  partition_by: [day]", _by_partition),
    # A table with deletion vectors takes no file as it is: Spark's writer replaces the rows of the window.
    "reprocess": Situation(
        "  strategy: overwrite\n  reprocess: { date_column: day }",
        _by_window,
        window_of_days(date(2026, 3, 2)),
        "ALTER TABLE delta.`{}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    ),
    "snapshot": Situation(
        "  strategy: snapshot\n  partition_by: [snapshot_date]\n  snapshot: { date_column: snapshot_date }",
        lambda before, batch: batch,
    ),
    "reconcile": Situation(
        "  strategy: merge\n  primary_key: [id]\n  merge: { delete_missing: true }",
        # A batch with quarantined rows deletes nothing: they are not gone.
        lambda before, batch: [row for row in before if row[0] not in {new[0] for new in batch}] + batch,
    ),
}
BATCHES: list[Rows] = [
    [(1, 1, "2026-03-01"), (2, 1, "2026-03-02"), (3, 1, "2026-03-03")],
    [(1, 2, "2026-03-01"), (4, 2, "2026-03-02")],
    [(5, 3, "2026-03-02")],
    [(2, 4, "2026-03-02"), (6, 4, "2026-03-04"), (7, 4, None)],
]


def _drop(estate: Estate, batch: Rows, *, bad: bool = True) -> None:
    lines = [f"{id_},{v},{day or ''}" for id_, v, day in batch] + (["x,0,2026-03-02"] if bad else [])
    estate.drop("all.csv", "id,v,day\n" + "\n".join(lines) + "\n")


def _run(estate: Estate, window: Window | None = None, now: datetime = TODAY) -> Any:
    clock = FixedClock(now)
    with DataProcessor(estate.contract, spark=estate.spark, clock=clock) as processor:
        return processor.run(window=window)


def _target(estate: Estate) -> str:
    return str(estate.folder / "lake/orders")


def _rows(estate: Estate) -> list[tuple[Any, ...]]:
    frame = estate.spark.read.format("delta").load(_target(estate))
    names = [name for name in ("id", "v", "day", "snapshot_date") if name in frame.columns]
    return sorted((tuple(str(value) for value in row) for row in frame.select(*names).collect()), key=str)


def _committed(path: str) -> Counter[int]:
    """How often each batch is in a table's history."""
    notes = [entry.get("userMetadata") for entry in DeltaTable(path).history()]
    return Counter(json.loads(note)["batch"] for note in notes if note and "app_id" in note)


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_killed_overwrite_heals(
    name: str, tmp_path: Path, spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One table, a batch for each point: killed there, and finished by a run on the next day."""
    situation = SITUATIONS[name]
    estate = Estate(tmp_path, "spark", spark_session)
    estate.contract.write_text(_CONTRACT.format(more=situation.more))
    _drop(estate, BATCHES[0])
    _run(estate)
    if situation.prepare:
        spark_session.sql(situation.prepare.format(_target(estate)))
    held = BATCHES[0]
    for point, batch in zip(POINTS, BATCHES[1:], strict=True):
        _drop(estate, batch)
        with killed_in_process(point, monkeypatch):
            _run(estate, situation.window)
        held = situation.after(held, batch)
        # The source stays as it is, so that a batch of the healing run itself changes no row.
        _run(estate, situation.window, TODAY if name != "snapshot" else TOMORROW)
        days = ("2026-03-09", "2026-03-10") if name == "snapshot" else (None,)
        expected = [(str(i), str(v), str(d), *([day] if day else [])) for i, v, d in held for day in days]
        assert _rows(estate) == sorted(expected, key=str), point
    for path in (_target(estate), f"{_target(estate)}_quarantine"):
        assert set(_committed(path).values()) == {1}, path
    # The first batch, and twice for each point: the killed one and that of the run which finished it.
    assert sorted(_committed(f"{_target(estate)}_quarantine")) == list(range(1, 8))
