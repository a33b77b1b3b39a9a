"""Whatever values a column has, every row belongs to exactly one part of a read that is split by it."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from lakelogic.plan.database_sql import PART_COLUMN, DatabaseRelation, select_limits, split_by

NUMBERS = st.lists(st.none() | st.integers(-50, 50) | st.sampled_from([7, 7, 7, 10**15]), max_size=60)
TEXTS = st.lists(st.none() | st.text(max_size=3), max_size=40)


def parts_of_rows(values: list[object], type_: str, count: int, *, numeric: bool) -> tuple[list[int], int]:
    """In how many parts each row is, and how many parts there are."""
    relation = DatabaseRelation("sqlite", table="t")
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f'CREATE TABLE t (n INTEGER PRIMARY KEY, "v" {type_})')
        connection.executemany("INSERT INTO t (v) VALUES (?)", [(value,) for value in values])
        limits = [str(row[0]) for row in connection.execute(select_limits(relation, "v", count))]
        conditions = split_by(relation, limits[1:], numeric=numeric) or ("1 = 1",)
        rows = f'(SELECT n, v AS "{PART_COLUMN}" FROM t)'
        counted = " + ".join(f"(CASE WHEN {condition} THEN 1 ELSE 0 END)" for condition in conditions)
        found = [row[0] for row in connection.execute(f"SELECT {counted} FROM {rows}")]
        return found, len(conditions)


@given(NUMBERS, st.integers(2, 9))
def test_numbers(values: list[object], count: int) -> None:
    found, parts = parts_of_rows(values, "INTEGER", count, numeric=True)
    assert found == [1] * len(values)
    assert parts <= count


@given(TEXTS, st.integers(2, 9))
def test_texts(values: list[object], count: int) -> None:
    found, _ = parts_of_rows([v if v is None else v.replace("\x00", "") for v in values], "TEXT", count, numeric=False)  # type: ignore[attr-defined]
    assert found == [1] * len(values)


def test_a_skewed_column_is_cut_by_rows_not_by_values() -> None:
    """Even ranges from the lowest to the highest value would put 99 of 100 rows into one part."""
    values: list[object] = [*range(99), 10**9]
    relation = DatabaseRelation("sqlite", table="t")
    with sqlite3.connect(":memory:") as connection:
        connection.execute('CREATE TABLE t ("v" INTEGER)')
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
        limits = [row[0] for row in connection.execute(select_limits(relation, "v", 4))]
    assert limits == ["0", "25", "50", "75"]
