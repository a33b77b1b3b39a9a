"""A table or query of a database as a stream of Arrow: the database chooses rows and columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import polars as pl

from lakelogic.core.errors import CapabilityError
from lakelogic.core.slices import Bounds, DatabaseSlice
from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.queries import Rows
from lakelogic.engine.polars.relations import Relations
from lakelogic.engine.polars.types import of_plan
from lakelogic.engine.polars.values import Value, call
from lakelogic.engine.protocol import DatabaseRead
from lakelogic.plan.database_sql import MARK_COLUMN, TAIL_COLUMN, select_rows
from lakelogic.plan.database_types import ReadColumn
from lakelogic.plan.expressions import column
from lakelogic.plan.model import SOURCE_COLUMN, Column
from lakelogic.plan.types import named, string_type


def inspect_database(read: DatabaseRead) -> tuple[Column, ...]:
    """Names and types, as the client was told them."""
    if not read.relation.columns:
        raise CapabilityError(f"the Polars engine cannot read {read.url.kind}", hint="use engine: spark")
    return tuple(Column(column.name, column.type) for column in read.relation.columns)


def read_database(relations: Relations, slice_: DatabaseSlice, read: DatabaseRead, names: Sequence[str]) -> Rows:
    """The rows of a slice, each exactly as it is listed to be read."""
    known = {column.name: column for column in read.relation.columns}
    asked = [known[name] for name in names]
    if slice_.bounds is not None:
        asked.append(ReadColumn(MARK_COLUMN, column(MARK_COLUMN), string_type()))
        asked.append(ReadColumn(TAIL_COLUMN, column(TAIL_COLUMN), named("bigint")))
    sql = select_rows(read.relation, names, slice_.bounds, read.within)
    rows = relations.spill(read.open_stream(sql, asked, read.fetch_size))
    frame = rows.frame.filter(*_listed(slice_.bounds)) if slice_.bounds else rows.frame
    values = {name: cast(Value(pl.col(name), rows.types[name]), of_plan(known[name].type)) for name in names}
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
