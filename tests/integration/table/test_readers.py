"""Every reader sees adopted tables right: extra physical column, all types, partitions, data skipping.

A reader's filtered scan (which may skip files by our statistics) must equal the same reader's filter over
the whole table read first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder
from tests.integration.table.conftest import batch, column

from lakelogic.plan.files import StagedFile
from lakelogic.plan.writes import WriteAppend
from lakelogic.table.protocol import TableLocation, TableShape
from lakelogic.table.registry import open_table
from lakelogic.table.spark_staged import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LONG = "Ä" * 31 + "ß"
SHAPE = TableShape(
    (
        column("id", "bigint", nullable=False),
        column("i", "int"),
        column("small", "smallint"),
        column("s", "string"),
        column("ts", "timestamp"),
        column("d", "date"),
        column("dec", "decimal(38,10)"),
        column("money", "decimal(9,2)"),
        column("flag", "boolean"),
        column("f", "double"),
        column("bin", "binary"),
        column("nothing", "string"),
        column("arr", "array<struct<a: int, b: string>>"),
        column("mp", "map<string, int>"),
        column("st", "struct<x: int, y: string>"),
        column("p", "string"),
        column("day", "date"),
    ),
    partition_by=("p", "day"),
)


def instant(second: int, micro: int) -> datetime:
    return datetime(2024, 2, 29, 23, 59, second, micro, tzinfo=UTC)


def row(id_: int, **values: Any) -> dict[str, Any]:
    return {field.name: None for field in SHAPE.columns} | {"id": id_} | values


# One file for each (p, day), so that bounds differ between files and skipping has something to skip.
ROWS = [
    row(
        1,
        i=-5,
        small=1,
        s="",
        ts=instant(1, 1),
        d=date(1582, 1, 1),
        dec=Decimal("-1.5"),
        money=Decimal("-9.99"),
    ),
    row(2, i=2**31 - 1, s="a", ts=instant(1, 999999), d=date(2024, 2, 29), f=float("nan"), p="x", flag=True),
    row(3, s=LONG + "1", ts=instant(2, 456001), f=1.5, bin=b"\xff\x00", p="x", flag=False),
    row(4, s=LONG + "2", ts=instant(2, 456999), f=-1.5, p="a/b:c=d %é", arr=[{"a": 1, "b": "q"}], mp={"k": 1}),
    row(
        5,
        s=LONG,
        dec=Decimal("1234567890123456789012345678.0123456789"),
        p="a/b:c=d %é",
        st={"x": 1, "y": "z"},
    ),
    row(6, s="z\U0001f600" * 20, f=0.0, d=date(9999, 12, 31), p="x", day=date(2024, 1, 1)),
    row(
        7,
        s="z\U0001f600" * 20 + "b",
        f=-0.0,
        p="[*]?{}'\"",
        day=date(2024, 1, 2),
        money=Decimal("9999999.99"),
    ),
    row(8, i=0, small=-(2**15), s="é", p="__x__", day=date(2024, 1, 2)),
]
PROBED = ("id", "i", "small", "s", "ts", "d", "dec", "money", "flag", "f", "nothing", "p", "day")


@dataclass(frozen=True)
class Adopted:
    path: str
    raw: str  # the folder as Spark wrote it, for reading without a table


@pytest.fixture(scope="module")
def adopted(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adopted]:
    """A table whose files Spark staged as a run does: split by verdict and partition, one extra column."""
    from pyspark.sql import functions

    root = tmp_path_factory.mktemp("readers") / "t"
    frame = spark_session.createDataFrame([tuple(item.values()) for item in ROWS], spark_schema(SHAPE.columns))
    extra = "CAST(NULL AS STRUCT<raw: STRUCT<id: STRING>, record: STRING, failed_0: BIGINT>)"
    staged = frame.withColumn("_lakelogic_rejected", functions.expr(extra))
    staged = staged.withColumn("lakelogic_verdict", functions.lit("accepted")).repartition(1)
    staged.write.partitionBy("lakelogic_verdict", "p", "day").parquet(str(root / "batch-1"))
    # Polars reads partition values off the path, and stumbles over a folder of a column that is not there.
    (root / "batch-1" / "lakelogic_verdict=accepted").rename(root / "batch-1" / "accepted")
    files = tuple(staged_file(root, file) for file in sorted(root.rglob("*.parquet")))
    table = open_table("delta", TableLocation("t", str(root)), spark=spark_session)
    table.commit(WriteAppend(), files, SHAPE, batch(1))
    yield Adopted(str(root), str(root / "batch-1" / "accepted"))


def staged_file(root: Path, file: Path) -> StagedFile:
    parts = (part.split("=", 1) for part in file.parent.relative_to(root).parts if "=" in part)
    values = {key: None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for key, value in parts}
    rows = pq.read_metadata(file).num_rows
    return StagedFile(str(file.relative_to(root)), file.stat().st_size, rows, values)


def comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def plain(value: Any) -> Any:
        match value:
            case float() if value != value:
                return "NaN"
            case datetime():
                return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            case bytearray():
                return bytes(value)
            case [(_, _), *_]:
                return dict(value)
            case _:
                return value

    return sorted(({key: plain(item) for key, item in row.items()} for row in rows), key=lambda row: row["id"])


EXPECTED = comparable(ROWS)


def test_delta_rs_and_its_query_engine_read_all_rows(adopted: Adopted) -> None:
    table = DeltaTable(adopted.path)
    assert comparable(table.to_pyarrow_table().to_pylist()) == EXPECTED
    query = QueryBuilder().register("t", table).execute("SELECT * FROM t")
    import pyarrow as pa

    found = pa.table(query.read_all()).select([column.name for column in SHAPE.columns])
    assert comparable(found.to_pylist()) == EXPECTED


def test_polars_reads_all_rows(adopted: Adopted) -> None:
    frame = pl.read_delta(adopted.path)
    assert frame.columns == [column.name for column in SHAPE.columns]
    found = frame.drop("mp").to_dicts()
    assert comparable(found) == [{key: value for key, value in item.items() if key != "mp"} for item in EXPECTED]


def test_duckdb_reads_all_rows(adopted: Adopted) -> None:
    dataset = DeltaTable(adopted.path).to_pyarrow_dataset()
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    relation = connection.from_arrow(dataset)
    assert comparable(relation.to_arrow_table().to_pylist()) == EXPECTED


def test_spark_reads_all_rows(adopted: Adopted, spark_session: SparkSession) -> None:
    found = spark_session.read.format("delta").load(adopted.path).collect()
    rows = [item.asDict(recursive=True) for item in found]
    # Spark hands instants over in the zone of the Python process, without saying so.
    for item in rows:
        item["ts"] = item["ts"] and item["ts"].astimezone(UTC)
    assert comparable(rows) == EXPECTED


def probes(name: str) -> list[Any]:
    values = [item[name] for item in ROWS if item[name] is not None and item[name] == item[name]]
    return sorted({min(values), max(values)}) if values else []


@pytest.mark.parametrize("name", PROBED)
def test_skipping_loses_no_row_in_delta_rs_duckdb_and_polars(adopted: Adopted, name: str) -> None:
    table = DeltaTable(adopted.path)
    dataset, whole = table.to_pyarrow_dataset(), table.to_pyarrow_table()
    lazy, eager = pl.scan_delta(adopted.path), pl.read_delta(adopted.path)
    conditions = [(pc.field(name).is_null(), pl.col(name).is_null())]
    for value in probes(name):
        arrow, polars, literal = pc.field(name), pl.col(name), pl.lit(value)
        conditions += [
            (arrow == value, polars == literal),
            (arrow >= value, polars >= literal),
            (arrow <= value, polars <= literal),
        ]
    for arrow_condition, polars_condition in conditions:
        expected = sorted(whole.filter(arrow_condition)["id"].to_pylist())
        assert sorted(dataset.to_table(filter=arrow_condition)["id"].to_pylist()) == expected
        in_memory = sorted(eager.filter(polars_condition)["id"].to_list())
        assert sorted(lazy.filter(polars_condition).collect()["id"].to_list()) == in_memory


@pytest.mark.parametrize("name", PROBED)
def test_skipping_loses_no_row_in_spark(adopted: Adopted, spark_session: SparkSession, name: str) -> None:
    from pyspark.sql import functions

    table = spark_session.read.format("delta").load(adopted.path)
    raw = spark_session.read.schema(spark_schema(SHAPE.columns)).parquet(adopted.raw)
    item, values = functions.col(name), probes(name)
    conditions = [item.isNull()]
    if values:
        low, high = functions.lit(values[0]), functions.lit(values[-1])
        conditions += [item <= low, item == high, item >= high]
    flags = raw.select("id", *(flag.alias(str(at)) for at, flag in enumerate(conditions))).collect()
    for at, condition in enumerate(conditions):
        found = sorted(got["id"] for got in table.where(condition).select("id").collect())
        assert found == sorted(got["id"] for got in flags if got[str(at)]), str(condition)


def test_nested_fields_can_be_filtered(adopted: Adopted) -> None:
    dataset = DeltaTable(adopted.path).to_pyarrow_dataset()
    assert dataset.to_table(filter=pc.field("st", "x") == 1)["id"].to_pylist() == [5]


def test_statistics_do_skip(adopted: Adopted) -> None:
    kept = DeltaTable(adopted.path).file_uris(file_pruning_predicate="id = 8")
    # The file with the NaN has no bounds at all, so it cannot be skipped.
    assert sorted(path.split("/p=")[1].split("/")[0] for path in kept) == ["__x__", "x"]


def test_aggregates_that_spark_answers_from_statistics_are_right(adopted: Adopted, spark_session: SparkSession) -> None:
    table = spark_session.read.format("delta").load(adopted.path)
    row_ = table.selectExpr("count(*) n", "min(id) lo", "max(i) hi", "min(d) first", "max(f) f").first()
    assert row_ is not None
    assert (row_["n"], row_["lo"], row_["hi"], row_["first"]) == (8, 1, 2**31 - 1, date(1582, 1, 1))
    assert row_["f"] != row_["f"], "NaN is the greatest double on Spark"
