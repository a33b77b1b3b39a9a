"""Statements about the summary table that DuckDB, SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from lakelogic.record.summary_schema import SUMMARY_SCHEMA

_TIME = pa.timestamp("us", "UTC")
POSTGRESQL_TYPES: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "TEXT", pa.int64(): "BIGINT", pa.float64(): "DOUBLE PRECISION", _TIME: "TIMESTAMPTZ",
}  # fmt: skip
DUCKDB_TYPES: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", _TIME: "TIMESTAMPTZ",
}  # fmt: skip
# SQLite has no type for times; text in this form sorts by time, and its functions read it.
SQLITE_TYPES: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "TEXT", pa.int64(): "INTEGER", pa.float64(): "REAL", _TIME: "TEXT",
}  # fmt: skip


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def create_table(name: str, types: Mapping[pa.DataType, str]) -> str:
    columns = ", ".join(f"{quoted(column.name)} {types[column.type]}" for column in SUMMARY_SCHEMA)
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns})"


def add_columns(name: str, there: set[str], types: Mapping[pa.DataType, str]) -> list[str]:
    """What a table that an earlier version made is lacking."""
    missing = [column for column in SUMMARY_SCHEMA if column.name not in there]
    return [f"ALTER TABLE {name} ADD COLUMN {quoted(column.name)} {types[column.type]}" for column in missing]


def column_list() -> str:
    return ", ".join(quoted(name) for name in SUMMARY_SCHEMA.names)
