"""Where summaries of pipeline runs go: a table in a lake, in a file of DuckDB or SQLite, or in PostgreSQL."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Final, Literal

import pyarrow as pa

from lakelogic.core.database_url import is_database_url, parse_database_url
from lakelogic.core.errors import RunError
from lakelogic.storage.address import is_remote

Backend = Literal["delta", "duckdb", "sqlite", "postgres"]
BACKENDS: Final[tuple[Backend, ...]] = ("delta", "duckdb", "sqlite", "postgres")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SummaryTable:
    """A table and how it is reached; the address may have a password in it and is never shown."""

    backend: Backend
    schema: str | None
    name: str
    database: str = field(repr=False)

    def __str__(self) -> str:
        return f"the summary table `{f'{self.schema}.' if self.schema else ''}{self.name}` ({self.backend})"


def find_summary_table(backend: Backend, name: str, database: str | None) -> SummaryTable:
    """The table that options mean; raises ValueError with a sentence that quotes no address."""
    schema, _, bare = name.rpartition(".")
    if not _WORD.fullmatch(bare) or (schema and not _WORD.fullmatch(schema)):
        raise ValueError("must be NAME or SCHEMA.NAME, of letters, digits and underscores")
    if not database:
        raise ValueError(f"needs to know where: {_WHERE[backend]}")
    if backend == "postgres":
        _check_postgresql(database)
    elif is_database_url(database) or (backend != "delta" and is_remote(database)):
        raise ValueError(f"needs another address: {_WHERE[backend]}")
    return SummaryTable(backend, schema or None, bare, database)


def append_summary(table: SummaryTable, rows: pa.Table) -> None:
    """Append rows to a table, which is made where it is missing, in one transaction."""
    if rows.num_rows:
        _writer(table)(table, rows)


def check_packages(table: SummaryTable) -> None:
    """Raise where what writes such a table is not installed."""
    _writer(table)


_WHERE: Final = {
    "delta": "--summary-database is a folder",
    "duckdb": "--summary-database is a file",
    "sqlite": "--summary-database is a file",
    "postgres": "--summary-database is postgresql://user:password@host/database",
}
_WRITERS: Final = {
    "delta": "lakelogic.record.summary_delta",
    "duckdb": "lakelogic.record.summary_duckdb",
    "sqlite": "lakelogic.record.summary_sqlite",
    "postgres": "lakelogic.record.summary_postgresql",
}
_EXTRAS: Final = {"duckdb": "duckdb", "postgres": "databases"}


def _writer(table: SummaryTable) -> Callable[[SummaryTable, pa.Table], None]:
    try:
        write: Callable[[SummaryTable, pa.Table], None] = import_module(_WRITERS[table.backend]).append
    except ModuleNotFoundError as error:
        raise RunError(
            f"{table} needs the package `{error.name}`, which is not installed",
            hint=f"pip install 'lakelogic[{_EXTRAS.get(table.backend, 'all')}]'",
            code="LL499",
        ) from error
    return write


def _check_postgresql(database: str) -> None:
    if not is_database_url(database):
        raise ValueError(f"needs another address: {_WHERE['postgres']}")
    try:
        url = parse_database_url(database)
    except ValueError as error:
        raise ValueError(f"has an address that {error}") from None
    if url.kind != "postgresql":
        raise ValueError(f"needs another address: {_WHERE['postgres']}")


def refused(table: SummaryTable, why: str) -> RunError:
    """The one error of all writers."""
    return RunError(f"{table} could not be written: {why}", code="LL497")


def make_folder_of(path: str) -> None:
    """The folder that a file is to be in."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
