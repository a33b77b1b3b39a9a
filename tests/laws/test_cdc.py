"""Laws of change events: what a table comes to does not depend on the order in which events arrive.

Every key of the table is a history of its own: creates, changes, deletes, re-adds, duplicates, NULLs, ties and
truncates. Sorted in one batch, or shuffled over several with repetitions and breakdowns between, the table is what
the oracle says. LAKELOGIC_LAW_EXAMPLES asks for more histories than the default.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core import faults
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows

_SPARK = pytest.mark.spark
HISTORIES = max(500, int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40")) * 12)
START_MS = 1_700_000_000_000
Event = dict[str, Any]


def make_histories(chance: random.Random, keys: int) -> list[Event]:
    """Events of all keys in the order of their source; positions repeat and some are missing."""
    events: list[Event] = []
    for key in range(keys):
        for _ in range(chance.randint(1, 6)):
            op = chance.choice("cuurdd")
            row = {"id": key, "v": chance.choice([None, 1, 2, 30, -4]), "w": chance.choice([None, "", "x", "yy"])}
            lsn = chance.choice([None, *range(8, 120)])
            event = {"op": op, "source": {"lsn": lsn, "ts_ms": START_MS + chance.randint(0, 3)}, "ts_ms": START_MS + 9}
            image = (
                {"before": {"id": key, "v": 0, "w": "old"}, "after": None}
                if op == "d"
                else {"before": None, "after": row}
            )
            events.append({**image, **event})
            if chance.random() < 0.2:
                events.append(events[-1])
    for lsn in (40, 77):
        source = {"lsn": lsn, "ts_ms": START_MS + lsn}
        events.append({"before": None, "after": None, "op": "t", "source": source, "ts_ms": START_MS + 9})
    return sorted(events, key=lambda event: event["source"]["lsn"] or 0)


def place(event: Event) -> tuple[Any, ...]:
    """Where an event stands among all others: source position, time, and then anything that does not change."""
    lsn = event["source"]["lsn"]
    image = event["before"] if event["op"] == "d" else event["after"]
    digest = hashlib.md5(compact(image).encode() if image else b"").hexdigest()
    rank = {"d": 1, "t": 2}.get(event["op"], 0)
    return (-1 if lsn is None else lsn, event["source"]["ts_ms"], event["ts_ms"], rank, digest)


def oracle(events: list[Event], *, soft: bool) -> dict[int, tuple[Any, ...]]:
    """The newest image of each key, and whether a newer delete or truncate is known."""
    cuts = [event for event in events if event["op"] == "t"]
    images: dict[int, Event] = {}
    gone: dict[int, Event] = {}
    for event in sorted(events, key=place):
        if event["op"] == "d":
            gone[event["before"]["id"]] = event
        elif event["op"] != "t":
            images[event["after"]["id"]] = event
    rows = {}
    for key, image in images.items():
        last = max([*cuts, *([gone[key]] if key in gone else [])], key=place)
        values = (image["after"]["v"], image["after"]["w"])
        if place(last) < place(image):
            rows[key] = (*values, False, None, None) if soft else values
        elif soft:
            why = "truncate" if last["op"] == "t" else "delete"
            rows[key] = (*values, True, last["source"]["ts_ms"], why)
    return rows


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


_CONTRACT = """
version: "1.0.0"
dataset: rows
source: {{ path: landing, format: jsonl, load_mode: cdc, cdc: {{ deletes: {deletes} }} }}
model:
  fields:
    - {{ name: id, type: long, required: true }}
    - {{ name: v, type: int }}
    - {{ name: w, type: string }}
materialization:
  strategy: cdc
  target_path: lake/rows
  primary_key: [id]
{soft}
"""
_SOFT = "  soft_delete: { column: gone, time_column: gone_at, reason_column: why }"


class Estate:
    """A dataset of change events in a folder of its own."""

    def __init__(self, folder: Path, engine: str, spark: Any, *, soft: bool) -> None:
        self.folder, self.engine, self.spark, self.soft = folder, engine, spark, soft
        (folder / "landing").mkdir(parents=True)
        text = _CONTRACT.format(deletes="soft" if soft else "hard", soft=_SOFT if soft else "")
        (folder / "contract.yaml").write_text(text, encoding="utf-8")

    def feed(self, name: str, events: list[Event]) -> None:
        text = "".join(compact(event) + "\n" for event in events)
        (self.folder / "landing" / name).write_text(text, encoding="utf-8")

    def run(self) -> Any:
        with DataProcessor(self.folder / "contract.yaml", self.engine, self.spark, settings=Settings()) as processor:
            return processor.run()

    def rows(self) -> dict[int, tuple[Any, ...]]:
        found = read_rows(str(self.folder / "lake" / "rows")).rows
        assert len({row["id"] for row in found}) == len(found)
        return {row["id"]: self._row(row) for row in found}

    def _row(self, row: Any) -> tuple[Any, ...]:
        if not self.soft:
            return (row["v"], row["w"])
        at = row["gone_at"]
        return (row["v"], row["w"], row["gone"], round(at.timestamp() * 1000) if at else None, row["why"])


def broken(estate: Estate, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that breaks down at a point, as a disk that fails would do it."""
    faults._reached.clear()
    with monkeypatch.context() as patch:
        patch.setenv("LAKELOGIC_FAULT", point)
        patch.setenv("LAKELOGIC_FAULT_MODE", "raise")
        with pytest.raises(OSError, match=point):
            estate.run()


@pytest.fixture
def spark_of(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """The session of the tests for the engine that needs one."""
    return lambda engine: request.getfixturevalue("spark_session") if engine == "spark" else None


@pytest.mark.parametrize(
    ("engine", "soft"),
    [
        pytest.param("spark", True, marks=_SPARK, id="spark-soft"),
        pytest.param("spark", False, marks=_SPARK, id="spark-hard"),
        pytest.param("duckdb", True, id="duckdb-soft"),
        pytest.param("polars", False, id="polars-hard"),
    ],
)
def test_law_the_order_of_arrival_does_not_matter(
    soft: bool, engine: str, tmp_path: Path, spark_of: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, session = random.Random(7 if soft else 8), spark_of(engine)
    # The other engines run what is the same for all; the number is for Spark to show.
    events = make_histories(chance, HISTORIES if engine == "spark" else 120)
    wanted = oracle(events, soft=soft)

    calm = Estate(tmp_path / "calm", engine, session, soft=soft)
    calm.feed("all.jsonl", events)
    assert calm.run().counts.read == len(events)
    assert calm.rows() == wanted

    wild = Estate(tmp_path / "wild", engine, session, soft=soft)
    shuffled = chance.sample(events, len(events))
    third = len(shuffled) // 3
    wild.feed("1.jsonl", shuffled[:third])
    broken(wild, "after_deletes_commit", monkeypatch)
    wild.feed("2.jsonl", [*shuffled[third : 2 * third], *chance.sample(shuffled[:third], 50)])
    wild.run()  # finishes the batch that broke, then takes the next
    wild.feed("3.jsonl", shuffled[2 * third :])
    broken(wild, "after_target_commit", monkeypatch)
    assert wild.run().status == "succeeded"
    assert wild.run().status == "no_new_data"
    assert wild.rows() == wanted
