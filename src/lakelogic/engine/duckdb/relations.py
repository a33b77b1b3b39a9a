"""Named relations of one call: tables and views that are gone when the call ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import duckdb
from sqlglot import exp

from lakelogic.core.errors import LakeLogicError
from lakelogic.engine.duckdb.expansion import bounded
from lakelogic.engine.duckdb.render import rewrite, sql_of, type_sql
from lakelogic.engine.duckdb.session import Session
from lakelogic.engine.duckdb.typed import settle_types
from lakelogic.engine.duckdb.types import keeps_type, quote
from lakelogic.plan.model import Column


class Stream(Protocol):
    """Rows that Arrow can read as often as wanted."""

    @property
    def rows(self) -> int | None:
        """How many they are, once all have been read."""

    @property
    def failure(self) -> LakeLogicError | None:
        """Why they could not be read."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@dataclass(slots=True)
class Relations:
    """Relations by the names that queries use."""

    session: Session
    tables: list[str] = field(default_factory=list)
    views: list[str] = field(default_factory=list)
    registered: list[str] = field(default_factory=list)
    streams: dict[str, Stream] = field(default_factory=dict)  # by the SQL that reads them, and by the views of it

    def register(self, frame: Any) -> str:
        """An Arrow object under a name of its own."""
        name = f"lakelogic_input_{len(self.registered)}"
        self.session.connection.register(name, frame)
        self.registered.append(name)
        return name

    def add_stream(self, stream: Stream) -> str:
        """SQL of rows that are read anew each time; whoever counts a view of all of them need not read them again."""
        sql = f"SELECT * FROM {self.register(stream)}"
        self.streams[sql] = stream
        return sql

    def add_table(self, name: str, sql: str) -> None:
        """Rows that are computed now, once."""
        self.session.run(f"CREATE TEMP TABLE {quote(name)} AS {sql}")
        self.tables.append(name)

    def add_view(self, name: str, sql: str) -> None:
        self.session.run(f"CREATE TEMP VIEW {quote(name)} AS {sql}")
        self.views.append(name)
        if sql in self.streams:
            self.streams[name] = self.streams[sql]

    def sql(self, tree: exp.Expr) -> str:
        return sql_of(settle_types(bounded(rewrite(tree, self._types_of)), self.session))

    def _types_of(self, name: str) -> dict[str, str]:
        known = {*self.tables, *self.views}
        return dict(self.describe(f"SELECT * FROM {quote(name)}")) if name in known else {}

    def describe(self, sql: str) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self.session.run(f"DESCRIBE {sql}").fetchall()]

    def count(self, name: str) -> int:
        known = self.streams[name].rows if name in self.streams else None
        return (
            known
            if known is not None
            else int(self.session.run(f"SELECT count(*) FROM {quote(name)}").fetchall()[0][0])
        )

    def aligned(self, sql: str, columns: Sequence[Column]) -> str:
        """The query with its declared columns in their declared types: HUGEINT sums become BIGINT again."""
        found = dict(self.describe(sql))
        casts = [
            f"CAST({quote(c.name)} AS {type_sql(c.type)}) AS {quote(c.name)}"
            for c in columns
            if c.name in found and not keeps_type(c) and _canonical(self, type_sql(c.type)) != found[c.name]
        ]
        return f"SELECT * REPLACE ({', '.join(casts)}) FROM ({sql})" if casts else sql


def _canonical(relations: Relations, type_: str) -> str:
    """DuckDB's own spelling of a type."""
    return relations.describe(f"SELECT CAST(NULL AS {type_}) AS x")[0][1]


@contextmanager
def open_relations(session: Session) -> Iterator[Relations]:
    """Relations that are gone when the block ends, however it ends."""
    relations = Relations(session)
    try:
        yield relations
    except duckdb.Error:
        # DuckDB tells of a stream that fails, not why.
        failed = [stream.failure for stream in relations.streams.values() if stream.failure is not None]
        if failed:
            raise failed[0] from None
        raise
    finally:
        for view in reversed(relations.views):
            session.connection.execute(f"DROP VIEW IF EXISTS temp.main.{quote(view)}")
        for table in reversed(relations.tables):
            session.connection.execute(f"DROP TABLE IF EXISTS temp.main.{quote(table)}")
        for name in relations.registered:
            session.connection.unregister(name)
