"""PostgreSQL through ADBC, which hands rows over as Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lakelogic.core.database_url import DatabaseUrl, libpq_address
from lakelogic.plan.database_sql import DatabaseRelation, select_everything
from lakelogic.plan.database_types import NativeColumn
from lakelogic.source.database_client import missing_package, refused

_COLUMNS = (
    "SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute "
    "WHERE attrelid = to_regclass({}) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)
_IDENTITY = (
    "SELECT (SELECT oid::text FROM pg_database WHERE datname = current_database()) || '/' || to_regclass({})::oid::text"
)
_ESTIMATE = "SELECT reltuples::bigint::text FROM pg_class WHERE oid = to_regclass({}) AND reltuples > 0"
# What a query gives is known by its Arrow types; all others are asked for as text.
_NATIVE = {
    pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint", pa.float32(): "real",
    pa.float64(): "double precision", pa.bool_(): "boolean", pa.date32(): "date", pa.binary(): "bytea",
    pa.timestamp("us"): "timestamp without time zone", pa.timestamp("us", "UTC"): "timestamp with time zone",
}  # fmt: skip


class PostgresqlClient:
    """One connection; every question is a transaction of its own, except while a snapshot is exported."""

    def __init__(self, url: DatabaseUrl) -> None:
        self._dbapi = _import()
        self._url = url
        self._connection = self._connect(autocommit=True)

    def describe(self, relation: DatabaseRelation) -> tuple[NativeColumn, ...]:
        if relation.table is not None:
            rows = self._ask(_COLUMNS.format(_literal(relation.table)))
            return tuple(NativeColumn(str(row["name"]), str(row["type"])) for row in rows)
        with self._cursor(self._connection) as cursor:
            self._run(cursor, select_everything(relation))
            schema = cursor.fetch_record_batch().schema
        return tuple(NativeColumn(field.name, _native(field)) for field in schema)

    def identify(self, relation: DatabaseRelation) -> str | None:
        return self.value(_IDENTITY.format(_literal(relation.table))) if relation.table else None

    def estimate(self, relation: DatabaseRelation) -> int | None:
        found = self.value(_ESTIMATE.format(_literal(relation.table))) if relation.table else None
        return int(found) if found else None

    def value(self, sql: str) -> str | None:
        rows = self._ask(sql)
        value = next(iter(rows[0].values())) if rows else None
        return None if value is None else str(value)

    def values(self, sql: str) -> list[str]:
        return [str(next(iter(row.values()))) for row in self._ask(sql)]

    def stream(self, sql: str, schema: pa.Schema, fetch_size: int) -> pa.RecordBatchReader:
        connection = self._connect(autocommit=True)
        cursor = connection.cursor()
        self._run(cursor, sql)
        reader = cursor.fetch_record_batch()

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from reader
            except self._dbapi.Error as error:
                raise refused("PostgreSQL stopped in the middle of a query", error, retryable=True) from None
            finally:
                cursor.close()
                connection.close()

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    def export_snapshot(self) -> str | None:
        self._connection.close()
        self._connection = self._connect(autocommit=False)
        with self._cursor(self._connection) as cursor:
            self._run(cursor, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return self.value("SELECT pg_export_snapshot()")

    def close(self) -> None:
        self._connection.close()

    def _connect(self, *, autocommit: bool) -> Any:
        try:
            return self._dbapi.connect(libpq_address(self._url), autocommit=autocommit)
        except self._dbapi.Error as error:
            raise refused("PostgreSQL cannot be reached", error, retryable=True) from None

    def _cursor(self, connection: Any) -> Any:
        return connection.cursor()

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        with self._cursor(self._connection) as cursor:
            self._run(cursor, sql)
            rows: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
        return rows

    def _run(self, cursor: Any, sql: str) -> None:
        try:
            cursor.execute(sql)
        except self._dbapi.Error as error:
            raise refused("PostgreSQL refused a query", error) from None


def _native(field: pa.Field) -> str:
    if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
        named = (field.metadata or {}).get(b"ADBC:postgresql:typname", b"text").decode()
        return "text" if named in ("text", "varchar") else named
    if pa.types.is_list(field.type):
        return "array[]"
    return _NATIVE.get(field.type, "other")


def _literal(text: str | None) -> str:
    return "'" + (text or "").replace("'", "''") + "'"


def _import() -> Any:
    try:
        import adbc_driver_postgresql.dbapi
    except ModuleNotFoundError as error:
        missing_package("adbc-driver-postgresql", error)
    return adbc_driver_postgresql.dbapi
