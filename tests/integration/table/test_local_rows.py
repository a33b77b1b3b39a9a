"""Row work without a JVM: queries over files of a table, the same on each engine of this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.registry import open_engine
from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.model import Column
from lakelogic.plan.types import named
from lakelogic.plan.writes import WriteCdc, WriteMerge
from lakelogic.table.adopt import create_empty, find_table
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.protocol import TableLocation, TableShape
from lakelogic.table.registry import open_table

COLUMNS = (
    Column("id", named("bigint")),
    Column("amount", named("decimal(10,2)")),
    Column("_lakelogic_at", named("timestamp")),
    Column("day", named("date")),
    Column("file", named("int")),
)


AMOUNTS = pa.array([1, 2], pa.decimal128(5, 1))
MOMENT = pa.array([datetime(2026, 1, 1)], pa.timestamp("ns"))


@pytest.fixture(params=["duckdb", "polars"])
def rows(request: pytest.FixtureRequest) -> Iterator[RowWriter]:
    engine = open_engine(request.param)
    assert isinstance(engine, RowWriter)
    writer: RowWriter = engine
    yield writer
    engine.close()


def query(sql: str) -> exp.Query:
    tree = sqlglot.parse_one(sql, dialect="databricks")
    assert isinstance(tree, exp.Query)
    return tree


def put(root: Path, number: int, day: str | None, table: dict[str, pa.Array]) -> StagedFile:
    path = root / f"{number}.parquet"
    pq.write_table(pa.table(table), path)
    found = pq.read_metadata(path).num_rows
    return StagedFile(path.name, path.stat().st_size, found, {"day": day, "file": str(number)})


def old_rows(root: Path) -> RowInput:
    """Files of other writers: narrower types, an instant without its zone, a column that is not there yet."""
    files = (
        put(root, 1, "2026-11-01", {"id": pa.array([1, 2], pa.int32()), "amount": AMOUNTS}),
        put(root, 2, None, {"id": pa.array([3]), "_lakelogic_at": MOMENT}),
    )
    return RowInput(str(root), files, COLUMNS)


def test_inputs_have_exactly_their_columns_and_types(rows: RowWriter, tmp_path: Path) -> None:
    found = rows.read_rows(query("SELECT * FROM old ORDER BY id"), {"old": old_rows(tmp_path)})
    day, at = datetime(2026, 11, 1).date(), datetime(2026, 1, 1, tzinfo=UTC)
    assert [tuple(row[:2]) for row in found] == [(1, Decimal("1.00")), (2, Decimal("2.00")), (3, None)]
    assert [tuple(row[2:]) for row in found] == [(None, day, 1), (None, day, 1), (at, None, 2)]


def test_a_query_over_two_inputs_is_written_split_by_partition(rows: RowWriter, tmp_path: Path) -> None:
    batch = put(tmp_path, 3, "2026-11-02", {"id": pa.array([2, 9]), "amount": pa.array([Decimal("0.10")] * 2)})
    changed = query(
        "SELECT t.id, CASE WHEN s.id IS NOT NULL THEN s.amount ELSE t.amount END AS amount, t._lakelogic_at, t.day "
        "FROM old AS t LEFT JOIN batch AS s ON t.id = s.id WHERE t.id <> 1 "
        "UNION ALL SELECT s.id, s.amount, s._lakelogic_at, s.day FROM batch AS s "
        "LEFT JOIN old AS t ON t.id = s.id WHERE t.id IS NULL"
    )
    inputs = {"old": old_rows(tmp_path), "batch": RowInput(str(tmp_path), (batch,), COLUMNS)}
    files = rows.write_rows(changed, inputs, COLUMNS[:4], root=str(tmp_path), folder="batch-1/0", partition_by=("day",))
    assert {file.partition["day"]: file.rows for file in files} == {"2026-11-01": 1, "2026-11-02": 1, None: 1}
    assert all(file.path.startswith("batch-1/0/day=") for file in files)
    found = [pq.read_table(tmp_path / file.path, partitioning=None) for file in files]
    assert {table.schema.field("amount").type for table in found} == {pa.decimal128(10, 2)}
    assert {table.schema.field("_lakelogic_at").type for table in found} == {pa.timestamp("us", "UTC")}
    assert sorted(row["id"] for table in found for row in table.to_pylist()) == [2, 3, 9]


def test_a_query_without_rows_leaves_no_file(rows: RowWriter, tmp_path: Path) -> None:
    inputs = {"old": old_rows(tmp_path), "none": RowInput(str(tmp_path), (), COLUMNS)}
    empty = query("SELECT s.* FROM none AS s LEFT JOIN old AS t ON s.id = t.id")
    assert rows.write_rows(empty, inputs, COLUMNS, root=str(tmp_path), folder="batch-2/0") == ()
    assert list((tmp_path / "batch-2").rglob("*.parquet")) == []


def test_a_table_whose_files_cannot_be_replaced_as_they_lie_is_refused(rows: RowWriter, tmp_path: Path) -> None:
    fed = TableShape((Column("id", named("bigint")),), properties={"delta.enableChangeDataFeed": "true"})
    table, merge = open_table("delta", TableLocation("t", str(tmp_path / "t")), rows=rows), WriteMerge(("id",))
    for _ in range(2):  # before there is a table, and afterwards
        with pytest.raises(CapabilityError, match="change data feed"):
            table.check(merge, (), fed, policy="allow")
        with pytest.raises(CapabilityError, match="change data feed"):
            table.check(WriteCdc(("id",)), (), fed, policy="allow")
        table.check(replace(merge, insert_only=True), (), fed, policy="allow")
        if find_table(str(tmp_path / "t")) is None:
            create_empty(str(tmp_path / "t"), fed)
