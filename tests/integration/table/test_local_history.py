"""Histories without a JVM: the versions, keys and memories that Spark makes, on the same table, taking turns."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from deltalake import DeltaTable
from sqlglot import exp
from tests.laws.histories import START, Seen, oracle
from tests.laws.history_table import History

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.registry import open_engine
from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.history import history_columns
from lakelogic.plan.model import DELETE_COLUMN, Column
from lakelogic.plan.types import named
from lakelogic.plan.writes import WriteScd2
from lakelogic.table.delta_rs import DeltaRsTable
from lakelogic.table.delta_spark import SparkDeltaTable
from lakelogic.table.history_json import render_json
from lakelogic.table.history_store import store_path
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.protocol import CommitId, TableLocation, TableShape

NAUGHTY = ["", " ", 'a"b', "a\\b", "a/b", "é😀", "\x00\x01\x1f\x7f\u2028", "\b\t\n\f\r", "'", "%", "null", "a,b"]
PLACE = pa.struct([("zip", pa.int32()), ("city", pa.string())])
TYPES = {
    "name": ("string", pa.string()), "part": ("decimal(8,3)", pa.decimal128(8, 3)), "day": ("date", pa.date32()),
    "open": ("boolean", pa.bool_()), "at": ("timestamp", pa.timestamp("us", "UTC")), "tier": ("string", pa.string()),
    "score": ("double", pa.float64()), "place": ("struct<zip: int, city: string>", PLACE),
    "kind": ("string", pa.string()), DELETE_COLUMN: ("boolean", pa.bool_()),
    "_lakelogic_run_id": ("string", pa.string()),
}  # fmt: skip
KEYS = ("name", "part", "day", "open")
WRITE = WriteScd2(
    keys=KEYS, timestamp="at", tracked=("tier", "score", "place"), untracked=("kind",), opaque=(),
    valid_from="valid_from", valid_to="valid_to", current="is_current", version="version", end="9999-12-31",
    surrogate="sk", deletes=True, unknown_names=("sk", *KEYS, "tier"),
    unknown_values=("-1", "?", "0", "1900-01-01", "false", "unknown"),
)  # fmt: skip
COLUMNS = tuple(Column(name, named(type_)) for name, (type_, _) in TYPES.items())


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, RowWriter]]:
    opened = {name: open_engine(name) for name in ("duckdb", "polars")}
    yield {name: engine for name, engine in opened.items() if isinstance(engine, RowWriter)}
    for engine in opened.values():
        engine.close()


@pytest.fixture(params=["duckdb", "polars"])
def engine(request: pytest.FixtureRequest, engines: dict[str, RowWriter]) -> RowWriter:
    return engines[request.param]


def seen(key: int, at: int, tier: str | None, note: str | None = None, *, gone: bool = False) -> Seen:
    return Seen(key, START + timedelta(days=at), gone, tier, note=note)


def fed(history: History, *observations: Seen) -> dict[str, int]:
    history.feed(observations)
    return dict(history.commit().metrics)


def stored(folder: Path) -> list[str]:
    return sorted(repr(row) for row in DeltaTable(store_path(str(folder))).to_pyarrow_table().to_pylist())


def test_only_partitions_with_changed_versions_are_rewritten_and_a_new_beginning_forgets(
    engine: RowWriter, tmp_path: Path
) -> None:
    history = History(engine, tmp_path / "t", ("key",))
    first = [seen(1, 1, "a"), seen(2, 1, "a"), seen(3, 1, "a")]
    fed(history, *first)
    second = [seen(1, 2, "a", "same"), seen(2, 2, "b"), seen(9, 1, None, gone=True)]
    metrics = fed(history, *second)
    assert (metrics["numTargetFilesRemoved"], metrics["numTargetRowsCopied"]) == (1, 0)
    assert (metrics["numTargetRowsUpdated"], metrics["numTargetRowsInserted"]) == (1, 1)
    version = DeltaTable(str(history.folder)).version()
    remembered = stored(history.folder)
    fed(history, *second)  # nothing new: the batch is recorded, no file is touched
    assert DeltaTable(str(history.folder)).version() == version + 1
    assert history.table.find_committed("t") == 3
    assert history.versions() == oracle([*first, *second])
    assert len(remembered) == len(stored(history.folder)) == 2

    DeltaTable(str(history.folder)).delete()  # as `lakelogic reset` does
    anew = [seen(9, 0, "a"), seen(1, 1, "a"), seen(1, 3, "b")]
    fed(history, *anew)
    late = [seen(9, 2, "b"), seen(1, 2, "b")]
    fed(history, *late)
    assert history.versions() == oracle([*anew, *late])


def test_another_list_of_tracked_columns_keeps_what_was_remembered(engine: RowWriter, tmp_path: Path) -> None:
    history = History(engine, tmp_path / "t", tracked=("tier",), untracked=("code", "score", "note"))
    rows = [replace(seen(1, 1, "a"), code="x"), replace(seen(1, 5, "a"), code="y")]
    fed(history, *rows)
    history.write = replace(history.write, tracked=("tier", "code", "score"), untracked=("note",))
    late = replace(seen(1, 3, "b"), code="z")
    fed(history, late)
    assert history.versions() == oracle([*rows, late])


def test_what_only_spark_can_write_is_refused_before_anything_is_written(engine: RowWriter, tmp_path: Path) -> None:
    history = History(engine, tmp_path / "t")
    fed(history, seen(1, 1, "a"))
    DeltaTable(str(history.folder)).alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
    history.feed([seen(1, 2, "b")])
    with pytest.raises(CapabilityError, match="a change data feed, which strategy `scd2` cannot honour without Spark"):
        history.table.check(history.write, history.files, history.shape, policy="compatible")

    listed = replace(history.shape, columns=(*history.shape.columns, Column("tags", named("array<string>"))))
    write = replace(history.write, untracked=("note", "tags"))
    with pytest.raises(CapabilityError, match="of `tags`, a column of type array<string>"):
        history.table.check(write, history.files, listed, policy="compatible")


class Turns:
    """A history with keys of many types, to which whoever is named commits."""

    def __init__(self, folder: Path, spark: Any, engines: dict[str, RowWriter]) -> None:
        place = TableLocation("t", str(folder))
        self.folder, self.number = folder, 0
        self.tables = {"spark": SparkDeltaTable(place, spark)}
        self.tables |= {name: DeltaRsTable(place, rows) for name, rows in engines.items()}  # type: ignore[misc]
        self.shape = TableShape(history_columns(WRITE, COLUMNS))

    def commit(self, engine: str, rows: Sequence[dict[str, Any]]) -> None:
        self.number += 1
        path = f"merge-{self.number:08d}-x/part-0.parquet"
        (self.folder / path).parent.mkdir(parents=True)
        schema = pa.schema([(name, type_) for name, (_, type_) in TYPES.items()])
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), self.folder / path)
        file = StagedFile(path, (self.folder / path).stat().st_size, len(rows))
        commit_id = CommitId("t", self.number, f"run {self.number}")
        self.tables[engine].commit(WRITE, [file], self.shape, commit_id)

    def rows(self) -> list[str]:
        return sorted(repr(row) for row in DeltaTable(str(self.folder)).to_pyarrow_table().to_pylist())


def observations(keys: int, seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    found = []
    for number in range(keys):
        name, day = NAUGHTY[number % len(NAUGHTY)], date(2024, 1, 1) + timedelta(days=number)
        key = {"name": name, "part": Decimal(number - 5) / 8, "day": day, "open": number % 2 == 0}
        for _ in range(chance.randrange(1, 9)):
            row = {
                **key,
                "at": datetime(2024, 5, 1, tzinfo=UTC) + timedelta(hours=chance.randrange(9), microseconds=number),
                "tier": chance.choice([None, "", "a", "é"]),
                "score": chance.choice([None, 0.0, -0.0, float("nan"), 1.5]),
                "place": chance.choice([None, {"zip": None, "city": "x"}, {"zip": 1, "city": None}]),
                "kind": chance.choice([None, "x", "y"]),
                DELETE_COLUMN: chance.random() < 0.2 or None,
            }
            found.append(row)
    chance.shuffle(found)
    return found


@pytest.mark.spark
def test_engines_take_turns_on_one_history(spark_session: Any, engines: dict[str, RowWriter], tmp_path: Path) -> None:
    """Every batch has late rows, deletes and rows that come again; nobody can tell who wrote which."""
    rows, chance = observations(48, seed=7), random.Random(5)
    turns = ("duckdb", "spark", "polars", "duckdb", "spark", "polars")
    batches = [
        [
            {**row, "_lakelogic_run_id": f"run {number}"}
            for row in [*rows[number :: len(turns)], *chance.sample(rows, 5)]
        ]
        for number in range(len(turns))
    ]
    shared, alone = (Turns(tmp_path / name, spark_session, engines) for name in ("shared", "alone"))
    for name, batch in zip(turns, batches, strict=True):
        shared.commit(name, batch)
        alone.commit("duckdb", batch)
    assert shared.rows() == alone.rows()
    assert stored(shared.folder) == stored(alone.folder)
    assert len(stored(shared.folder)) > 40

    at_once = Turns(tmp_path / "at_once", spark_session, engines)
    at_once.commit("spark", [row for batch in batches for row in batch])
    assert shared.rows() == at_once.rows()
    assert len(at_once.rows()) > 100


@pytest.mark.spark
def test_the_text_that_a_surrogate_key_is_a_hash_of_is_sparks(
    spark_session: Any, engines: dict[str, RowWriter], tmp_path: Path
) -> None:
    moments = [datetime(1, 1, 2), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(9998, 12, 31, 0, 0, 0, 10)]
    columns = {
        "s": ("string", NAUGHTY), 'q"é': ("string", ["x"]), "i": ("tinyint", [-128, 127]),
        "l": ("bigint", [-(2**63), 2**63 - 1]), "b": ("boolean", [True, False]), "d": ("date", moments),
        "t": ("timestamp", moments), "n": ("timestamp_ntz", moments),
        "c": ("decimal(38,6)", [Decimal(0), Decimal("0.000001"), Decimal("-12.5"), Decimal(10) ** 31]),
        "w": ("decimal(5,0)", [Decimal(0), Decimal(-70000)]),
    }  # fmt: skip
    schema = ", ".join(f"`{name}` {type_}" for name, (type_, _) in columns.items())
    lines = [tuple(values[n % len(values)] for _, values in columns.values()) for n in range(len(NAUGHTY))]
    from pyspark.sql import functions as sf

    from lakelogic.table.history_rows import _text

    frame = spark_session.createDataFrame(lines, schema).coalesce(1)
    frame.write.parquet(str(tmp_path / "keys"))
    rows = spark_session.read.parquet(str(tmp_path / "keys"))
    told = sorted(row[0] for row in rows.select(_text(list(columns), rows.schema).alias("x")).collect())
    assert len(told) == len(NAUGHTY)

    types = [Column(name, named(type_)) for name, (type_, _) in columns.items()]
    sql = render_json([(c.name, c.type) for c in types])
    assert sorted(row[0] for row in rows.select(sf.expr(sql)).collect()) == told
    file = next((tmp_path / "keys").glob("*.parquet"))
    given = RowInput(str(tmp_path), (StagedFile(f"keys/{file.name}", 1, len(lines)),), tuple(types))
    query = sqlglot.parse_one(f"SELECT {sql} AS x FROM keys", dialect="databricks")
    assert isinstance(query, exp.Query)
    for name, engine in engines.items():
        assert sorted(row[0] for row in engine.read_rows(query, {"keys": given})) == told, name
