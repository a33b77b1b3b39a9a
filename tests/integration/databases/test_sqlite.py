"""SQLite files on every engine."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.integration.databases.estate import Estate

from lakelogic.core.errors import RunError

REPO = Path(__file__).resolve().parents[3]
CONTRACT = """
dataset: shop
source:
  path: sqlite:///shop.db
  database: { table: orders }
  load_mode: incremental
  watermark_field: updated_at
  lookback: 5m
model:
  fields:
    - { name: id, type: long, required: true }
    - { name: amount, type: double }
    - { name: paid, type: boolean }
    - { name: updated_at, type: timestamp }
primary_key: [id]
materialization: { strategy: append, target_path: lake/out }
"""
TABLE = "CREATE TABLE orders (id INTEGER PRIMARY KEY, amount REAL, paid BOOLEAN, data BLOB, updated_at TEXT, more TEXT)"


def insert(folder: Path, *rows: tuple[Any, ...]) -> None:
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute(TABLE.replace("TABLE", "TABLE IF NOT EXISTS"))
        connection.executemany("INSERT OR REPLACE INTO orders VALUES (?, ?, ?, ?, ?, 'x')", rows)


@pytest.fixture(params=["duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark)])
def estate(request: Any, tmp_path: Path) -> Estate:
    spark = request.getfixturevalue("spark_with_sqlite") if request.param == "spark" else None
    return Estate(tmp_path, request.param, spark)


def test_new_rows_are_read_once_and_cells_of_any_kind_are_judged(estate: Estate) -> None:
    estate.declare(CONTRACT)
    insert(
        estate.folder,
        (1, 0.1 + 0.2, 1, b"\x00\xff", "2026-01-01 10:00:00"),
        (2, "abc", 0, None, "2026-01-01 09:58:00"),
        (3, None, "yes", b"", "2026-01-01 09:00:00"),
    )
    result = estate.run()
    assert (result.counts.accepted, result.counts.quarantined) == (2, 1)
    assert [row[:3] for row in estate.rows("id", "amount", "paid")] == [(1, 0.1 + 0.2, True), (3, None, True)]
    assert estate.rejected()[0]["amount"] == "abc"
    assert estate.run().status == "no_new_data"
    estate.declare(CONTRACT.replace("    - { name: paid", "    - { name: data, type: binary }\n    - { name: paid"))
    insert(estate.folder, (4, 1, 0, None, "2026-01-01 09:56:00"), (5, 1, 0, None, "2026-01-01 10:00:00"))
    insert(estate.folder, (1, 7, 1, b"\x00\xff", "2026-01-01 10:01:00"))
    assert estate.run().counts.accepted == 3
    assert [row[0] for row in estate.rows("id")] == [1, 1, 3, 4, 5]
    assert [row for row in estate.rows("id", "data") if row[1]] == [(1, b"\x00\xff")]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_cells_of_another_kind_than_their_column(engine: str, tmp_path: Path) -> None:
    estate = Estate(tmp_path, engine)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute('CREATE TABLE "odd ""t.able" (id INTEGER, words TEXT, data BLOB)')
        rows = [(1, "a", "text"), (2, b"\xff\x00", 5), (3, 7, None)]
        connection.executemany('INSERT INTO "odd ""t.able" VALUES (?, ?, ?)', rows)
    estate.declare(
        """
dataset: shop
source: { path: "sqlite:///shop.db", database: { table: '"odd ""t.able"' } }
materialization: { strategy: overwrite, target_path: lake/out }
"""
    )
    estate.run()
    assert estate.rows("id", "words", "data") == [("1", "a", b"text"), ("2", "X'FF00'", b"5"), ("3", "7", None)]
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("""INSERT INTO "odd ""t.able" VALUES (4, CAST(x'6eff65' AS TEXT), NULL)""")
    with pytest.raises(RunError, match="not UTF-8") as caught:
        estate.run()
    assert caught.value.problem.code == "LL439"


def test_the_contract_of_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (REPO / "docs" / "guides" / "databases.md").read_text(encoding="utf-8")
    shown = re.search(r"^```yaml\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert shown is not None
    monkeypatch.setenv("SHOP_URL", "sqlite:///shop.db")
    estate = Estate(tmp_path)
    estate.declare(shown[1])
    insert(tmp_path, (1, 12.5, 1, None, "2026-01-01 10:00:00"))
    assert estate.run().counts.accepted == 1
    assert [str(amount) for _, amount in estate.rows("id", "amount", table="lake/orders")] == ["12.50"]
