"""One table, three engines: Spark, DuckDB and Polars take turns, and after each the table is what a model says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
# Each comes after each other one.
TURNS = "sdpdsppdsdpdpsdppdsp"
ENGINES = {"s": "spark", "d": "duckdb", "p": "polars"}
Row = dict[str, Any]

_MERGE = """
version: "1.0.0"
dataset: rows
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model:
  fields:
    - { name: id, type: long, required: true }
    - { name: place, type: string }
    - { name: at, type: timestamp }
    - { name: price, type: "decimal(12,2)" }
    - { name: share, type: double }
    - { name: note, type: string }
    - { name: gone, type: boolean }
materialization:
  strategy: merge
  target_path: lake/rows
  primary_key: [id]
  partition_by: [place]
  merge: { order_by: [at desc], delete_when: gone }
"""
_CDC = """
version: "1.0.0"
dataset: rows
source:
  path: landing
  pattern: "*.csv"
  load_mode: cdc
  cdc: { format: flat, operation_field: op, order_by: [at], deletes: soft }
model:
  fields:
    - { name: id, type: long, required: true }
    - { name: price, type: "decimal(12,2)" }
    - { name: note, type: string }
    - { name: at, type: int }
materialization:
  strategy: cdc
  target_path: lake/rows
  primary_key: [id]
  soft_delete: { column: gone, time_column: gone_at, reason_column: why }
"""


class Estate:
    """A dataset in a folder of its own, that every engine may load."""

    def __init__(self, folder: Path, contract: str, spark: Any) -> None:
        self.folder, self.spark = folder, spark
        (folder / "landing").mkdir(parents=True)
        (folder / "contract.yaml").write_text(contract, encoding="utf-8")

    def feed(self, turn: int, rows: list[Row]) -> Any:
        lines = [",".join(rows[0]), *[",".join("" if v is None else str(v) for v in row.values()) for row in rows], ""]
        (self.folder / "landing" / f"{turn:03}.csv").write_text("\n".join(lines), encoding="utf-8")
        engine = ENGINES[TURNS[turn]]
        spark = self.spark if engine == "spark" else None
        with DataProcessor(self.folder / "contract.yaml", engine, spark, settings=Settings()) as processor:
            return processor.run()

    def rows(self, *names: str) -> dict[int, tuple[str | None, ...]]:
        found = read_rows(str(self.folder / "lake" / "rows")).rows
        assert len({row["id"] for row in found}) == len(found)
        return {row["id"]: tuple(_text(row[name]) for name in names) for row in found}


def _text(value: Any) -> str | None:
    if hasattr(value, "strftime"):
        return str(value.strftime("%Y-%m-%d %H:%M:%S"))
    return None if value is None else str(value)


def _moment(chance: random.Random) -> str | None:
    return chance.choice([None, f"2026-11-0{chance.randint(1, 9)} 10:00:0{chance.randint(0, 9)}"])


def _merged(model: dict[int, Row], rows: list[Row]) -> None:
    """The newest row of each key, if it is not older than the one that is there; what comes of it is a row or none."""
    newest: dict[int, Row] = {}
    for row in rows:
        other = newest.get(row["id"])
        if other is None or _rank(row) > _rank(other):
            newest[row["id"]] = row
    for key, row in newest.items():
        there = model.get(key)
        if there is not None and (row["at"] or "") < (there["at"] or ""):
            continue
        model.pop(key, None)
        if row["gone"] != "true":
            model[key] = row


def _rank(row: Row) -> tuple[Any, ...]:
    """By time, then by the other columns as they stand in the table; nothing is less than any value."""
    ties = (row["place"], row["price"], row["share"], row["note"], row["gone"] == "true")
    return (row["at"] or "", *[(value is not None, "" if value is None else value) for value in ties])


def test_engines_merge_into_one_table_in_turns(tmp_path: Path, spark_session: Any) -> None:
    chance = random.Random(20)
    estate, model = Estate(tmp_path / "merge", _MERGE, spark_session), dict[int, Row]()
    for turn in range(len(TURNS)):
        batch = [
            {
                "id": chance.randint(1, 40),
                "place": chance.choice([None, "north", "so/uth", "a b"]),
                "at": _moment(chance),
                "price": f"{chance.randint(10, 99)}.{chance.randint(10, 99)}",
                "share": chance.choice([None, "0.25", "1.5"]),
                "note": chance.choice([None, "x", f"turn {turn}", "é'`\\"]),
                "gone": chance.choice(["false", "false", "true"]),
            }
            for _ in range(12)
        ]
        before = set(model)
        _merged(model, batch)
        result = estate.feed(turn, batch)
        names = ("place", "at", "price", "share", "note")
        assert estate.rows(*names) == {key: tuple(row[n] for n in names) for key, row in model.items()}, turn
        if turn:
            assert result.changes.inserted == len(set(model) - before)
            assert result.changes.deleted == len(before - set(model))


def test_engines_apply_change_events_to_one_table_in_turns(tmp_path: Path, spark_session: Any) -> None:
    """The events of one source in any order: after the last turn the table is what its history came to."""
    chance = random.Random(9)
    estate = Estate(tmp_path / "cdc", _CDC, spark_session)
    events = [
        {
            "op": chance.choice(["I", "U", "U", "D"]),
            "id": chance.randint(1, 12),
            "price": f"{number}.50",
            "note": chance.choice([None, "x"]),
            "at": number,
        }
        for number in range(60)
    ]
    events.append({"op": "T", "id": None, "price": None, "note": None, "at": 20})
    chance.shuffle(events)
    for turn in range(9):
        estate.feed(turn, events[turn * 7 : turn * 7 + 7])
        assert estate.rows("price", "gone", "why") == _states(events[: turn * 7 + 7]), turn


def _states(events: list[Row]) -> dict[int, tuple[str | None, ...]]:
    cut = max((event["at"] for event in events if event["op"] == "T"), default=-1)
    found: dict[int, tuple[str | None, ...]] = {}
    for key in {event["id"] for event in events if event["op"] in "IU"}:
        image = max((e for e in events if e["id"] == key and e["op"] in "IU"), key=lambda e: e["at"])
        deleted = max((e["at"] for e in events if e["id"] == key and e["op"] == "D"), default=-1)
        gone = max(deleted, cut) > image["at"]
        why = ("delete" if deleted > cut else "truncate") if gone else None
        found[key] = (image["price"], str(gone), why)
    return found
