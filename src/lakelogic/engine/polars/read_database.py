"""A table or query of a database as a stream of Arrow: the database chooses rows and columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import polars as pl

from lakelogic.core.slices import Bounds, DatabaseSlice
from lakelogic.engine.local.read_database import open_database
from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.relations import Relations
from lakelogic.engine.polars.rows import Rows
from lakelogic.engine.polars.types import of_plan
from lakelogic.engine.polars.values import Value, call
from lakelogic.engine.protocol import DatabaseRead
from lakelogic.plan.database_sql import MARK_COLUMN, TAIL_COLUMN
from lakelogic.plan.model import SOURCE_COLUMN


def read_database(relations: Relations, slice_: DatabaseSlice, read: DatabaseRead, names: Sequence[str]) -> Rows:
    """The rows of a slice, each exactly as it is listed to be read."""
    asked, stream = open_database(slice_, read, names)
    rows = relations.spill(stream)
    frame = rows.frame.filter(*_listed(slice_.bounds)) if slice_.bounds else rows.frame
    values = {c.name: cast(Value(pl.col(c.name), rows.types[c.name]), of_plan(c.type)) for c in asked}
    source = pl.lit(read.relation.name).alias(SOURCE_COLUMN)
    chosen = frame.with_columns(source).select([*[v.expr.alias(name) for name, v in values.items()], SOURCE_COLUMN])
    return Rows(chosen, {**{name: value.type for name, value in values.items()}, SOURCE_COLUMN: pl.String()})


def _listed(bounds: Bounds) -> Iterator[pl.Expr]:
    """Rows of the tail only where they are listed, and no row that was read before."""
    mark = call(_md5, [Value(pl.col(MARK_COLUMN), pl.String())], pl.String()).expr
    listed = pl.col(TAIL_COLUMN) == 0
    if bounds.listed is not None:
        listed = listed | mark.is_in(pl.read_parquet(bounds.listed)["mark"].implode()).fill_null(False)
    yield listed
    if bounds.seen is not None:
        yield ~mark.is_in(pl.read_parquet(bounds.seen)["mark"].implode()).fill_null(False)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
