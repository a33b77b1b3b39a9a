"""MariaDB on both engines; needs an unpacked server (tests/servers/mariadb.py says where from)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.integration.databases.estate import ADDRESS, Estate
from tests.servers.mariadb import FOLDER, PASSWORD, Server, start_server

pytestmark = pytest.mark.skipif(not FOLDER, reason="LAKELOGIC_TEST_MARIADB names no server")

TABLE = """
CREATE TABLE orders (
  id bigint PRIMARY KEY, n int, flag tinyint(1), big bigint unsigned, amount decimal(12,2), whole decimal(10,2),
  ratio double, words varchar(20), doc json, at datetime(6), stamp timestamp, day date, bits bit(3),
  updated_at datetime, not_declared text
) CHARACTER SET utf8mb4
"""
CONTRACT = """
dataset: orders
source:
  path: "${LAKELOGIC_TEST_DATABASE}"
  database: { table: orders, fetch_size: 2, partition_column: n, num_partitions: 3 }
  load_mode: incremental
  watermark_field: updated_at
  lookback: 5m
model:
  fields:
    - { name: id, type: long, required: true }
    - { name: n, type: int }
    - { name: flag, type: boolean }
    - { name: big, type: "decimal(20,0)" }
    - { name: amount, type: "decimal(12,2)" }
    - { name: whole, type: int }
    - { name: ratio, type: double }
    - { name: words, type: string }
    - { name: doc, type: json }
    - { name: at, type: timestamp }
    - { name: stamp, type: timestamp }
    - { name: day, type: date }
    - { name: bits, type: int }
    - { name: updated_at, type: timestamp }
primary_key: [id]
materialization: { strategy: append, target_path: lake/out }
"""
NAMES = ("id", "n", "flag", "big", "amount", "whole", "ratio", "words", "doc", "at", "stamp", "day", "bits")
FIRST = (
    1, -5, True, Decimal(18446744073709551615), Decimal("12.50"), 42, 0.1, "é'\"`\\", '{"a": 1}',
    dt.datetime(2026, 3, 29, 2, 30, 0, 123456, tzinfo=dt.UTC), dt.datetime(2026, 3, 28, 15, 0, tzinfo=dt.UTC),
    dt.date(2026, 2, 28), 5,
)  # fmt: skip


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Server]:
    with start_server() as server:
        yield server


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def estate(request: Any, tmp_path: Path, mariadb: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Estate]:
    monkeypatch.setenv(ADDRESS, mariadb.url)
    spark = request.getfixturevalue("spark_with_mysql") if request.param == "spark" else None
    yield Estate(tmp_path, request.param, spark)
    mariadb.run("DROP TABLE IF EXISTS orders")


def test_values_arrive_as_they_are_and_once(estate: Estate, mariadb: Server) -> None:
    # The server's own zone is nine hours ahead: the stamp is three in the afternoon of the day before, in UTC.
    first = r"""(1, -5, 1, 18446744073709551615, 12.5, 42, 0.1, 'é\'"`\\', '{"a": 1}', '2026-03-29 02:30:00.123456',
        '2026-03-29 00:00:00', '2026-02-28', 5, '2026-01-01 10:00:00', 'needle')"""
    bad = "(2, NULL, 0, 0, 0, 4.7, 0, '', '{}', NULL, NULL, '0000-00-00', 0, '2026-01-01 10:00:00', 'needle')"
    old = "(3, 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01 09:00:00', 'needle')"
    mariadb.run(TABLE, f"INSERT INTO orders VALUES {first}, {bad}, {old}")
    estate.declare(CONTRACT)
    before = len(mariadb.log())
    result = estate.run()
    assert (result.counts.accepted, result.counts.quarantined) == (2, 1)
    assert estate.rows(*NAMES)[0] == FIRST
    assert [row["day"] for row in estate.rejected()] == ["0000-00-00"]
    assert estate.run().status == "no_new_data"
    mariadb.run(
        "INSERT INTO orders (id, n, updated_at) VALUES (4, 1, '2026-01-01 10:00:00'), (5, 2, '2026-01-01 09:56:00')",
        "INSERT INTO orders (id, updated_at) VALUES (6, '2026-01-01 11:00:00')",
    )
    assert estate.run().counts.accepted == 3
    assert sorted(row[0] for row in estate.rows("id")) == [1, 3, 4, 5, 6]
    asked = [line for line in mariadb.log()[before:].splitlines() if "SELECT" in line and "`orders`" in line]
    assert not [line for line in asked if "not_declared" in line]
    assert not [p for p in estate.folder.rglob("*") if p.is_file() and PASSWORD.encode() in p.read_bytes()]
