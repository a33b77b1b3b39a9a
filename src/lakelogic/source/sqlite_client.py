"""SQLite files through Python's own module."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from sqlglot import exp

from lakelogic.core.database_url import DatabaseUrl
from lakelogic.core.errors import RunError
from lakelogic.plan.database_sql import DatabaseRelation, select_everything
from lakelogic.plan.database_types import NativeColumn
from lakelogic.source.database_client import batches_of, refused


class SqliteClient:
    """One file, opened for reading."""

    def __init__(self, url: DatabaseUrl) -> None:
        if not os.path.isfile(url.database):
            raise RunError("the SQLite file does not exist", code="LL430", hint="check the path in source.database.url")
        self._url = url
        self._connection = self._connect()

    def describe(self, relation: DatabaseRelation) -> tuple[NativeColumn, ...]:
        if relation.table is not None:
            name = exp.to_table(relation.table, dialect="sqlite").name
            rows = self._rows("SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden <> 1", (name,))
            return tuple(NativeColumn(row[0], row[1] or "") for row in rows)
        cursor = self._execute(self._connection, select_everything(relation), ())
        return tuple(NativeColumn(entry[0], "") for entry in cursor.description)

    def identify(self, relation: DatabaseRelation) -> str | None:
        return None

    def estimate(self, relation: DatabaseRelation) -> int | None:
        return None

    def value(self, sql: str) -> str | None:
        rows = self._rows(sql, ())
        return None if not rows or rows[0][0] is None else str(rows[0][0])

    def values(self, sql: str) -> list[str]:
        return [str(row[0]) for row in self._rows(sql, ())]

    def stream(self, sql: str, schema: pa.Schema, fetch_size: int) -> pa.RecordBatchReader:
        connection = self._connect()
        return batches_of(self._execute(connection, sql, ()), schema, fetch_size, connection.close, sqlite3.Error)

    def export_snapshot(self) -> str | None:
        return None

    def close(self) -> None:
        self._connection.close()

    def _connect(self) -> sqlite3.Connection:
        # The stream may be drained by a thread of the engine.
        connection = sqlite3.connect(f"file:{quote(self._url.database)}?mode=ro", uri=True, check_same_thread=False)
        connection.text_factory = _text
        return connection

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return self._execute(self._connection, sql, values).fetchall()

    def _execute(self, connection: sqlite3.Connection, sql: str, values: Sequence[Any]) -> sqlite3.Cursor:
        try:
            return connection.execute(sql, values)
        except sqlite3.Error as error:
            raise refused("SQLite refused a query", error) from None


def _text(read: bytes) -> str:
    try:
        return read.decode()
    except UnicodeDecodeError:
        # SQLite's own error quotes the value.
        raise RunError(
            "SQLite holds a text whose bytes are not UTF-8",
            code="LL439",
            hint="leave such rows out with a query, or cast the column to a blob there",
        ) from None
