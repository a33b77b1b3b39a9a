"""MySQL and MariaDB through PyMySQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lakelogic.core.database_url import DatabaseUrl
from lakelogic.plan.database_sql import DatabaseRelation, select_everything
from lakelogic.plan.database_types import NativeColumn
from lakelogic.source.database_client import batches_of, missing_package, refused

_COLUMNS = (
    "SELECT column_name, column_type FROM information_schema.columns "
    "WHERE table_schema = {} AND table_name = %s ORDER BY ordinal_position"
)
# Field types of the protocol, for the columns of a query; all others are asked for as text.
_NATIVE = {1: "int", 2: "int", 3: "int", 8: "bigint", 9: "int", 4: "double", 5: "double", 0: "decimal", 246: "decimal"}


class MysqlClient:
    """One connection; its time zone is UTC."""

    def __init__(self, url: DatabaseUrl) -> None:
        self._driver = _import()
        self._url = url
        self._connection = self._connect()

    def describe(self, relation: DatabaseRelation) -> tuple[NativeColumn, ...]:
        if relation.table is not None:
            schema, _, name = relation.table.replace("`", "").rpartition(".")
            sql = _COLUMNS.format("%s" if schema else "database()")
            rows = self._rows(sql, (schema, name) if schema else (name,))
            return tuple(NativeColumn(row[0], _text(row[1])) for row in rows)
        with self._connection.cursor() as cursor:
            self._execute(cursor, select_everything(relation), None)
            described = cursor.description
        return tuple(NativeColumn(entry[0], _NATIVE.get(entry[1], "other")) for entry in described)

    def identify(self, relation: DatabaseRelation) -> str | None:
        return None

    def estimate(self, relation: DatabaseRelation) -> int | None:
        return None

    def value(self, sql: str) -> str | None:
        rows = self._rows(sql, None)
        return None if not rows or rows[0][0] is None else _text(rows[0][0])

    def values(self, sql: str) -> list[str]:
        return [_text(row[0]) for row in self._rows(sql, None)]

    def stream(self, sql: str, schema: pa.Schema, fetch_size: int) -> pa.RecordBatchReader:
        connection = self._connect()
        # This cursor leaves the rows with the server until they are asked for.
        cursor = connection.cursor(self._driver.cursors.SSCursor)
        self._execute(cursor, sql, None)
        return batches_of(cursor, schema, fetch_size, connection.close, self._driver.Error)

    def export_snapshot(self) -> str | None:
        return None

    def close(self) -> None:
        self._connection.close()

    def _connect(self) -> Any:
        url, password = self._url, self._url.password.reveal() if self._url.password else ""
        try:
            return self._driver.connect(
                host=url.host, port=url.port, user=url.user, password=password, database=url.database,
                charset="utf8mb4", init_command="SET time_zone = '+00:00'", autocommit=True,
            )  # fmt: skip
        except self._driver.Error as error:
            raise refused("MySQL cannot be reached", error, retryable=True) from None

    def _rows(self, sql: str, values: Sequence[Any] | None) -> list[Any]:
        with self._connection.cursor() as cursor:
            self._execute(cursor, sql, values)
            rows: list[Any] = cursor.fetchall()
        return rows

    def _execute(self, cursor: Any, sql: str, values: Sequence[Any] | None) -> None:
        try:
            cursor.execute(sql, values)
        except self._driver.Error as error:
            raise refused("MySQL refused a query", error) from None


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _import() -> Any:
    try:
        import pymysql
        import pymysql.cursors
    except ModuleNotFoundError as error:
        missing_package("PyMySQL", error)
    return pymysql
