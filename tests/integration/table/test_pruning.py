"""The condition that narrows a table for a batch: never loses a row that could match, and does leave files out."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from deltalake import DeltaTable, write_deltalake
from tests.integration.table.conftest import column

from lakelogic.plan.files import StagedFile
from lakelogic.table.protocol import TableShape
from lakelogic.table.pruning import (
    MAX_RANGES,
    _bounds,
    count_repeated,
    find_ranges,
    render_literal,
    round_outward,
    target_predicate,
)

_START = datetime(2024, 1, 1, tzinfo=UTC)
# By type: the n-th value in order.
_VALUES: dict[str, Any] = {
    "bigint": lambda n: n,
    "int": lambda n: n - 500,
    "date": lambda n: date(2024, 1, 1) + timedelta(days=n),
    "string": lambda n: f"{'long prefix of forty characters or more ' * (n % 2)}{n:05d} 'quoted' \\ back",
    "decimal(12,2)": lambda n: Decimal(n) / 4,
    "timestamp": lambda n: _START + timedelta(microseconds=n * 333),
    "timestamp_ntz": lambda n: datetime(2024, 1, 1) + timedelta(seconds=n),
    "double": lambda n: n / 3,
    "boolean": lambda n: n % 2 == 0,
}
_ARROW = {
    "bigint": pa.int64(), "int": pa.int32(), "date": pa.date32(), "string": pa.string(), "boolean": pa.bool_(),
    "decimal(12,2)": pa.decimal128(12, 2), "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"), "double": pa.float64(),
}  # fmt: skip


def _table(path: Path, type_: str, files: list[list[int]]) -> DeltaTable:
    for numbers in files:
        write_deltalake(str(path), _rows(type_, numbers), mode="append")
    return DeltaTable(str(path))


def _rows(type_: str, numbers: list[int]) -> pa.Table:
    return pa.table({"k": pa.array([_VALUES[type_](n) for n in numbers], _ARROW[type_]), "n": numbers})


def _staged(path: Path, type_: str, numbers: list[int]) -> tuple[StagedFile, ...]:
    folder = path / "staged"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(_rows(type_, numbers), folder / "part.parquet")
    return (StagedFile("staged/part.parquet", 1, len(numbers)),)


def _kept(table: DeltaTable, predicate: str) -> set[int]:
    rows = table.to_pyarrow_table()
    assert rows.num_rows
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        connection.register("t", rows)
        condition = sqlglot.transpile(f"SELECT n FROM t WHERE {predicate}", read="spark", write="duckdb")[0]
        return {row[0] for row in connection.execute(condition).fetchall()}


@pytest.mark.parametrize("type_", _VALUES)
def test_no_row_that_could_match_is_left_out(type_: str, tmp_path: Path) -> None:
    chance = random.Random(type_)
    files = [chance.sample(range(low, low + 140), 40) for low in range(0, 1000, 125)]
    table = _table(tmp_path, type_, files)
    there = {n for numbers in files for n in numbers}
    shape = TableShape((column("k", type_), column("n", "bigint")))
    for round_ in range(8):
        clusters = [chance.randrange(1000) for _ in range(1 + round_ % 4)]
        batch = sorted({low + chance.randrange(15) for low in clusters for _ in range(10)})
        staged = _staged(tmp_path, type_, batch)
        predicate = target_predicate(table, str(tmp_path), staged, shape, ["k"], alias="t")
        assert there & set(batch) <= _kept(table, predicate), predicate


def test_separated_clusters_become_ranges_and_gaps_are_not_read(tmp_path: Path) -> None:
    table = _table(tmp_path, "bigint", [list(range(low, low + 100)) for low in range(0, 1000, 100)])
    shape = TableShape((column("k", "bigint"), column("n", "bigint")))

    def found(keys: list[int]) -> str:
        return target_predicate(table, str(tmp_path), _staged(tmp_path, "bigint", keys), shape, ["k"], alias="t")

    # The bounds of the files that can hold a key, and no key of the batch itself.
    assert found([105, 110, 950, 2000]) == "(t.`k` BETWEEN 100L AND 199L OR t.`k` BETWEEN 900L AND 999L)"
    assert found([105, 205]) == "(t.`k` BETWEEN 100L AND 199L OR t.`k` BETWEEN 200L AND 299L)"
    assert found([199, 200]) == "(t.`k` = 199L OR t.`k` = 200L)"
    # No file can hold these: the range is open where no bound comes.
    assert found([2000, 3000]) == "t.`k` >= 999L"
    assert found([-7]) == "t.`k` <= 0L"
    assert found([-7, 3000]) == "TRUE"


@pytest.mark.parametrize("type_", [name for name in _VALUES if name not in ("double", "boolean", "timestamp_ntz")])
def test_every_literal_stands_in_the_log(type_: str, tmp_path: Path) -> None:
    table = _table(tmp_path, type_, [list(range(low, low + 100)) for low in range(0, 1000, 100)])
    bounds, complete = _bounds(table, column("k", type_))
    assert complete
    ends = {end for pair in bounds for end in pair} | {None}
    chance = random.Random(type_)
    for size in (1, 3, 10):
        staged = _staged(tmp_path, type_, sorted(chance.randrange(-50, 1050) for _ in range(size)))
        for known in (bounds, None):  # None: where the log is silent about a file
            ranges = round_outward(find_ranges(known, str(tmp_path), staged, column("k", type_)), bounds)
            assert {end for pair in ranges for end in pair} <= ends


def test_many_clusters_become_few_ranges(tmp_path: Path) -> None:
    staged = _staged(tmp_path, "bigint", list(range(0, 10_000, 100)))
    bounds = [(n, n + 10) for n in range(0, 10_000, 100)]
    ranges = find_ranges(bounds, str(tmp_path), staged, column("k", "bigint"))
    assert len(ranges) == MAX_RANGES
    assert (ranges[0][0], ranges[-1][1]) == (0, 9900)


def test_a_file_without_bounds_may_hold_any_key(tmp_path: Path) -> None:
    staged = _staged(tmp_path, "bigint", [5, 900])
    assert find_ranges(None, str(tmp_path), staged, column("k", "bigint")) == [(5, 900)]


def test_partition_keys_are_listed_and_doubts_are_not(tmp_path: Path) -> None:
    table = _table(tmp_path, "bigint", [[1]])
    shape = TableShape((column("day", "date"), column("v", "string")), partition_by=("day",))
    files = [StagedFile("a", 1, 1, {"day": "2024-01-02"}), StagedFile("b", 1, 1, {"day": "2024-01-01"})]
    found = target_predicate(table, str(tmp_path), files, shape, ["day"], alias="t")
    assert found == "t.`day` IN (DATE'2024-01-01', DATE'2024-01-02')"
    unknown = [*files, StagedFile("c", 1, 1, {"day": None})]
    assert target_predicate(table, str(tmp_path), unknown, shape, ["day"], alias="t") == "TRUE"


def test_literals_have_the_type_of_the_column() -> None:
    assert render_literal(5, column("k", "smallint").type) == "5S"
    assert render_literal(Decimal("1E+3"), column("k", "decimal(5,0)").type) == "1000BD"
    assert render_literal("it's \\", column("k", "string").type) == "'it\\'s \\\\'"
    moment = datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=UTC)
    assert render_literal(moment, column("k", "timestamp").type) == "TIMESTAMP'2024-01-01 01:02:03.000004Z'"


def test_repeated_keys_are_counted_without_a_job_where_equal_values_have_equal_bytes(tmp_path: Path) -> None:
    shape = TableShape((column("k", "bigint"), column("n", "bigint")))
    files = _staged(tmp_path, "bigint", [1, 2, 2, 3, 3, 3])
    assert count_repeated(str(tmp_path), files, shape, ["k"]) == 2
    assert count_repeated(str(tmp_path), files, shape, ["k", "n"]) == 2
    assert count_repeated(str(tmp_path), _staged(tmp_path, "bigint", [1, 2]), shape, ["k"]) == 0
    floating = TableShape((column("k", "double"), column("n", "bigint")))
    assert count_repeated(str(tmp_path), files, floating, ["k"]) is None
