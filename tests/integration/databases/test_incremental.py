"""What is new in a table that others write to: every row once, whatever they commit and whenever a run dies."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.integration.databases.estate import ADDRESS, Estate
from tests.servers.postgresql import Server

from lakelogic.core import faults
from lakelogic.core.errors import RunError
from lakelogic.core.window import window_of_days

CONTRACT = """
dataset: orders
source:
  path: "${{LAKELOGIC_TEST_DATABASE}}"
  database: {{ table: orders }}
  load_mode: incremental
  watermark_field: updated_at
  {lookback}
model:
  fields:
    - {{ name: id, type: long, required: true }}
    - {{ name: amount, type: "decimal(10,2)" }}
    - {{ name: updated_at, type: timestamp }}
primary_key: [id]
materialization: {{ strategy: {strategy}, target_path: lake/out }}
"""
# Before, between and after the steps of a commit; the rest is for tests/faults.
POINTS = ("after_prepare", "after_stage", "after_mark_staged", "after_run_log", "after_mark_committed")
TABLE = "CREATE TABLE orders (id bigint, amount numeric(10,2), updated_at timestamptz, not_declared text)"


@pytest.fixture
def estate(tmp_path: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Estate]:
    monkeypatch.setenv(ADDRESS, postgresql.url)
    postgresql.run("DROP TABLE IF EXISTS orders", TABLE)
    made = Estate(tmp_path)
    made.declare(CONTRACT.format(lookback="", strategy="append"))
    yield made


def insert(server: Server, *rows: tuple[int, str]) -> None:
    values = ", ".join(f"({n}, 1.5, {moment if moment == 'NULL' else repr(moment)}, 'needle')" for n, moment in rows)
    server.run(f"INSERT INTO orders VALUES {values}")


def ids(estate: Estate) -> list[int]:
    return sorted(row[0] for row in estate.rows("id"))


def test_a_row_of_the_same_moment_is_read_when_it_comes(estate: Estate, postgresql: Server) -> None:
    insert(postgresql, (1, "2026-01-01 10:00:00+00"), (2, "2026-01-01 10:00:00.000001+00"))
    assert estate.run().counts.read == 2
    assert estate.run().status == "no_new_data"
    insert(postgresql, (3, "2026-01-01 10:00:00.000001+00"))
    assert estate.run().counts.read == 1
    insert(postgresql, (4, "2026-01-01 10:00:00.000001+00"), (5, "2026-01-01 11:00:00+00"))
    assert estate.run().counts.read == 2
    assert estate.run().status == "no_new_data"
    assert ids(estate) == [1, 2, 3, 4, 5]


def test_the_server_is_asked_for_the_new_rows_only(estate: Estate, postgresql: Server) -> None:
    insert(postgresql, (1, "2026-01-01 10:00:00+00"))
    estate.run()
    insert(postgresql, (2, "2026-01-01 10:05:00+00"))
    before = len(postgresql.log())
    assert estate.run().counts.read == 1
    asked = [line for line in postgresql.log()[before:].splitlines() if "orders" in line]
    rows = [line for line in asked if '"amount"' in line and "_lakelogic_tail" in line]
    assert rows
    for line in rows:
        assert "\"updated_at\" >= '2026-01-01 10:00:00+00'" in line
        assert "\"updated_at\" <= '2026-01-01 10:05:00+00'" in line
    assert not [line for line in asked if "not_declared" in line or "needle" in line]


def test_a_late_row_within_the_lookback_is_read_once(estate: Estate, postgresql: Server) -> None:
    estate.declare(CONTRACT.format(lookback="lookback: 10m", strategy="append"))
    insert(postgresql, (1, "2026-01-01 10:00:00+00"), (2, "2026-01-01 09:55:00+00"), (3, "2026-01-01 09:00:00+00"))
    estate.run()
    insert(postgresql, (4, "2026-01-01 09:51:00+00"), (5, "2026-01-01 09:49:00+00"))
    assert estate.run().counts.read == 1
    assert estate.run().status == "no_new_data"
    insert(postgresql, (6, "2026-01-01 10:09:00+00"))
    estate.run()
    insert(postgresql, (7, "2026-01-01 10:00:00+00"), (8, "2026-01-01 12:00:00+00"))
    estate.run()
    # 5 was committed with a value older than the lookback: this is what it cannot see.
    assert ids(estate) == [1, 2, 3, 4, 6, 7, 8]


def test_a_change_at_the_same_moment_is_seen(estate: Estate, postgresql: Server) -> None:
    """Two updates within one tick of the source's clock."""
    insert(postgresql, (1, "2026-01-01 10:00:00+00"), (2, "2026-01-01 10:00:00+00"))
    estate.run()
    postgresql.run("UPDATE orders SET amount = 9 WHERE id = 1")
    assert estate.run().counts.read == 1
    assert [(i, str(a)) for i, a in estate.rows("id", "amount")] == [(1, "1.50"), (1, "9.00"), (2, "1.50")]


def test_rows_without_a_value_are_read_once(estate: Estate, postgresql: Server) -> None:
    insert(postgresql, (1, "NULL"), (2, "2026-01-01 10:00:00+00"))
    assert estate.run().counts.read == 2
    assert estate.run().status == "no_new_data"
    insert(postgresql, (3, "NULL"))
    assert estate.run().counts.read == 1
    insert(postgresql, (4, "2026-01-01 11:00:00+00"))
    assert estate.run().counts.read == 1
    assert ids(estate) == [1, 2, 3, 4]


def test_a_source_that_went_back_is_an_error(estate: Estate, postgresql: Server) -> None:
    insert(postgresql, (1, "2026-01-01 10:00:00+00"), (2, "2026-01-01 11:00:00+00"))
    estate.run()
    postgresql.run("DELETE FROM orders WHERE id = 2")
    with pytest.raises(RunError, match="its newest row is from") as caught:
        estate.run()
    assert caught.value.problem.code == "LL434"
    postgresql.run("DELETE FROM orders")
    assert estate.run().status == "no_new_data"
    postgresql.run("ALTER TABLE orders RENAME amount TO amounts")
    with pytest.raises(RunError, match="no column `amount` any more"):
        estate.run()
    postgresql.run("DROP TABLE orders", TABLE)
    insert(postgresql, (3, "2026-01-02 10:00:00+00"))
    with pytest.raises(RunError, match="another table"):
        estate.run()
    assert estate.run("source.load_mode=full").counts.read == 1
    insert(postgresql, (4, "2026-01-02 10:00:00+00"))
    assert estate.run().counts.read == 1
    assert ids(estate) == [1, 2, 3, 4]


def test_whole_numbers_are_positions_too(estate: Estate, postgresql: Server) -> None:
    estate.declare(
        CONTRACT.format(lookback="", strategy="append").replace("watermark_field: updated_at", "watermark_field: id")
    )
    insert(postgresql, (9, "NULL"), (10, "NULL"))
    estate.run()
    insert(postgresql, (100, "NULL"))
    assert estate.run().counts.read == 1
    estate.declare(estate.contract.replace("watermark_field: id", "watermark_field: id\n  lookback: 1h"))
    with pytest.raises(RunError) as caught:
        estate.run()
    assert caught.value.problem.code == "LL448"
    assert ids(estate) == [9, 10, 100]


def test_every_row_lands_once_whatever_fault_there_is(
    estate: Estate, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate.declare(CONTRACT.format(lookback="lookback: 1h", strategy="append"))
    sent = 0
    for number, point in enumerate(POINTS):
        # The same moment again and again, and one before it.
        moments = ("2026-01-01 10:00:00+00", "2026-01-01 09:59:00+00", f"2026-01-01 10:00:{number:02}+00")
        insert(postgresql, *[(sent + n, moment) for n, moment in enumerate(moments)])
        sent += 3
        monkeypatch.setenv("LAKELOGIC_FAULT", point)
        monkeypatch.setenv("LAKELOGIC_FAULT_MODE", "raise")
        monkeypatch.setattr(faults, "_reached", Counter())
        with suppress(OSError, RunError):
            estate.run()
        monkeypatch.delenv("LAKELOGIC_FAULT")
    estate.run()
    assert estate.run().status == "no_new_data"
    assert ids(estate) == list(range(sent))


class Writers:
    """Threads that insert rows with times of a coarse clock, hold their transactions open, and take some back."""

    def __init__(self, server: Server, threads: int, *, updates: bool) -> None:
        self._server, self._updates = server, updates
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(threads)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _write(self, number: int) -> None:
        chance, count = random.Random(number), 0
        with self._server.connect() as connection, connection.cursor() as cursor:
            while not self._over.is_set():
                cursor.execute("BEGIN")
                for _ in range(chance.randint(1, 20)):
                    row, count = 1_000_000 * number + count, count + 1
                    late = f"date_trunc('second', now()) - interval '{chance.randint(0, 3)} seconds'"
                    cursor.execute(f"INSERT INTO orders VALUES ({row}, {chance.randint(0, 9)}, {late}, 'x')")
                if self._updates and count > 20:
                    old = 1_000_000 * number + chance.randint(0, count - 20)
                    cursor.execute(f"UPDATE orders SET amount = amount + 1, updated_at = now() WHERE id = {old}")
                time.sleep(chance.random() / 5)
                cursor.execute("ROLLBACK" if chance.random() < 0.1 else "COMMIT")


def run_while_others_write(estate: Estate, runs: int) -> None:
    for _ in range(runs):
        time.sleep(0.3)
        assert estate.run().status == "succeeded"


def source_rows(server: Server) -> list[tuple[Any, ...]]:
    found = server.rows("SELECT id, amount::text AS amount, updated_at FROM orders")
    return sorted((row["id"], row["amount"], row["updated_at"]) for row in found)


def target_rows(estate: Estate) -> list[tuple[Any, ...]]:
    return sorted((i, str(a), t) for i, a, t in estate.rows("id", "amount", "updated_at"))


def test_with_writers_at_work_the_target_becomes_the_table(estate: Estate, postgresql: Server) -> None:
    estate.declare(CONTRACT.format(lookback="lookback: 1m", strategy="append"))
    with Writers(postgresql, 4, updates=False):
        run_while_others_write(estate, 6)
    estate.run()
    assert estate.run().status == "no_new_data"
    assert target_rows(estate) == source_rows(postgresql)


@pytest.mark.spark
def test_a_merge_on_spark_becomes_the_table(estate: Estate, postgresql: Server, spark_with_postgresql: Any) -> None:
    """With updates, and read in parts side by side."""
    estate.engine, estate.spark = "spark", spark_with_postgresql
    text = CONTRACT.format(lookback="lookback: 1m", strategy="merge")
    estate.declare(text.replace("table: orders", "table: orders, partition_column: id, num_partitions: 3"))
    with Writers(postgresql, 3, updates=True):
        run_while_others_write(estate, 2)
    estate.run()
    assert estate.run().status == "no_new_data"
    assert target_rows(estate) == source_rows(postgresql)


def test_a_window_is_a_condition_of_the_query(estate: Estate, postgresql: Server) -> None:
    text = CONTRACT.format(lookback="", strategy="append")
    estate.declare(text.replace("target_path:", "reprocess: { date_column: updated_at }, target_path:"))
    insert(postgresql, *[(day, f"2026-01-{day:02} 23:30:00+00") for day in range(1, 10)])
    estate.run()
    postgresql.run("UPDATE orders SET amount = 7 WHERE id IN (3, 4, 5)")
    before = len(postgresql.log())
    window = window_of_days(date(2026, 1, 4))
    assert estate.run(window=window).counts.read == 1
    asked = [line for line in postgresql.log()[before:].splitlines() if '"amount"' in line]
    assert asked and all("\"updated_at\" >= '2026-01-04 00:00:00'" in line for line in asked)
    assert [row[0] for row in estate.rows("id", "amount") if row[1] == 7] == [4]
    assert len(estate.rows("id")) == 9


@pytest.mark.parametrize(
    ("type_", "value", "why"),
    [
        ("double precision", "NaN", "nothing is newer"),
        ("timestamptz", "infinity", "nothing is newer"),
        ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "no highest value"),
    ],
)
def test_a_column_that_cannot_be_gone_by_is_told(
    estate: Estate, postgresql: Server, type_: str, value: str, why: str
) -> None:
    postgresql.run(
        f"ALTER TABLE orders ADD COLUMN grows {type_}", f"INSERT INTO orders (id, grows) VALUES (1, '{value}')"
    )
    with pytest.raises(RunError, match=why) as caught:
        estate.run("source.watermark_field=grows")
    assert caught.value.problem.code == "LL448"
