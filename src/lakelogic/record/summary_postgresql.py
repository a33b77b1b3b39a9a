"""Summaries in PostgreSQL."""

from __future__ import annotations

from typing import Any

import adbc_driver_postgresql.dbapi as postgresql
import pyarrow as pa

from lakelogic.core.database_url import libpq_address, parse_database_url
from lakelogic.core.redaction import redact
from lakelogic.record.summary_sql import POSTGRESQL_TYPES, add_columns, create_table, quoted
from lakelogic.record.summary_table import SummaryTable, refused

_PATIENCE_S = 10
# Two pipelines may make the table at the same moment; the second one finds it.
_ATTEMPTS = 2


def append(table: SummaryTable, rows: pa.Table) -> None:
    """Add rows in one transaction."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with postgresql.connect(_address(table)) as connection, connection.cursor() as cursor:
                _append(cursor, table, rows)
                connection.commit()
            return
        except postgresql.Error as error:
            if attempt == _ATTEMPTS or not isinstance(error, postgresql.IntegrityError | postgresql.ProgrammingError):
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                why = redact(lines[0] if lines else type(error).__name__)[:300]
                # Not `from error`: what a driver says may quote the address.
                raise refused(table, why) from None


def _append(cursor: Any, table: SummaryTable, rows: pa.Table) -> None:
    name = ".".join(quoted(part) for part in (table.schema, table.name) if part)
    # Asked first: whoever may write to a table need not have the right to make schemas.
    if not _columns(cursor, name):
        if table.schema:
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(table.schema)}")
        cursor.execute(create_table(name, POSTGRESQL_TYPES))
    for statement in add_columns(name, _columns(cursor, name), POSTGRESQL_TYPES):
        cursor.execute(statement)
    cursor.adbc_ingest(table.name, rows, mode="append", db_schema_name=table.schema)


def _columns(cursor: Any, name: str) -> set[str]:
    cursor.execute(
        "SELECT attname::text FROM pg_attribute "
        f"WHERE attrelid = to_regclass('{name}') AND attnum > 0 AND NOT attisdropped"
    )
    return {str(row[0]) for row in cursor.fetchall()}


def _address(table: SummaryTable) -> str:
    return f"{libpq_address(parse_database_url(table.database))}&connect_timeout={_PATIENCE_S}"
