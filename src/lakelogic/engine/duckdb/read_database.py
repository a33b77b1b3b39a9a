"""A table or query of a database as a stream of Arrow: the database chooses rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.core.slices import Bounds, DatabaseSlice
from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.types import literal, quote, typed_column
from lakelogic.engine.local.read_database import DatabaseRows, open_database
from lakelogic.engine.protocol import DatabaseRead
from lakelogic.plan.database_sql import MARK_COLUMN, TAIL_COLUMN
from lakelogic.plan.model import SOURCE_COLUMN


def read_database(relations: Relations, slice_: DatabaseSlice, read: DatabaseRead, names: Sequence[str]) -> str:
    """SQL that gives the rows of a slice once, each exactly as it is listed to be read."""
    asked, stream = open_database(slice_, read, names)
    told = DatabaseRows(stream)
    rows = relations.register(told)
    relations.streams[rows] = told
    columns = [typed_column(column) for column in asked]
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
