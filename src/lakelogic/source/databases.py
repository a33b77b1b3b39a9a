"""Databases as sources: which rows the next batch reads.

A batch has two bounds that are fixed before it reads. Rows at its end (the newest value, and as much before it as
`lookback` says) are listed by their marks first, and exactly the listed ones are read; the next batch begins there
again and leaves out what is listed. So a row that is committed late, with a value that was read already, is in one
batch and only one. What is committed with a value older than the lookback is missed.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NoReturn

import pyarrow as pa

from lakelogic.core.errors import RunError
from lakelogic.core.slices import Bounds, DatabaseSlice
from lakelogic.plan.database_sql import (
    MARK_COLUMN,
    DatabaseRelation,
    literal,
    select_marks,
    select_newest,
    select_one,
)
from lakelogic.plan.database_types import NativeColumn, is_numeric, is_time
from lakelogic.source.database_client import Client
from lakelogic.source.marks import find_marks, forget, sweep_marks, write_marks

_WAYS_ON = (
    "choose: `lakelogic reload` empties the target and loads all there is; or run once with "
    "--set source.load_mode=full, which reads all rows and goes on from the newest"
)
_MARK_SCHEMA = pa.schema([pa.field(MARK_COLUMN, pa.string())])
_FETCH_SIZE = 10_000
_ENDLESS = {"NaN", "Infinity", "infinity"}
_WITHOUT_ORDER = {"uuid", "boolean", "json", "jsonb", "bytea", "xml"}


@dataclass(frozen=True, slots=True)
class Growth:
    """The column that tells what is new, and how much before its newest value may still come."""

    field: str
    lookback: timedelta | None = None
    marked: tuple[str, ...] = ()  # columns that make a row what it is


def relation_key(relation: DatabaseRelation) -> str:
    """What the journal knows a relation by."""
    if relation.table is not None:
        return relation.name
    digest = hashlib.sha256((relation.query or "").encode()).hexdigest()[:16]
    return f"{relation.name}:{digest}"


def describe(client: Client, relation: DatabaseRelation) -> tuple[NativeColumn, ...]:
    """The columns of a relation; a table that is not there is an error."""
    found = client.describe(relation)
    if not found:
        raise RunError(
            f"there is no table `{relation.table}` in the database, or it may not be seen",
            code="LL430",
            hint="write it as schema.name; the user needs the right to read it",
        )
    return found


def whole_slice(
    client: Client, relation: DatabaseRelation, on_empty: Literal["skip", "fail"]
) -> tuple[DatabaseSlice | None, str]:
    """Everything, on every run."""
    if on_empty == "fail" and client.value(select_one(relation)) is None:
        raise RunError(f"`{relation.name}` has no rows", code="LL433", hint="source.on_empty is fail")
    return DatabaseSlice(relation_key(relation), client.identify(relation)), f"full load of {relation.name}"


def next_rows(
    client: Client,
    relation: DatabaseRelation,
    growth: Growth,
    *,
    committed: DatabaseSlice | None,
    control: str,
    on_empty: Literal["skip", "fail"] = "skip",
) -> tuple[DatabaseSlice | None, str]:
    """The slice after a committed one, or the first; None when there is nothing new."""
    columns = {column.name: column for column in describe(client, relation)}
    column = _find_column(columns, relation, growth)
    identity = client.identify(relation)
    before = committed.bounds if committed else None
    if committed is not None:
        _require_same(relation, committed, identity)
    if before is not None:
        _require_marks(relation, before, columns, control)
    _require_order(relation, column)
    high = _find_end(client, relation, growth, before)
    if high is None:
        return _nothing(relation, "the table is empty", on_empty)
    if high in _ENDLESS:
        _refuse_watermark(relation, growth, f"its highest value is `{high}`, and nothing is newer than that")
    tail = _earlier(high, growth, relation, column)
    bounds = Bounds(
        growth.field,
        high,
        tail,
        low=before.tail if before else None,
        number=is_numeric(relation.kind, column.type, high),
        marked=before.marked if before else growth.marked,
        seen=find_marks(control, before.listed) if before else None,
    )
    marks = write_marks(control, client.stream(select_marks(relation, bounds), _MARK_SCHEMA, _FETCH_SIZE))
    sweep_marks(control, (marks.path, bounds.seen))
    if before and (before.high, before.tail, before.digest) == (high, tail, marks.digest):
        forget(marks.path)
        return _nothing(relation, f"no row is newer than {growth.field} {high}", on_empty)
    bounds = replace(bounds, listed=marks.path, digest=marks.digest)
    since = f"from {bounds.low} on" if bounds.low is not None else "from the beginning: no batch was committed before"
    return DatabaseSlice(relation_key(relation), identity, bounds), f"{growth.field} up to {high}, {since}"


def _find_column(columns: Mapping[str, NativeColumn], relation: DatabaseRelation, growth: Growth) -> NativeColumn:
    if growth.field in columns:
        return columns[growth.field]
    near = difflib.get_close_matches(growth.field, columns, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"it has: {', '.join(columns)}"
    raise RunError(f"`{relation.name}` has no column `{growth.field}` to go by", code="LL448", hint=hint)


def _require_order(relation: DatabaseRelation, column: NativeColumn) -> None:
    if relation.kind == "postgresql" and column.type.lower() in _WITHOUT_ORDER:
        growth = Growth(column.name)
        _refuse_watermark(relation, growth, f"PostgreSQL knows no highest value of the type `{column.type}`")


def _refuse_watermark(relation: DatabaseRelation, growth: Growth, why: str) -> NoReturn:
    raise RunError(
        f"`{growth.field}` of `{relation.name}` cannot be gone by: {why}",
        code="LL448",
        hint="choose a column that grows with every change; a lookback needs dates or timestamps; leave `infinity` and "
        "`NaN` out with a query",
    )


def _require_same(relation: DatabaseRelation, committed: DatabaseSlice, identity: str | None) -> None:
    if None not in (committed.relation_id, identity) and committed.relation_id != identity:
        what = f"`{relation.name}` was made anew since it was last read, or is in another database: it is another table"
        raise RunError(what, code="LL434", hint=_WAYS_ON)


def _require_marks(
    relation: DatabaseRelation, before: Bounds, columns: Mapping[str, NativeColumn], control: str
) -> None:
    """What was read can only be told by the same columns and the same list."""
    gone = [name for name in before.marked if name not in columns]
    listed = find_marks(control, before.listed)
    if gone:
        what = f"`{relation.name}` has no column `{gone[0]}` any more, by which rows that were read are known"
    elif listed is not None and not os.path.exists(listed):
        what = f"the list of rows of `{relation.name}` that were read is gone: `{listed}`"
    else:
        return
    raise RunError(what, code="LL434", hint=_WAYS_ON)


def _find_end(client: Client, relation: DatabaseRelation, growth: Growth, before: Bounds | None) -> str | None:
    """The newest value, which never goes back; None where there is no row at all."""
    if before is None:
        newest = client.value(select_newest(relation, growth.field))
        if newest is None and client.value(select_one(relation)) is not None:
            raise RunError(
                f"no row of `{relation.name}` has a value in `{growth.field}`",
                code="LL448",
                hint="choose a column that grows with every change, or load_mode: full",
            )
        return newest
    newest = client.value(select_newest(relation, growth.field, literal(before.high, numeric=before.number)))
    if newest is not None:
        return newest
    # The newest rows are gone. Within the lookback that is a delete like any other.
    if client.value(select_newest(relation, growth.field, literal(before.tail, numeric=before.number))) is not None:
        return before.high
    newest = client.value(select_newest(relation, growth.field))
    if newest is None:
        return None
    raise RunError(
        f"`{relation.name}` was read up to {growth.field} {before.high}, but its newest row is from {newest}",
        code="LL434",
        hint=_WAYS_ON,
    )


def _earlier(high: str, growth: Growth, relation: DatabaseRelation, column: NativeColumn) -> str:
    """Where the part begins in which rows may still be committed."""
    timed = is_time(relation.kind, column.type)
    if growth.lookback is None and (not timed or relation.kind == "sqlite"):
        return high
    try:
        moment = datetime.fromisoformat(high) if timed and len(high) >= len("2026-01-01") else None
    except ValueError:
        moment = None
    if moment is None:
        _refuse_watermark(relation, growth, f"its highest value is `{high}`, which is not a time that can be gone by")
    if growth.lookback is None:
        return high
    return _written_like(high, moment, growth.lookback)


def _written_like(high: str, moment: datetime, lookback: timedelta) -> str:
    """An earlier moment in the form of the newest value, because a text is compared as text."""
    if len(high) == len("2026-01-01"):
        # A part of a day is a whole one: dates know no hours.
        return f"{moment - timedelta(days=-(-lookback // timedelta(days=1))):%Y-%m-%d}"
    fine = "." in high or lookback.microseconds
    text = (moment - lookback).isoformat(sep=high[10], timespec="microseconds" if fine else "seconds")
    return text.replace("+00:00", "Z") if high.endswith("Z") else text


def _nothing(relation: DatabaseRelation, why: str, on_empty: Literal["skip", "fail"]) -> tuple[None, str]:
    if on_empty == "fail":
        raise RunError(f"`{relation.name}` has nothing to read: {why}", code="LL433", hint="source.on_empty is fail")
    return None, why
