"""A table or query of a database as a stream of Arrow: the database chooses rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.core.errors import CapabilityError
from lakelogic.core.slices import Bounds, DatabaseSlice
from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.types import literal, quote, typed_column
from lakelogic.engine.protocol import DatabaseRead
from lakelogic.plan.database_sql import MARK_COLUMN, TAIL_COLUMN, select_rows
from lakelogic.plan.database_types import ReadColumn
from lakelogic.plan.expressions import column
from lakelogic.plan.model import SOURCE_COLUMN, Column
from lakelogic.plan.types import named, string_type


def inspect_database(read: DatabaseRead) -> tuple[Column, ...]:
    """Names and types, as the client was told them."""
    if not read.relation.columns:
        raise CapabilityError(f"the DuckDB engine cannot read {read.url.kind}", hint="use engine: spark")
    return tuple(Column(column.name, column.type) for column in read.relation.columns)


def read_database(relations: Relations, slice_: DatabaseSlice, read: DatabaseRead, names: Sequence[str]) -> str:
    """SQL that gives the rows of a slice once, each exactly as it is listed to be read."""
    known = {column.name: column for column in read.relation.columns}
    asked = [known[name] for name in names]
    if slice_.bounds is not None:
        asked.append(ReadColumn(MARK_COLUMN, column(MARK_COLUMN), string_type()))
        asked.append(ReadColumn(TAIL_COLUMN, column(TAIL_COLUMN), named("bigint")))
    sql = select_rows(read.relation, names, slice_.bounds, read.within)
    rows = relations.register(read.open_stream(sql, asked, read.fetch_size))
    columns = [typed_column(Column(name, known[name].type)) for name in names]
    where = f" WHERE {_listed(slice_.bounds)}" if slice_.bounds else ""
    return f"SELECT {', '.join([*columns, f'{literal(read.relation.name)} AS {SOURCE_COLUMN}'])} FROM {rows}{where}"


def _listed(bounds: Bounds) -> str:
    """Rows of the tail only where they are listed, and no row that was read before."""
    mark = f"md5({quote(MARK_COLUMN)})"
    listed = f"{TAIL_COLUMN} = 0"
    if bounds.listed is not None:
        listed = f"({listed} OR {mark} IN (SELECT mark FROM read_parquet({literal(bounds.listed)})))"
    if bounds.seen is not None:
        listed += f" AND {mark} NOT IN (SELECT mark FROM read_parquet({literal(bounds.seen)}))"
    return listed
