"""Summaries in a file of DuckDB."""

from __future__ import annotations

import time

import duckdb
import pyarrow as pa

from lakelogic.record.summary_sql import DUCKDB_TYPES, add_columns, column_list, create_table, quoted
from lakelogic.record.summary_table import SummaryTable, make_folder_of, refused

# A file belongs to one process at a time; another pipeline that ends at the same moment is soon done with it.
_PATIENCE_S = 10.0
_PAUSE_S = 0.2


def append(table: SummaryTable, rows: pa.Table) -> None:
    """Add rows in one transaction."""
    schema = quoted(table.schema or "main")
    name = f"{schema}.{quoted(table.name)}"
    try:
        make_folder_of(table.database)
        with _connect(table.database) as connection:
            connection.execute("BEGIN")
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            connection.execute(create_table(name, DUCKDB_TYPES))
            there = {str(column[0]) for column in connection.execute(f"FROM {name} LIMIT 0").description}
            for statement in add_columns(name, there, DUCKDB_TYPES):
                connection.execute(statement)
            connection.register("summary_rows", rows)
            connection.execute(f"INSERT INTO {name} ({column_list()}) SELECT {column_list()} FROM summary_rows")
            connection.execute("COMMIT")
    except (duckdb.Error, OSError) as error:
        raise refused(table, str(error).partition("\n")[0][:300]) from error


def _connect(database: str) -> duckdb.DuckDBPyConnection:
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return duckdb.connect(database, config={"autoinstall_known_extensions": "false"})
        except duckdb.IOException as error:
            if "lock" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)
