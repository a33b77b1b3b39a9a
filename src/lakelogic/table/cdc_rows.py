"""Queries over staged change events: the newest state of each key of a batch, as `spark_cdc` computes it.

`events` are the staged rows, `remembered` the deletes of earlier batches. Only what every engine has is used: ranks
instead of the greatest of structs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp

from lakelogic.plan.model import (
    DELETE_COLUMN,
    EVENT_TIME_COLUMN,
    POSITION_COLUMN,
    UNCHANGED_COLUMN,
    Column,
)
from lakelogic.plan.types import is_floating
from lakelogic.plan.writes import WriteCdc
from lakelogic.table.cdc_events import text_literal
from lakelogic.table.cdc_sql import GONE, GONE_AT, GONE_WHY
from lakelogic.table.deletes import BATCH, DELETED_AT, REASON
from lakelogic.table.spark_staged import quoted

EVENTS, REMEMBERED = "events", "remembered"
Cut = tuple[str, str]  # position and time of a truncate, as SQL

_RANK = "_lakelogic_rank"
_NEWEST = f"{GONE} DESC NULLS LAST, {GONE_AT} DESC NULLS LAST, {GONE_WHY} DESC NULLS LAST"


def newest_cut_query(write: WriteCdc) -> exp.Query:
    """Position and time of the newest truncate among `events`; no row where there is none."""
    key = quoted(write.keys[0])
    return _query(
        f"SELECT {POSITION_COLUMN} AS {GONE}, {EVENT_TIME_COLUMN} AS {GONE_AT} FROM {EVENTS} "
        f"WHERE {DELETE_COLUMN} AND {key} IS NULL ORDER BY {GONE} DESC NULLS LAST, {GONE_AT} DESC NULLS LAST LIMIT 1"
    )


def remembered_cut_query(write: WriteCdc, batch: int) -> exp.Query:
    """The same of the truncates of earlier batches."""
    key = quoted(write.keys[0])
    return _query(
        f"SELECT {POSITION_COLUMN} AS {GONE}, {DELETED_AT} AS {GONE_AT} FROM {REMEMBERED} "
        f"WHERE {key} IS NULL AND {BATCH} < {batch} ORDER BY {GONE} DESC NULLS LAST, {GONE_AT} DESC NULLS LAST LIMIT 1"
    )


def states_query(
    write: WriteCdc,
    columns: Sequence[Column],
    known: Mapping[str, str],
    *,
    cuts: Sequence[Cut],
    remembered_before: int | None,
) -> exp.Query:
    """One row per key: its newest image in the batch, and the newest delete of it that is known.

    With `remembered_before` deletes of batches before that one count too.
    """
    keys = ", ".join(quoted(key) for key in write.keys)
    free = [quoted(c.name) for c in columns if c.name not in write.keys]
    images = _told_values(write, columns, known) if known else _newest_images(keys, free)
    shown = ", ".join([*[f"i.{name} AS {name}" for name in free], *[f"i.{name} AS {name}" for name in known.values()]])
    named = ", ".join(f"k.{quoted(key)} AS {quoted(key)}" for key in write.keys)
    return _query(
        f"WITH keyed AS (SELECT * FROM {EVENTS} WHERE {quoted(write.keys[0])} IS NOT NULL), "
        f"all_keys AS (SELECT DISTINCT {keys} FROM keyed), "
        f"images AS ({images}), "
        f"gone AS ({_deletes(write, cuts, remembered_before)}) "
        f"SELECT {named}, {shown}, g.{GONE} AS {GONE}, g.{GONE_AT} AS {GONE_AT}, g.{GONE_WHY} AS {GONE_WHY} "
        f"FROM all_keys AS k LEFT JOIN images AS i ON {_same(write, 'i')} LEFT JOIN gone AS g ON {_same(write, 'g')}"
    )


def _newest_images(keys: str, free: Sequence[str]) -> str:
    rank = f"ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {POSITION_COLUMN} DESC NULLS LAST) AS {_RANK}"
    shown = ", ".join([keys, *free])
    return (
        f"SELECT {shown} FROM (SELECT {shown}, {rank} FROM keyed WHERE NOT {DELETE_COLUMN}) AS ranked WHERE {_RANK} = 1"
    )


def _told_values(write: WriteCdc, columns: Sequence[Column], known: Mapping[str, str]) -> str:
    """Where events leave values untold, each column has its own newest event."""
    keys = ", ".join(quoted(key) for key in write.keys)
    parts = []
    for c in columns:
        if c.name not in write.keys:
            when = _is_told(c.name) if c.name in known else f"NOT {DELETE_COLUMN}"
            newest = f"CASE WHEN {when} THEN {POSITION_COLUMN} END"
            # DuckDB gives 0.0 for a float of -0.0 here, and keeps a double as it is.
            value = f"CAST({quoted(c.name)} AS DOUBLE)" if is_floating(c.type) else quoted(c.name)
            parts.append(f"MAX_BY({value}, {newest}) AS {quoted(c.name)}")
    parts += [f"MAX(CASE WHEN {_is_told(name)} THEN {POSITION_COLUMN} END) AS {at}" for name, at in known.items()]
    return f"SELECT {keys}, {', '.join(parts)} FROM keyed GROUP BY {keys}"


def _is_told(name: str) -> str:
    listed = f"CONTAINS(COALESCE({UNCHANGED_COLUMN}, ''), {text_literal(f',{name},')})"
    return f"NOT {DELETE_COLUMN} AND NOT {listed}"


def _deletes(write: WriteCdc, cuts: Sequence[Cut], remembered_before: int | None) -> str:
    """The newest delete of each key, out of all that could have deleted it."""
    keys = ", ".join(quoted(key) for key in write.keys)
    found = [
        f"SELECT {keys}, {POSITION_COLUMN} AS {GONE}, {EVENT_TIME_COLUMN} AS {GONE_AT}, 'delete' AS {GONE_WHY} "
        f"FROM keyed WHERE {DELETE_COLUMN}"
    ]
    if remembered_before is not None:
        theirs = ", ".join(f"r.{quoted(key)} AS {quoted(key)}" for key in write.keys)
        found.append(
            f"SELECT {theirs}, r.{POSITION_COLUMN} AS {GONE}, r.{DELETED_AT} AS {GONE_AT}, r.{REASON} AS {GONE_WHY} "
            f"FROM {REMEMBERED} AS r JOIN all_keys AS k ON {_same(write, 'r')} WHERE r.{BATCH} < {remembered_before}"
        )
    for position, at in cuts:
        found.append(f"SELECT {keys}, {position} AS {GONE}, {at} AS {GONE_AT}, 'truncate' AS {GONE_WHY} FROM all_keys")
    shown = f"{keys}, {GONE}, {GONE_AT}, {GONE_WHY}"
    rank = f"ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {_NEWEST}) AS {_RANK}"
    every = " UNION ALL ".join(found)
    return f"SELECT {shown} FROM (SELECT {shown}, {rank} FROM ({every}) AS every) AS ranked WHERE {_RANK} = 1"


def _same(write: WriteCdc, other: str) -> str:
    return " AND ".join(f"k.{quoted(key)} = {other}.{quoted(key)}" for key in write.keys)


def _query(sql: str) -> exp.Query:
    tree = sqlglot.parse_one(sql, dialect="databricks")
    assert isinstance(tree, exp.Query)
    return tree
