"""Summaries of pipeline runs in tables: the same columns everywhere, appended whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from lakelogic.core.errors import Problem, RunError
from lakelogic.core.pipeline_run import ContractRun, PipelineRun, RowCounts
from lakelogic.record.summary_schema import SUMMARY_SCHEMA, summary_rows
from lakelogic.record.summary_table import Backend, append_summary, find_summary_table

AT = datetime(2026, 11, 16, 12, 30, 0, 250_000, tzinfo=UTC)
WANTED = ("pipeline_run_id", "dataset", "status", "rows_read", "quarantine_ratio", "error_code", "run_ids")


def summary(run_id: str) -> Any:
    good = ContractRun("orders", "succeeded", "bronze", started_at=AT, rows=RowCounts(4, 3, 1), run_ids=("a", "b"))
    bad = ContractRun("it's", "failed", reason="gone", problem=Problem("LL441", "gone", hint="look"))
    return summary_rows(PipelineRun(run_id, "failed", AT, (good, bad), AT, 2.0, 4), AT)


def rows_of(run_id: str) -> list[tuple[Any, ...]]:
    return [
        (run_id, "it's", "failed", 0, None, "LL441", None),
        (run_id, "orders", "succeeded", 4, 0.25, None, "a,b"),
    ]


def read_delta(database: str) -> list[tuple[Any, ...]]:
    rows = DeltaTable(f"{database}/lakelogic/runs").to_pyarrow_table().to_pylist()
    return [tuple(row[name] for name in WANTED) for row in rows]


def read_duckdb(database: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(database, read_only=True) as connection:
        assert connection.execute("SELECT DISTINCT recorded_at FROM lakelogic.runs").fetchall() == [(AT,)]
        return list(connection.execute(f"SELECT {', '.join(WANTED)} FROM lakelogic.runs").fetchall())


def read_sqlite(database: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(database) as connection:
        times = connection.execute("SELECT DISTINCT recorded_at, datetime(recorded_at) FROM lakelogic_runs").fetchall()
        assert times == [("2026-11-16 12:30:00.250000", "2026-11-16 12:30:00")]
        return list(connection.execute(f"SELECT {', '.join(WANTED)} FROM lakelogic_runs"))


BACKENDS = [("delta", read_delta), ("duckdb", read_duckdb), ("sqlite", read_sqlite)]


@pytest.mark.parametrize(("backend", "read"), BACKENDS)
def test_each_run_adds_a_row_for_each_contract(
    tmp_path: Path, backend: Backend, read: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    database = str(tmp_path / "new" / "folders" / "summaries")
    table = find_summary_table(backend, "lakelogic.runs", database)
    append_summary(table, summary("p1"))
    append_summary(table, summary("p2"))
    append_summary(table, summary("p3")[:0])
    assert sorted(read(database), key=lambda row: row[:2]) == [*rows_of("p1"), *rows_of("p2")]


@pytest.mark.parametrize("backend", ["duckdb", "sqlite"])
def test_a_table_that_has_fewer_columns_gets_the_others(tmp_path: Path, backend: Backend) -> None:
    database = str(tmp_path / "old")
    connect: Any = duckdb.connect if backend == "duckdb" else sqlite3.connect
    old = connect(database)
    old.execute("CREATE TABLE runs (dataset TEXT, pipeline_run_id TEXT, mine TEXT)")
    old.execute("INSERT INTO runs VALUES ('old', 'p0', 'x')")
    old.commit()
    old.close()
    append_summary(find_summary_table(backend, "runs", database), summary("p1"))
    now = connect(database)
    rows = now.execute("SELECT pipeline_run_id, dataset, status, mine FROM runs ORDER BY 1, 2").fetchall()
    columns = [column[0] for column in now.execute("SELECT * FROM runs LIMIT 0").description]
    now.close()
    assert rows == [("p0", "old", None, "x"), ("p1", "it's", "failed", None), ("p1", "orders", "succeeded", None)]
    assert set(columns) == {*SUMMARY_SCHEMA.names, "mine"}


@pytest.mark.parametrize(
    ("backend", "name", "database", "told"),
    [
        ("duckdb", "a.b.c", "x", "must be NAME or SCHEMA.NAME"),
        ("duckdb", 'runs"; DROP', "x", "must be NAME or SCHEMA.NAME"),
        ("duckdb", "runs", None, "--summary-database is a file"),
        ("duckdb", "runs", "postgresql://me:needle@h/d", "--summary-database is a file"),
        ("sqlite", "runs", "s3://bucket/x", "--summary-database is a file"),
        ("postgres", "runs", "x.duckdb", "--summary-database is postgresql://"),
        ("postgres", "runs", "mysql://me:needle@h/d", "--summary-database is postgresql://"),
        ("postgres", "runs", "postgresql://me:needle@h/d?colour=red", "parameter `colour`"),
        ("delta", "runs", "postgresql://me:needle@h/d", "--summary-database is a folder"),
    ],
)
def test_a_table_that_cannot_be_is_refused_without_its_address(
    backend: Backend, name: str, database: str | None, told: str
) -> None:
    with pytest.raises(ValueError) as caught:
        find_summary_table(backend, name, database)
    assert told in str(caught.value) and "needle" not in str(caught.value)


@pytest.mark.parametrize("backend", ["duckdb", "sqlite"])
def test_a_file_that_is_something_else_is_one_error(tmp_path: Path, backend: Backend) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a database " * 1000)
    with pytest.raises(RunError) as caught:
        append_summary(find_summary_table(backend, "runs", str(other)), summary("p1"))
    assert caught.value.problem.code == "LL497"
    assert other.read_text().startswith("not a database")
