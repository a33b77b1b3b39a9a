"""Summaries in a file of SQLite, which has no schemas: `lakelogic.runs` is the table `lakelogic_runs`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from lakelogic.record.summary_schema import SUMMARY_SCHEMA
from lakelogic.record.summary_sql import SQLITE_TYPES, add_columns, column_list, create_table, quoted
from lakelogic.record.summary_table import SummaryTable, make_folder_of, refused

_PATIENCE_S = 10.0


def append(table: SummaryTable, rows: pa.Table) -> None:
    """Add rows in one transaction."""
    name = quoted("_".join(part for part in (table.schema, table.name) if part))
    values = [tuple(_told(value) for value in row.values()) for row in rows.to_pylist()]
    marks = ", ".join("?" for _ in SUMMARY_SCHEMA)
    try:
        make_folder_of(table.database)
        with closing(sqlite3.connect(table.database, timeout=_PATIENCE_S, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(create_table(name, SQLITE_TYPES))
            there = {str(row[1]) for row in connection.execute(f"PRAGMA table_info({name})")}
            for statement in add_columns(name, there, SQLITE_TYPES):
                connection.execute(statement)
            connection.executemany(f"INSERT INTO {name} ({column_list()}) VALUES ({marks})", values)
            connection.execute("COMMIT")
    except (sqlite3.Error, OSError) as error:
        raise refused(table, str(error)) from error


def _told(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
