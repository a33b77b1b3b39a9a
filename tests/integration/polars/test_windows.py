"""Window functions along sorted rows: Polars gives what DuckDB gives, for partitions of any size and NULL keys."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

from lakelogic.engine.registry import open_engine
from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.model import Column
from lakelogic.plan.types import named
from lakelogic.table.local_rows import RowWriter

COLUMNS = tuple(Column(name, named(type_)) for name, type_ in (("k", "string"), ("n", "int"), ("v", "int")))
OVER = "OVER (PARTITION BY k ORDER BY n)"
FUNCTIONS = [
    f"row_number() {OVER}",
    f"rank() {OVER}",
    f"ntile(3) {OVER}",
    f"lag(v) {OVER}",
    f"lead(v, 2) {OVER}",
    f"lag(v, 2, -1) {OVER}",
    f"lead(v) IGNORE NULLS {OVER}",
    f"lag(v) IGNORE NULLS {OVER}",
    "count(v) OVER (PARTITION BY k ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "sum(v) OVER (PARTITION BY k ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    f"max(v) {OVER}",
    "row_number() OVER (ORDER BY n)",
    "max(v) OVER (PARTITION BY k)",
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> RowInput:
    chance, folder = random.Random(4), tmp_path_factory.mktemp("windows")
    count = 400
    keys = [chance.choice([None, "", "a", "b", *map(str, range(150))]) for _ in range(count)]
    table = pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "n": pa.array(chance.sample(range(count), count), pa.int32()),
            "v": pa.array([chance.choice([None, None, 0, 1, 2]) for _ in range(count)], pa.int32()),
        }
    )
    pq.write_table(table, Path(folder) / "rows.parquet")
    return RowInput(str(folder), (StagedFile("rows.parquet", 1, count),), COLUMNS)


def test_polars_and_duckdb_agree_on_every_window(rows: RowInput) -> None:
    chosen = ", ".join(f"{function} AS f{number}" for number, function in enumerate(FUNCTIONS))
    query = sqlglot.parse_one(f"SELECT n, {chosen} FROM rows", dialect="databricks")
    assert isinstance(query, exp.Query)
    found = {}
    for name in ("duckdb", "polars"):
        engine = open_engine(name)
        assert isinstance(engine, RowWriter)
        found[name] = sorted(tuple(row) for row in engine.read_rows(query, {"rows": rows}))
        engine.close()
    for number, function in enumerate(FUNCTIONS, start=1):
        polars, duckdb = ([(row[0], row[number]) for row in found[name]] for name in ("polars", "duckdb"))
        assert polars == duckdb, function
