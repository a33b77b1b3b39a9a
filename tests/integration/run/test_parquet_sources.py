"""Parquet files as their writers leave them: every engine without a JVM reads them as Spark does, or refuses them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor, LakeLogicError

ENGINES = ("duckdb", "polars")
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def load(folder: Path, engine: str, *tables: pa.Table, model: str = "", **written: Any) -> dict[str, list[Any]]:
    """The columns of the target after a load of these tables, a file each."""
    (folder / "in").mkdir()
    for number, table in enumerate(tables):
        pq.write_table(table, folder / "in" / f"{number}.parquet", **written)
    run(folder, engine, model)
    rows = DeltaTable(folder / "out").to_pyarrow_table().sort_by("id")
    return {name: rows[name].to_pylist() for name in rows.column_names if not name.startswith("_lakelogic_")}


def run(folder: Path, engine: str, model: str = "") -> None:
    (folder / "c.yaml").write_text(
        f"dataset: rows\nsource: {{ path: in, format: parquet }}\n{model}materialization: {{ target_path: out }}\n"
    )
    with DataProcessor(folder / "c.yaml", engine=engine) as processor:
        processor.run()


def refusal(folder: Path, engine: str, *tables: pa.Table, model: str = "") -> str:
    with pytest.raises(LakeLogicError) as caught:
        load(folder, engine, *tables, model=model)
    return str(caught.value)


def of(type_: pa.DataType, *values: Any, first: int = 1) -> pa.Table:
    return pa.table({"id": range(first, first + len(values)), "v": pa.array(values, type_)})


def test_an_int96_is_a_moment(tmp_path: Path, engine: str) -> None:
    table = of(pa.timestamp("us"), MOMENT, None)
    found = load(tmp_path, engine, table, use_deprecated_int96_timestamps=True)
    assert found["v"] == [MOMENT.replace(tzinfo=UTC), None]


def test_nanoseconds_are_cut_not_rounded(tmp_path: Path, engine: str) -> None:
    table = of(pa.timestamp("ns", "UTC"), 1_999, -1, -1_000, None)
    zoned = load(tmp_path, engine, table)["v"]
    assert [value and round(value.timestamp() * 1e6) for value in zoned] == [1, -1, -1, None]


def test_a_date_that_a_writer_held_in_milliseconds_is_a_date(tmp_path: Path, engine: str) -> None:
    days = [date(2026, 1, 2), date(1, 1, 1), None]
    assert load(tmp_path, engine, of(pa.date64(), *days))["v"] == days


def test_a_decimal_that_no_table_holds_is_refused(tmp_path: Path, engine: str) -> None:
    told = refusal(tmp_path, engine, of(pa.decimal256(50, 5), Decimal("1.5")))
    assert "`decimal(50,5)`: a table holds at most 38 digits" in told


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (of(pa.int32(), 1), of(pa.int64(), 2**40, first=2), [1, 2**40]),
        (of(pa.float32(), 0.5), of(pa.float64(), 0.1, first=2), [0.5, 0.1]),
        (of(pa.null(), None), of(pa.string(), "x", first=2), [None, "x"]),
        (
            of(pa.decimal128(10, 1), Decimal("1.5")),
            of(pa.decimal128(12, 3), Decimal("1.555"), first=2),
            [Decimal("1.500"), Decimal("1.555")],
        ),
    ],
)
def test_files_with_narrower_types_are_read_with_the_wider_one(
    tmp_path: Path, engine: str, one: pa.Table, other: pa.Table, wanted: list[Any]
) -> None:
    assert load(tmp_path, engine, one, other)["v"] == wanted


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (of(pa.int64(), 2**60 + 1), of(pa.float64(), 1.5), "`long` in"),
        (of(pa.int64(), 1), of(pa.string(), "a secret"), "`string` in"),
        (of(pa.date32(), date(2026, 1, 2)), of(pa.timestamp("us"), MOMENT), "`timestamp_ntz` in"),
        (of(pa.timestamp("us"), MOMENT), of(pa.timestamp("us", "UTC"), MOMENT), "`timestamp` in"),
        (of(pa.int64(), 1), of(pa.decimal128(12, 3), Decimal(1)), "`decimal(12,3)` in"),
    ],
)
def test_files_whose_types_do_not_go_together_are_refused(
    tmp_path: Path, engine: str, one: pa.Table, other: pa.Table, told: str
) -> None:
    said = refusal(tmp_path, engine, one, other, model="model: { fields: [{ name: v, type: string }] }\n")
    assert said.startswith("LL424 column `v` is") and told in said and "1.parquet" in said
    assert "a secret" not in said


@pytest.mark.parametrize("content", [b"", b"id,v\n1,a secret\n", b"PAR1 a secret PAR1"])
def test_a_file_that_is_no_parquet_is_named(tmp_path: Path, engine: str, content: bytes) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(of(pa.string(), "x"), tmp_path / "in" / "good.parquet")
    (tmp_path / "in" / "half.parquet").write_bytes(content)
    with pytest.raises(
        LakeLogicError, match=r"LL423 .*half\.parquet` is not a Parquet file, or a damaged one"
    ) as caught:
        run(tmp_path, engine)
    assert "secret" not in str(caught.value)


def test_a_file_with_damaged_pages_is_named(tmp_path: Path, engine: str) -> None:
    rows = pa.table({"id": range(5000), "v": [f"a secret {n * 7919 % 5000}" for n in range(5000)]})
    (tmp_path / "in").mkdir()
    for name in ("good", "half"):
        pq.write_table(rows, tmp_path / "in" / f"{name}.parquet")
    content = bytearray((tmp_path / "in" / "half.parquet").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 200] = bytes(each ^ 0x5A for each in content[middle : middle + 200])
    (tmp_path / "in" / "half.parquet").write_bytes(content)
    with pytest.raises(
        LakeLogicError, match=r"LL423 .*half\.parquet` is not a Parquet file, or a damaged one"
    ) as caught:
        run(tmp_path, engine)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "tables",
    [
        [pa.table({"id": [1], "ID": [2]})],
        [pa.table({"id": [1], "v": [1]}), pa.table({"ID": [2], "v": [2]})],
        [pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])],
    ],
)
def test_duckdb_refuses_names_that_it_takes_for_one(tmp_path: Path, tables: list[pa.Table]) -> None:
    # It would read the second one as `ID_1`, and a contract that asks for `ID` would get NULL or the other one.
    told = refusal(tmp_path, "duckdb", *tables, model="model: { fields: [{ name: ID, type: long }] }\n")
    assert "for DuckDB the columns `id` and" in told


def test_polars_tells_names_apart_by_case(tmp_path: Path) -> None:
    table = pa.table({"id": [1], "ID": [2], "v": [3]})
    model = "model: { fields: [{ name: id, type: long }, { name: v, type: long }] }\n"
    assert load(tmp_path, "polars", table, model=model) == {"id": [1], "v": [3]}


def test_more_than_a_thousand_columns(tmp_path: Path, engine: str) -> None:
    table = pa.table({"id": [1], **{f"c{number}": [number] for number in range(1_100)}})
    assert load(tmp_path, engine, table)["c1099"] == [1_099]
