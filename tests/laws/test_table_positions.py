"""Rows of a Delta source are read once, whatever is done to its files between two runs."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from lakelogic.core.errors import RunError
from lakelogic.core.slices import RUN_ID_COLUMN, TableSlice
from lakelogic.engine.local.read_delta import read_delta
from lakelogic.source.next_slice import Position, next_slice
from lakelogic.source.table_news import lost_rows

INTERLEAVINGS = 200
STEPS = 9


class Estate:
    """A Bronze table and a reader that goes on where it stopped, as the journal would have it."""

    def __init__(self, path: Path, *, partitioned: bool = False, stamped: bool = True) -> None:
        self.path = str(path)
        self.partition_by = ["part"] if partitioned else None
        self.stamped = stamped
        self.written = 0
        self.read: Counter[int] = Counter()
        self.position: TableSlice | None = None
        self.append()

    def append(self) -> None:
        ids = list(range(self.written, self.written + 3))
        self.written += 3
        run = f"run-{self.written}"
        rows = {"id": ids, "part": [f"p {n % 2}/ä" for n in ids], RUN_ID_COLUMN: [run] * 3}
        told = json.dumps({"app_id": "lakelogic:bronze", "batch": self.written, "run_id": run})
        properties = CommitProperties(custom_metadata={"userMetadata": told}) if self.stamped else None
        write_deltalake(
            self.path, pa.table(rows), mode="append", partition_by=self.partition_by, commit_properties=properties
        )

    def optimize(self) -> None:
        DeltaTable(self.path).optimize.compact()

    def vacuum(self) -> None:
        DeltaTable(self.path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    def choose(self) -> TableSlice | None:
        position = Position(files=lambda: None, table=lambda _: self.position)
        chosen, _ = next_slice(self.path, load_mode="incremental", position=position)
        assert chosen is None or isinstance(chosen, TableSlice)
        return chosen

    def run(self, chosen: TableSlice | None = None) -> None:
        chosen = chosen or self.choose()
        if chosen is None:
            return
        rows = read_delta(chosen)
        found = duckdb.sql(f"SELECT id, {RUN_ID_COLUMN} FROM rows").fetchall()
        wanted = [id_ for id_, run in found if not chosen.run_ids or run in chosen.run_ids]
        assert rows is not None
        self.read.update(wanted)
        self.position = chosen


@pytest.mark.parametrize("seed", range(8))
def test_no_row_is_lost_or_doubled_by_any_interleaving(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for number in range(INTERLEAVINGS // 8):
        estate = Estate(tmp_path / str(number), partitioned=number % 4 == 0)
        steps = chance.choices(["append", "optimize", "vacuum", "run", "killed"], [3, 2, 2, 2, 1], k=STEPS)
        for step in steps:
            if step != "killed":
                getattr(estate, step)()
                continue
            # A batch was prepared, its process died, and the table went on before the next run came.
            prepared = estate.choose()
            for between in chance.choices(["append", "optimize", "vacuum"], k=2):
                getattr(estate, between)()
            if prepared is not None:
                estate.run(prepared if lost_rows(prepared) is None else None)
        estate.run()
        assert estate.read == Counter(range(estate.written)), f"{seed}/{number}: {steps}"


def test_a_table_that_others_write_is_never_read_wrong(tmp_path: Path) -> None:
    estate = Estate(tmp_path / "t", stamped=False)
    estate.run()
    for step in ("append", "optimize"):
        getattr(estate, step)()
    estate.run()
    assert estate.read == Counter(range(6)), "the files that were compacted are still there"
    for step in ("append", "optimize", "vacuum"):
        getattr(estate, step)()
    with pytest.raises(RunError, match="compacted and vacuumed before its rows were read") as told:
        estate.run()
    assert told.value.problem.code == "LL438"


def test_rows_that_are_written_again_are_not_read_as_new(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"id": [1, 2]}))
    read = TableSlice(path, 0)
    DeltaTable(path).update(updates={"id": "id + 10"}, predicate="id = 2")
    position = Position(files=lambda: None, table=lambda _: read)
    with pytest.raises(RunError, match="wrote rows again") as told:
        next_slice(path, load_mode="incremental", position=position)
    assert "delta.enableChangeDataFeed" in str(told.value.problem.hint)
    chosen, _ = next_slice(path, load_mode="incremental", position=position, repeatable=True)
    assert isinstance(chosen, TableSlice) and (chosen.version, chosen.after_version) == (1, 0)
    DeltaTable(path).delete()
    assert next_slice(path, load_mode="incremental", position=Position(lambda: None, lambda _: chosen)) == (
        None,
        "no rows were added since version 1",
    )


def test_a_change_feed_tells_new_rows_from_rewritten_ones(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"id": [1, 2]}), configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(path).update(updates={"id": "id + 10"}, predicate="id = 2")
    position = Position(files=lambda: None, table=lambda _: TableSlice(path, 0))
    chosen, _ = next_slice(path, load_mode="incremental", position=position)
    assert isinstance(chosen, TableSlice)
    rows = read_delta(chosen)
    assert rows.column("id").to_pylist() == [12]


def test_rows_of_a_replaced_day_that_came_back_as_they_were_are_not_new(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = {"day": ["1", "1", "1", "2"], "n": [1, 1, None, 3], "tags": [["a"], ["a"], None, []]}
    stamped = {**rows, "_lakelogic_run_id": ["first"] * 4}
    write_deltalake(path, pa.table(stamped), configuration={"delta.enableChangeDataFeed": "true"})
    again = {"day": ["1"] * 4, "n": [1, 1, 1, 4], "tags": [["a"]] * 4, "_lakelogic_run_id": ["second"] * 4}
    for run in ("second", "third"):  # a day that is replaced twice tells its own rows as gone, too
        again["_lakelogic_run_id"] = [run] * 4
        write_deltalake(path, pa.table(again), mode="overwrite", predicate="day = '1'")
    new = read_delta(TableSlice(path, 2, after_version=0)).to_pylist()
    assert sorted((row["n"], row["_lakelogic_run_id"]) for row in new) == [(1, "third"), (4, "third")]


def test_a_row_that_went_and_came_back_is_not_read_twice(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"id": [1, 2]}), configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(path).delete("id = 2")
    write_deltalake(path, pa.table({"id": [2, 3]}), mode="append")
    assert read_delta(TableSlice(path, 2, after_version=0)).column("id").to_pylist() == [3]
