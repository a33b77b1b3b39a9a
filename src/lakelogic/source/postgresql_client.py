"""PostgreSQL through ADBC, which hands rows over as Arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pyarrow as pa

from lakelogic.core.database_url import DatabaseUrl, libpq_address
from lakelogic.core.errors import RunError
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
_BAD_VALUE = "22"  # the class of errors that a value is to blame for
_ABOUT_A_VALUE = re.compile("invalid|malformed|out of range|too long|cannot convert|division by zero")
_VALUE_HINT = "declare the column in the model: such a value is then a failure of its row; or leave it out with a query"
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
        with ExitStack() as opening:
            connection = opening.enter_context(closing(self._connect(autocommit=True)))
            cursor = opening.enter_context(closing(connection.cursor()))
            self._run(cursor, sql)
            reader = cursor.fetch_record_batch()
            opened = opening.pop_all()
        wanted = _plain_schema(reader.schema, schema)

        def batches() -> Iterator[pa.RecordBatch]:
            with opened:
                try:
                    for batch in reader:
                        yield _plain(batch, wanted)
                except (self._dbapi.Error, pa.ArrowException, OSError) as error:
                    raise _refused("PostgreSQL stopped in the middle of a query", error) from None

        return pa.RecordBatchReader.from_batches(wanted, batches())

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
            try:
                rows: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
            except (self._dbapi.Error, pa.ArrowException, OSError) as error:
                raise _refused("PostgreSQL stopped in the middle of a query", error) from None
        return rows

    def _run(self, cursor: Any, sql: str) -> None:
        try:
            cursor.execute(sql)
        except self._dbapi.Error as error:
            raise _refused("PostgreSQL refused a query", error) from None


def _refused(what: str, error: Exception) -> RunError:
    """Errors in the middle of a query come through Arrow, which has no codes."""
    code = getattr(error, "sqlstate", None)
    if code.startswith(_BAD_VALUE) if code else _ABOUT_A_VALUE.search(str(error)):
        # These quote the value.
        return refused(what, RuntimeError(re.sub('"[^"]*"', '"..."', str(error))), hint=_VALUE_HINT)
    return refused(what, error, retryable=code is None)


def _plain_schema(found: pa.Schema, asked: pa.Schema) -> pa.Schema:
    """The driver hands numbers over as a text of a type of its own; engines get what was asked for, or the text."""
    return pa.schema(
        [
            pa.field(
                has.name, want.type if pa.types.is_decimal(want.type) else getattr(has.type, "storage_type", has.type)
            )
            for has, want in zip(found, asked, strict=True)
        ]
    )


def _plain(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    columns = []
    for column, field in zip(batch.columns, wanted, strict=True):
        stored = getattr(column, "storage", column)
        try:
            columns.append(stored.cast(field.type))
        except pa.ArrowInvalid:
            what = f"column `{field.name}` holds a value that is no {field.type}, such as NaN"
            raise RunError(what, code="LL439", hint=_VALUE_HINT) from None
    return pa.record_batch(columns, schema=wanted)


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
