"""What a run asks a database before it reads: columns, newest values, marks; and rows as Arrow where there is no JDBC.

Asked with a small driver of Python's, in milliseconds and without a JVM: an idle run starts no Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn, Protocol

import pyarrow as pa

from lakelogic.core.database_url import DatabaseUrl, Kind
from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.core.redaction import redact
from lakelogic.plan.database_sql import DatabaseRelation
from lakelogic.plan.database_types import NativeColumn

EXTRA_HINT = "pip install 'lakelogic[databases]'"


class Client(Protocol):
    """An open connection of one kind of database; times are in UTC."""

    def describe(self, relation: DatabaseRelation) -> tuple[NativeColumn, ...]:
        """Names and types, in order; empty where there is no such table."""

    def identify(self, relation: DatabaseRelation) -> str | None:
        """What tells a table from another one that was made under its name; None where nothing does."""

    def value(self, sql: str) -> str | None:
        """The first value of the first row, as text."""

    def values(self, sql: str) -> list[str]:
        """The first column."""

    def stream(self, sql: str, schema: pa.Schema, fetch_size: int) -> pa.RecordBatchReader:
        """The rows in batches; only those of a batch are in memory."""

    def estimate(self, relation: DatabaseRelation) -> int | None:
        """About how many rows a table has, where the database keeps count of it."""

    def export_snapshot(self) -> str | None:
        """A state of the database that others can read while this connection is open; None: it has no such thing."""

    def close(self) -> None: ...


_CLIENTS: Mapping[Kind, tuple[str, str]] = {
    "postgresql": ("lakelogic.source.postgresql_client", "PostgresqlClient"),
    "mysql": ("lakelogic.source.mysql_client", "MysqlClient"),
    "sqlite": ("lakelogic.source.sqlite_client", "SqliteClient"),
}


def has_client(kind: Kind) -> bool:
    return kind in _CLIENTS


@contextmanager
def open_client(url: DatabaseUrl) -> Iterator[Client]:
    """Connect for the length of a block."""
    if url.kind not in _CLIENTS:
        raise CapabilityError(
            f"`{url.kind}` can be read by Spark only, whole and through one connection",
            hint="use engine: spark and load_mode: full, without num_partitions",
        )
    module, name = _CLIENTS[url.kind]
    connect: Callable[[DatabaseUrl], Client] = getattr(import_module(module), name)
    client = connect(url)
    try:
        yield client
    finally:
        client.close()


def missing_package(name: str, error: ModuleNotFoundError) -> NoReturn:
    raise RunError(
        f"a database source needs the package `{name}`, which is not installed", hint=EXTRA_HINT, code="LL437"
    ) from error


def refused(what: str, error: Exception, *, retryable: bool = False, hint: str | None = None) -> RunError:
    """A driver's error in one sentence, without what it may quote of a row or a secret."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line for line in lines if not line.startswith(("DETAIL", "CONTEXT"))), type(error).__name__)
    return RunError(f"{what}: {redact(told)[:300]}", code="LL439", retryable=retryable, hint=hint)


def batches_of(
    cursor: Any, schema: pa.Schema, size: int, close: Callable[[], None], errors: type[Exception]
) -> pa.RecordBatchReader:
    """Rows of a cursor as Arrow, batch by batch; `close` is called after the last, `errors` are the driver's own."""

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            while rows := cursor.fetchmany(size):
                columns = zip(zip(*rows, strict=True), schema, strict=True)
                yield pa.record_batch([_array(values, field) for values, field in columns], schema=schema)
        except errors as error:
            raise refused("the database stopped in the middle of a query", error, retryable=True) from None
        finally:
            close()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _array(values: tuple[Any, ...], field: pa.Field) -> pa.Array:
    try:
        return pa.array(values, type=field.type)
    except (pa.ArrowException, OverflowError):
        # Arrow's own words quote the value.
        what = f"column `{field.name}` holds a value that is no {field.type}"
        raise RunError(what, code="LL439", hint="cast it to a text in a query") from None
