"""Laws of a merge with an order: what a table comes to does not depend on the order in which rows arrive.

Every key of the table is a history of its own. Sorted in one batch, or shuffled over several with repetitions and
breakdowns between, each key ends with its newest row, also where a run was killed when its files were written.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import killed_in_process

from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows

KEYS = 300
Row = tuple[int, int, int | None, str]  # day, number, time, value

_CONTRACT = """
version: "1.0.0"
dataset: rows
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model:
  fields:
    - { name: day, type: int }
    - { name: id, type: long, required: true }
    - { name: at, type: int }
    - { name: v, type: string }
materialization:
  strategy: merge
  target_path: lake/rows
  primary_key: [day, id]
  partition_by: [day]
  merge: { order_by: [at desc] }
"""


class Estate:
    """A dataset in a folder of its own."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.folder, self.engine = folder, engine
        (folder / "landing").mkdir(parents=True)
        (folder / "contract.yaml").write_text(_CONTRACT, encoding="utf-8")

    def feed(self, name: str, rows: list[Row]) -> None:
        lines = ["day,id,at,v", *[",".join("" if v is None else str(v) for v in row) for row in rows], ""]
        (self.folder / "landing" / name).write_text("\n".join(lines), encoding="utf-8")

    def run(self) -> Any:
        with DataProcessor(self.folder / "contract.yaml", self.engine, settings=Settings()) as processor:
            return processor.run()

    def rows(self) -> dict[tuple[int, int], tuple[int | None, str | None]]:
        found = read_rows(str(self.folder / "lake" / "rows")).rows
        assert len({(row["day"], row["id"]) for row in found}) == len(found)
        return {(row["day"], row["id"]): (row["at"], row["v"]) for row in found}


def make_rows(chance: random.Random) -> list[Row]:
    """Several rows of each key, no two at the same time; the same number is another key on another day."""
    rows: list[Row] = []
    for key in range(KEYS):
        times: list[int | None] = [*chance.sample(range(90), chance.randint(1, 4)), None]
        rows += [(key % 3, key // 2, at, f"v{key}-{at}") for at in chance.sample(times, chance.randint(1, len(times)))]
    return rows


def newest(rows: list[Row]) -> dict[tuple[int, int], tuple[int | None, str]]:
    ordered = sorted(rows, key=lambda row: -1 if row[2] is None else row[2])
    return {(day, key): (at, value) for day, key, at, value in ordered}


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_law_the_order_of_arrival_does_not_matter(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(11)
    rows = make_rows(chance)
    wanted = newest(rows)

    calm = Estate(tmp_path / "calm", engine)
    calm.feed("all.csv", rows)
    assert calm.run().counts.read == len(rows)
    assert calm.rows() == wanted

    wild = Estate(tmp_path / "wild", engine)
    shuffled = chance.sample(rows, len(rows))
    third = len(shuffled) // 3
    wild.feed("1.csv", shuffled[:third])
    wild.run()
    wild.feed("2.csv", [*shuffled[third : 2 * third], *chance.sample(shuffled[:third], 50)])
    with killed_in_process("after_merge_files", monkeypatch):
        wild.run()
    wild.feed("3.csv", shuffled[2 * third :])
    wild.run()  # finishes the batch that broke, then takes the next
    assert wild.run().status == "no_new_data"
    assert wild.rows() == wanted
    folders = [path.name.split("-")[1] for path in (tmp_path / "wild" / "lake" / "rows").glob("batch-*")]
    assert len(set(folders)) == len(folders), "what the killed attempt left is gone"
