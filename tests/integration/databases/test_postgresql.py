"""PostgreSQL on both engines: the same values, only what is declared, no password anywhere."""

from __future__ import annotations

import datetime as dt
import itertools
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.integration.databases.estate import ADDRESS, Estate
from tests.servers.postgresql import PASSWORD, Server

from lakelogic.core.errors import LakeLogicError

KINDS = """
CREATE TABLE kinds (
  id int PRIMARY KEY, small smallint, big bigint, flag boolean, single real, double double precision,
  exact numeric, money numeric(12,2), whole numeric(10,2), words text, short varchar(10), padded char(5),
  day date, at timestamptz, local timestamp, doc json, docb jsonb, ident uuid, bytes bytea, numbers int[],
  span interval, hour time, mood mood, not_declared text
)
"""
ROWS = """
INSERT INTO kinds VALUES
 (1, 2, 9007199254740993, true, 1.5, 0.1, 12345678901234567890.0123456789, 12.50, 42.00, 'o''hara "x" \\ \n é', 'ab',
  'ab', '2026-02-28', '2026-03-29 01:30:00.123456+02', '2026-03-29 02:30:00.5', '{"a": [1, 2.50]}', '{"b": null}',
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\x00ff', '{1,NULL,3}', '1 day 02:00:00', '23:59:59', 'sad', 'needle'),
 (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, 'needle')
"""
BAD_ROWS = """
INSERT INTO kinds VALUES
 (3, 2, 3, false, 1, 1, 'NaN', 1, 4.70, '', '', '', '2026-01-01', now(), now(), '{}', '{}', NULL, '', '{}', NULL, NULL,
  NULL, 'needle'),
 (4, 2, 3, false, 1, 'Infinity', 1, 'NaN', 4, '', '', '', '2026-01-01', now(), now(), '{}', '{}', NULL, '', '{}', NULL,
  NULL, NULL, 'needle')
"""
CONTRACT = """
dataset: kinds
source:
  path: "${LAKELOGIC_TEST_DATABASE}"
  database: { table: public.kinds, fetch_size: 2 }
model:
  fields:
    - { name: id, type: int, required: true }
    - { name: small, type: int }
    - { name: big, type: long }
    - { name: flag, type: boolean }
    - { name: single, type: double }
    - { name: double, type: double }
    - { name: exact, type: "decimal(38,10)" }
    - { name: money, type: "decimal(12,2)" }
    - { name: whole, type: int }
    - { name: words, type: string }
    - { name: short, type: string }
    - { name: padded, type: string }
    - { name: day, type: date }
    - { name: at, type: timestamp }
    - { name: local, type: timestamp }
    - { name: doc, type: json }
    - { name: docb, type: json }
    - { name: ident, type: string }
    - { name: bytes, type: binary }
    - { name: numbers, type: json }
    - { name: span, type: string }
    - { name: hour, type: string }
    - { name: mood, type: string }
materialization: { strategy: overwrite, target_path: lake/out }
"""
FIRST = {
    "id": 1,
    "small": 2,
    "big": 9007199254740993,
    "flag": True,
    "single": 1.5,
    "double": 0.1,
    "exact": Decimal("12345678901234567890.0123456789"),
    "money": Decimal("12.50"),
    "whole": 42,
    "words": 'o\'hara "x" \\ \n é',
    "short": "ab",
    "padded": "ab",
    "day": dt.date(2026, 2, 28),
    "at": dt.datetime(2026, 3, 28, 23, 30, 0, 123456, tzinfo=dt.UTC),
    "local": dt.datetime(2026, 3, 29, 2, 30, 0, 500000, tzinfo=dt.UTC),
    "doc": '{"a": [1, 2.50]}',
    "docb": '{"b": null}',
    "ident": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "bytes": b"\x00\xff",
    "numbers": "[1,null,3]",
    "span": "1 day 02:00:00",
    "hour": "23:59:59",
    "mood": "sad",
}


@pytest.fixture(params=["duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark)])
def estate(request: Any, tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Estate]:
    monkeypatch.setenv(ADDRESS, postgresql.url)
    spark = request.getfixturevalue("spark_with_postgresql") if request.param == "spark" else None
    yield Estate(tmp_path, request.param, spark)
    postgresql.run("DROP TABLE IF EXISTS kinds", "DROP TYPE IF EXISTS mood")


def test_every_type_arrives_as_it_is(estate: Estate, postgresql: Server) -> None:
    postgresql.run("CREATE TYPE mood AS ENUM ('sad', 'ok')", KINDS, ROWS)
    estate.declare(CONTRACT)
    before = len(postgresql.log())
    result = estate.run()
    assert (result.counts.read, result.counts.accepted, result.counts.quarantined) == (2, 2, 0)
    names = tuple(FIRST)
    first, second = estate.rows(*names)
    assert dict(zip(names, first, strict=True)) == FIRST
    assert second == (2, *([None] * (len(names) - 1)))
    _only_what_is_declared(postgresql, before)
    _no_password(estate, postgresql)


def test_a_value_that_is_none_fails_its_row_only(estate: Estate, postgresql: Server) -> None:
    postgresql.run("CREATE TYPE mood AS ENUM ('sad', 'ok')", KINDS, ROWS, BAD_ROWS)
    estate.declare(CONTRACT)
    result = estate.run()
    assert (result.counts.read, result.counts.accepted, result.counts.quarantined) == (4, 2, 2)
    bad = {row["id"]: row for row in estate.rejected()}
    assert {key: row["_lakelogic_errors"] for key, row in bad.items()} == {
        3: ["Cast failed: exact = 'NaN' is not a decimal(38,10)", "Cast failed: whole = '4.70' is not an int"],
        4: ["Cast failed: double = 'Infinity' is not a double", "Cast failed: money = 'NaN' is not a decimal(12,2)"],
    }
    assert [bad[3][name] for name in ("exact", "money", "whole")] == ["NaN", "1.00", "4.70"]


def test_times_that_are_none_fail_their_rows_only(estate: Estate, postgresql: Server) -> None:
    postgresql.run(
        'DROP TABLE IF EXISTS "order"',
        'CREATE TABLE "order" (id int, day date, at timestamptz, local timestamp, price numeric(6,2))',
        """INSERT INTO "order" VALUES (1, '2026-01-01', '2026-01-01 00:00:00.25+02', '2026-01-01', 1.5),
             (2, NULL, NULL, NULL, NULL), (3, 'infinity', '-infinity', '0044-03-15 BC', -2)""",
    )
    estate.declare(
        """
dataset: times
source: { path: "${LAKELOGIC_TEST_DATABASE}", database: { table: order }, columns: all }
model:
  fields:
    - { name: id, type: int }
    - { name: day, type: date }
    - { name: at, type: timestamp }
    - { name: local, type: timestamp_ntz }
schema_policy: { unknown_fields: allow }
materialization: { strategy: overwrite, target_path: lake/out }
"""
    )
    assert estate.run().counts.quarantined == 1
    assert estate.rows("id", "day", "at", "local", "price") == [
        (1, dt.date(2026, 1, 1), dt.datetime(2025, 12, 31, 22, 0, 0, 250000, dt.UTC), dt.datetime(2026, 1, 1),
         Decimal("1.50")),
        (2, None, None, None, None),
    ]  # fmt: skip
    assert estate.rejected()[0]["_lakelogic_errors"] == [
        "Cast failed: day = 'infinity' is not a date",
        "Cast failed: at = '-infinity' is not a timestamp",
        "Cast failed: local = '0044-03-15 00:00:00 BC' is not a timestamp_ntz",
    ]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_value_that_ends_a_query_is_not_told(
    engine: str, tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADDRESS, postgresql.url)
    rows = "(1, '1', 2, now()), (2, 'needle', 'NaN', 'infinity')"
    postgresql.run(
        "DROP TABLE IF EXISTS odd",
        "CREATE TABLE odd (id int, words text, price numeric(5,2), at timestamptz)",
        f"INSERT INTO odd VALUES {rows}",
    )
    estate = Estate(tmp_path, engine)
    for column in ("CAST(words AS int)", "price", "at"):
        estate.declare(
            f"""
dataset: odd
source: {{ path: "${{LAKELOGIC_TEST_DATABASE}}", database: {{ query: "SELECT id, {column} AS value FROM odd" }} }}
materialization: {{ strategy: overwrite, target_path: lake/out }}
""".replace('query: "SELECT id, price AS value FROM odd"', "table: odd")
        )
        with pytest.raises(LakeLogicError, match="declare the column") as caught:
            estate.run()
        assert caught.value.problem.code == "LL439"
        assert "needle" not in str(caught.value)


def _only_what_is_declared(postgresql: Server, before: int) -> None:
    """The server was never asked for the column that the contract does not declare."""
    asked = [line for line in postgresql.log()[before:].splitlines() if "kinds" in line]
    assert any('"money"' in line for line in asked)
    assert not [line for line in asked if "not_declared" in line]
    assert not [line for line in asked if "*" in line and "1=0" not in line]


def _no_password(estate: Estate, postgresql: Server) -> None:
    """In no file that the run left, nor in a repr."""
    for path in estate.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert PASSWORD.encode() not in content, path
            assert postgresql.url.encode() not in content, path


def test_a_query_is_wrapped(estate: Estate, postgresql: Server) -> None:
    postgresql.run("CREATE TYPE mood AS ENUM ('sad', 'ok')", KINDS, ROWS)
    estate.declare(
        """
dataset: some
source:
  path: "${LAKELOGIC_TEST_DATABASE}"
  database: { query: "SELECT id, exact, doc, upper(words) AS loud, at, not_declared FROM kinds WHERE id < 3" }
model:
  fields: [{ name: id, type: long }, { name: exact, type: "decimal(38,10)" }, { name: loud, type: string }]
materialization: { strategy: overwrite, target_path: lake/out }
"""
    )
    assert estate.run().counts.accepted == 2
    assert [row[0] for row in estate.rows("id", "exact", "loud")] == [1, 2]


@pytest.mark.spark
def test_all_parts_are_read_of_one_state(
    tmp_path: Path, postgresql: Server, spark_with_postgresql: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Money goes from account to account while eight connections read, two at a time: none of it is missing."""
    monkeypatch.setenv(ADDRESS, postgresql.url)
    accounts = "SELECT id, NULLIF(id % 50, 0) AS branch, 100 AS money FROM generate_series(1, 4000) AS id"
    postgresql.run("DROP TABLE IF EXISTS accounts", f"CREATE TABLE accounts AS {accounts}")
    estate = Estate(tmp_path, "spark", spark_with_postgresql)
    estate.declare(
        """
dataset: accounts
source:
  path: "${LAKELOGIC_TEST_DATABASE}"
  database: { table: accounts, partition_column: branch, num_partitions: 8, fetch_size: 50 }
model: { fields: [{ name: id, type: long }, { name: branch, type: int }, { name: money, type: long }] }
materialization: { strategy: overwrite, target_path: lake/out }
"""
    )
    over = threading.Event()
    mover = threading.Thread(target=_move_money, args=(postgresql, over))
    mover.start()
    try:
        assert estate.run().counts.read == 4000
    finally:
        over.set()
        mover.join()
    rows = estate.rows("id", "money", "branch")
    assert sorted(row[0] for row in rows) == list(range(1, 4001))
    assert sum(row[1] for row in rows) == 400_000
    assert sum(row[2] is None for row in rows) == 80
    assert postgresql.log().count("SET TRANSACTION SNAPSHOT") >= 8


def _move_money(server: Server, over: threading.Event) -> None:
    """From the rows that are read first to those that are read last, again and again, in both directions."""
    with server.connect() as connection, connection.cursor() as cursor:
        for turn in itertools.count():
            amount = 1 if turn % 4 else -1
            cursor.execute(
                f"UPDATE accounts SET money = money + CASE WHEN branch IS NULL THEN -({amount}) ELSE {amount} END "
                "WHERE branch IS NULL OR (branch = 49)"
            )
            if over.is_set():
                return


def test_what_is_wrong_is_said_without_the_password(
    estate: Estate, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate.declare(CONTRACT)
    for url, code in ((postgresql.url, "LL430"), (postgresql.url.replace("lake:", "nobody:"), "LL439")):
        monkeypatch.setenv(ADDRESS, url)
        with pytest.raises(LakeLogicError) as caught:
            estate.run()
        assert caught.value.problem.code == code
        assert PASSWORD not in str(caught.value) and url not in str(caught.value)
