"""From observations to versions, as one query of Spark SQL: what history_rows.py says, for engines without a JVM.

The inputs are `batch` (staged rows), `versions` (the rows of the table's files that may hold keys of the batch, each
with the mark of its file) and `remembered` (the store's rows, where there are some). The steps are those of
history_rows.py, by the same names; a test feeds both with the same observations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from lakelogic.plan.model import DELETE_COLUMN, HIDDEN_PREFIX, Column
from lakelogic.plan.types import is_floating, named
from lakelogic.table.history_json import render_json
from lakelogic.table.history_layout import (
    AT,
    BATCH,
    CHANGE,
    COVERED,
    FROM_BATCH,
    FROM_STORE,
    FROM_TABLE,
    GONE,
    KIND,
    OLD_FILE,
    OLD_TO,
    OLD_VERSION,
    OP,
    ORIGIN,
    REMEMBER,
    SINCE,
    Layout,
)
from lakelogic.table.spark_staged import quoted

_SETTLED, _AROUND, _NUMBER = f"{HIDDEN_PREFIX}settled", f"{HIDDEN_PREFIX}around", f"{HIDDEN_PREFIX}number"
_ENDED, _SAME, _BASE = f"{HIDDEN_PREFIX}ended", f"{HIDDEN_PREFIX}same", f"{HIDDEN_PREFIX}base"
_STARTS, _NEXT, _UNTIL = f"{HIDDEN_PREFIX}starts", f"{HIDDEN_PREFIX}next", f"{HIDDEN_PREFIX}until"
_CHANGES, _REMEMBERED = f"{HIDDEN_PREFIX}changes", f"{HIDDEN_PREFIX}remembered"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_KNOWN = (OLD_TO, OLD_VERSION, OLD_FILE)


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """What the query of a batch is made of."""

    layout: Layout
    types: Mapping[str, exp.DataType]  # of the table's columns
    batch: int
    stored: frozenset[str] | None  # columns of the store; None: nothing in it can matter

    @property
    def helpers(self) -> dict[str, exp.DataType]:
        """Columns that some observations have and others lack."""
        moment = self.types[self.layout.write.valid_from]
        known = {OLD_TO: moment, OLD_VERSION: named("int"), OLD_FILE: named("bigint"), BATCH: named("bigint")}
        return {**known, COVERED: named("array<string>")}

    def type_sql(self, name: str) -> str:
        types = {**self.types, **self.helpers, AT: self.types[self.layout.write.valid_from]}
        return types[name].sql("databricks")

    @property
    def keys(self) -> str:
        return _list(self.layout.write.keys)

    @property
    def in_time(self) -> str:
        return f"PARTITION BY {self.keys} ORDER BY {AT}"

    @property
    def at_instant(self) -> str:
        return f"PARTITION BY {self.keys}, {AT}"


def render_changes(query: HistoryQuery) -> exp.Query:
    """What must change in the table and what must be remembered, told apart by `kind`."""
    steps = {
        "own": _own(query),
        "concerned": f"SELECT {query.keys}, min({AT}) AS {SINCE} FROM own GROUP BY {query.keys}",
        "observed": _observed(query),
        "marked": f"SELECT *, coalesce({ORIGIN} = {FROM_TABLE} AND {OLD_TO} < {SINCE}, FALSE) AS {_SETTLED} "
        "FROM observed",
        **(_restored(query) if query.stored is not None else {"restored": "SELECT * FROM marked"}),
        "ranked": _ranked(query),
        "winners": _winners(query),
        **_versions(query),
        "judged": _judged(query),
    }
    parts = ", ".join(f"{name} AS ({sql})" for name, sql in steps.items())
    return _parsed(f"WITH {parts} {_results(query)}")


def change_columns(query: HistoryQuery) -> tuple[Column, ...]:
    """The columns that the query gives."""
    moment = query.types[query.layout.write.valid_from]
    return (
        *[Column(name, query.types[name]) for name in query.layout.columns],
        Column(OP, named("boolean")),
        Column(OLD_FILE, named("bigint")),
        Column(AT, moment),
        Column(GONE, named("boolean")),
        Column(BATCH, named("bigint")),
        Column(COVERED, named("array<string>")),
        Column(KIND, named("string")),
    )


def render_rows(layout: Layout, partition_by: Sequence[str], *, kept: bool, new: bool) -> exp.Query:
    """Rows of the table near each other by key: of `old` what `changes` leave as it is, and what they bring."""
    write, names = layout.write, _list(layout.columns)
    place = (*write.keys, write.valid_from)
    same = " AND ".join(f"o.{quoted(name)} = c.{quoted(name)}" for name in place)
    chosen = ", ".join(f"o.{quoted(name)} AS {quoted(name)}" for name in layout.columns)
    gone = f"SELECT {_list(place)}, TRUE AS {_CHANGES} FROM changes WHERE {OLD_FILE} IS NOT NULL"
    stays = f"SELECT {chosen} FROM old AS o LEFT JOIN ({gone}) AS c ON {same} WHERE c.{_CHANGES} IS NULL"
    comes = f"SELECT {names} FROM changes WHERE {OP}"
    rows = " UNION ALL ".join([*([stays] if kept else []), *([comes] if new else [])])
    return _parsed(f"SELECT {names} FROM ({rows}) AS r ORDER BY {_list((*partition_by, *place))}")


def _parsed(sql: str) -> exp.Query:
    parsed = sqlglot.parse_one(sql, dialect="databricks")
    assert isinstance(parsed, exp.Query)
    return parsed


def _own(query: HistoryQuery) -> str:
    """The rows of the batch, and the unknown member, which is observed in every batch."""
    write = query.layout.write
    gone = f"coalesce({quoted(DELETE_COLUMN)}, FALSE)" if write.deletes else "FALSE"
    kept = f" WHERE NOT {gone}" if write.deletes and write.ignore_deletes else ""
    values = {name: _one_zero(name, query.types[name]) for name in query.layout.source}
    values |= {name: quoted(name) for name in query.layout.lineage}
    values |= {AT: quoted(write.timestamp), GONE: gone}
    rows = f"SELECT {_observation(query, FROM_BATCH, values)} FROM batch{kept}"
    if not write.unknown_names:
        return rows
    given = _unknown(query)
    values = {name: given.get(name, _null(query, name)) for name in (*write.keys, *query.layout.carried)}
    values |= {AT: given[AT], GONE: "FALSE"}
    return f"{rows} UNION ALL SELECT {_observation(query, FROM_BATCH, values)}"


def _unknown(query: HistoryQuery) -> dict[str, str]:
    """The values of the unknown member by column; it is there before any fact."""
    write = query.layout.write
    given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
    values = {name: f"CAST({_text(value)} AS {query.type_sql(name)})" for name, value in given.items()}
    start = given.get(write.timestamp, "1900-01-01")
    return {**values, AT: f"CAST({_text(start)} AS {query.type_sql(AT)})"}


def _observed(query: HistoryQuery) -> str:
    write = query.layout.write
    names = [*write.keys, AT, GONE, ORIGIN, *query.helpers, *query.layout.carried]
    none = f"CAST(NULL AS {query.type_sql(AT)}) AS {SINCE}"
    same = " AND ".join(f"o.{quoted(key)} = c.{quoted(key)}" for key in write.keys)
    chosen = ", ".join(f"o.{quoted(name)}" for name in names)
    version = {
        AT: quoted(write.valid_from),
        GONE: "FALSE",
        OLD_TO: quoted(write.valid_to),
        OLD_VERSION: quoted(write.version),
        OLD_FILE: quoted(OLD_FILE),
        **{name: quoted(name) for name in query.layout.carried},
    }
    found = f"SELECT {_observation(query, FROM_TABLE, version)} FROM versions"
    parts = [
        f"SELECT {_list(names)}, {none} FROM own",
        f"SELECT {chosen}, c.{SINCE} FROM ({found}) AS o INNER JOIN concerned AS c ON {same}",
    ]
    if query.stored is not None:
        there = [name for name in (AT, GONE, BATCH, COVERED, *query.layout.carried) if name in query.stored]
        known = _observation(query, FROM_STORE, {name: quoted(name) for name in there})
        stored = f"SELECT {known} FROM remembered WHERE {BATCH} < {query.batch}"
        parts.append(
            f"SELECT {chosen}, c.{SINCE} FROM ({stored}) AS o INNER JOIN concerned AS c ON {same} "
            f"WHERE o.{AT} >= c.{SINCE}"
        )
    return " UNION ALL ".join(parts)


def _observation(query: HistoryQuery, origin: int, values: Mapping[str, str]) -> str:
    """The same columns for observations of every origin."""
    keys = [f"{values.get(key, quoted(key))} AS {quoted(key)}" for key in query.layout.write.keys]
    others = [
        f"{values.get(name) or _null(query, name)} AS {quoted(name)}"
        for name in (*query.helpers, *query.layout.carried)
    ]
    return ", ".join([*keys, f"{values[AT]} AS {AT}", f"{values[GONE]} AS {GONE}", f"{origin} AS {ORIGIN}", *others])


def _restored(query: HistoryQuery) -> dict[str, str]:
    """Give what is remembered the values of the version around it, and drop what is no longer true of it."""
    layout, stored = query.layout, f"p.{ORIGIN} = {FROM_STORE}"
    of_table = f"{ORIGIN} = {FROM_TABLE} AND NOT {_SETTLED}"
    placed = (
        # A version of the same instant is not seen by it, and needs not be: what is remembered gives way to it.
        f"SELECT *, lag(CASE WHEN {of_table} THEN {AT} END) IGNORE NULLS OVER ({query.in_time}) AS {_AROUND}, "
        # The table's version at an instant, else what was written last, is the winner of all that came before.
        f"row_number() OVER ({query.at_instant} ORDER BY {ORIGIN} ASC, {BATCH} DESC NULLS LAST) AS {_NUMBER} "
        "FROM marked"
    )
    around = f"SELECT {_list((*layout.write.keys, AT, *layout.source))} FROM marked WHERE {of_table}"
    covered = {name: _is_covered(query, name) for name in layout.source}
    source = [
        f"CASE WHEN {stored}{covered[name]} THEN a.{quoted(name)} ELSE p.{quoted(name)} END AS {quoted(name)}"
        for name in layout.source
    ]
    others = [*layout.write.keys, AT, GONE, ORIGIN, *_KNOWN, _SETTLED, *layout.lineage]
    chosen = ", ".join([*[f"p.{quoted(name)} AS {quoted(name)}" for name in others], *source])
    same = " AND ".join(f"p.{quoted(key)} = a.{quoted(key)}" for key in layout.write.keys)
    return {
        "placed": placed,
        "around": around,
        "restored": f"SELECT {chosen} FROM placed AS p LEFT JOIN around AS a ON {same} AND p.{_AROUND} = a.{AT} "
        f"WHERE p.{ORIGIN} <> {FROM_STORE} OR p.{_NUMBER} = 1",
    }


def _is_covered(query: HistoryQuery, name: str) -> str:
    # A column that the store never had was always that of the version around.
    return f" AND array_contains(p.{COVERED}, {_text(name)})" if name in (query.stored or ()) else ""


def _ranked(query: HistoryQuery) -> str:
    """Of all that is known about a key at one instant the winner is a delete, else the row with the greatest values."""
    layout, write = query.layout, query.layout.write
    content = [*sorted(write.tracked), *sorted(name for name in write.untracked if name not in write.opaque)]
    greatest = [term for name in content for term in _descending(quoted(name), query.types[name])]
    rest = [name for name in (*write.opaque, *layout.lineage) if not _is_nested(query.types[name])]
    last = [f"{quoted(name)} ASC NULLS LAST" for name in rest]
    order = ", ".join([f"{GONE} DESC", *greatest, f"{ORIGIN} ASC", *last])
    names = [*write.keys, AT, GONE, ORIGIN, _SETTLED, *layout.carried]
    known = ", ".join(f"max({name}) OVER ({query.at_instant}) AS {name}" for name in _KNOWN)
    number = f"row_number() OVER ({query.at_instant} ORDER BY {order}) AS {_NUMBER}"
    return f"SELECT {_list(names)}, {known}, {number} FROM restored"


def _winners(query: HistoryQuery) -> str:
    """One observation per key and instant; it knows the version that the table has there, whoever wins."""
    layout = query.layout
    names = [*layout.write.keys, AT, GONE, ORIGIN, _SETTLED, *_KNOWN, *layout.carried]
    return f"SELECT {_list(names)} FROM ranked WHERE {_NUMBER} = 1"


def _versions(query: HistoryQuery) -> dict[str, str]:
    """Which winners open a version, its number, and where it ends."""
    write, over = query.layout.write, f"OVER ({query.in_time})"
    same = " AND ".join(f"(lag({quoted(name)}) {over} <=> {quoted(name)})" for name in write.tracked)
    base = f"lag(CASE WHEN {_SETTLED} THEN {OLD_VERSION} END) IGNORE NULLS {over}"
    number = f"count(CASE WHEN {_STARTS} THEN 1 END) OVER ({query.in_time} {_SO_FAR})"
    bound = f"CASE WHEN {_STARTS} OR {GONE} THEN {AT} END"
    return {
        # What follows a settled version opens one: it differs, or the key was gone in between.
        "linked": f"SELECT *, lag({GONE} OR {_SETTLED}) {over} AS {_ENDED}, {same or 'TRUE'} AS {_SAME}, "
        f"coalesce({base}, 0) AS {_BASE} FROM winners",
        "opened": f"SELECT *, NOT {_SETTLED} AND NOT {GONE} AND ({_ENDED} IS NULL OR {_ENDED} OR NOT {_SAME}) "
        f"AS {_STARTS} FROM linked",
        "numbered": f"SELECT *, CAST({_BASE} + {number} AS INT) AS {_NUMBER}, "
        f"lead({bound}) IGNORE NULLS {over} AS {_NEXT} FROM opened",
    }


def _judged(query: HistoryQuery) -> str:
    end = f"CAST({_text(query.layout.write.end)} AS {query.type_sql(AT)})"
    until = f"coalesce({_NEXT}, {end})"
    same = f"{ORIGIN} = {FROM_TABLE} AND {OLD_TO} = {until} AND {OLD_VERSION} = {_NUMBER}"
    there = f"{OLD_VERSION} IS NOT NULL"
    return (
        f"SELECT *, {until} AS {_UNTIL}, CASE WHEN {_STARTS} THEN NOT ({there}) OR NOT ({same}) ELSE {there} END "
        f"AS {_CHANGES}, NOT {_STARTS} AND {ORIGIN} <> {FROM_STORE} AS {_REMEMBERED} "
        f"FROM numbered WHERE NOT {_SETTLED}"
    )


def _results(query: HistoryQuery) -> str:
    layout, write = query.layout, query.layout.write
    made = {write.timestamp: AT, write.valid_from: AT, write.valid_to: _UNTIL, write.version: _NUMBER}
    made |= {write.current: f"{_NEXT} IS NULL"}
    if write.surrogate:
        made[write.surrogate] = _surrogate(query)
    # A remembered row has the tracked values of the version around it, and a delete has none.
    kept = {name: f"CASE WHEN NOT {GONE} THEN {quoted(name)} END" for name in (*write.untracked, *layout.lineage)}
    kept |= {key: quoted(key) for key in write.keys}
    tracked = f"CAST(array({', '.join(_text(name) for name in write.tracked)}) AS ARRAY<STRING>)"
    changed = [f"{made.get(name, quoted(name))} AS {quoted(name)}" for name in layout.columns]
    stored = [f"{kept.get(name) or _null(query, name)} AS {quoted(name)}" for name in layout.columns]
    none = f"{_null(query, AT)} AS {AT}, CAST(NULL AS BOOLEAN) AS {GONE}, {_null(query, BATCH)} AS {BATCH}"
    return (
        f"SELECT {', '.join(changed)}, {_STARTS} AS {OP}, {OLD_FILE}, {none}, {_null(query, COVERED)} AS {COVERED}, "
        f"{_text(CHANGE)} AS {KIND} FROM judged WHERE {_CHANGES} UNION ALL "
        f"SELECT {', '.join(stored)}, CAST(NULL AS BOOLEAN) AS {OP}, {_null(query, OLD_FILE)} AS {OLD_FILE}, "
        f"{AT}, {GONE}, CAST({query.batch} AS BIGINT) AS {BATCH}, {tracked} AS {COVERED}, "
        f"{_text(REMEMBER)} AS {KIND} FROM judged WHERE {_REMEMBERED}"
    )


def _surrogate(query: HistoryQuery) -> str:
    """A hash of key and start: the same for the same version, whenever and wherever it is computed."""
    write = query.layout.write
    columns = [*[(key, query.types[key]) for key in write.keys], (AT, query.types[write.valid_from])]
    hashed = f"substring(sha2({render_json(columns)}, 256), 1, 32)"
    if write.surrogate not in write.unknown_names:
        return hashed
    given = _unknown(query)
    is_unknown = " AND ".join(f"{quoted(name)} = {given[name]}" for name in (AT, *write.keys))
    return f"CASE WHEN {is_unknown} THEN {given[str(write.surrogate)]} ELSE {hashed} END"


def _descending(value: str, type_: exp.DataType) -> list[str]:
    """The order of a value's type from the greatest down; a struct goes field by field, as Spark compares it."""
    if type_.this != exp.DataType.Type.STRUCT:
        return [f"{value} DESC NULLS LAST"]
    fields = [(field.this.name, field.args["kind"]) for field in type_.expressions]
    inner = [term for name, kind in fields for term in _descending(f"{value}.{quoted(name)}", kind)]
    return [f"{value} IS NULL ASC", *inner]


def _is_nested(type_: exp.DataType) -> bool:
    return type_.this in exp.DataType.NESTED_TYPES


def _one_zero(name: str, type_: exp.DataType) -> str:
    """Zero has one sign: -0.0 equals 0.0, so both must read the same as text."""
    column = quoted(name)
    return f"CASE WHEN {column} = 0 THEN abs({column}) ELSE {column} END" if is_floating(type_) else column


def _null(query: HistoryQuery, name: str) -> str:
    return f"CAST(NULL AS {query.type_sql(name)})"


def _list(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def _text(value: str) -> str:
    return exp.Literal.string(value).sql("databricks")
