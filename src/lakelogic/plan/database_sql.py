"""The queries that a database is asked, in its own dialect: only the columns that are wanted, only the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakelogic.contract.contract import Contract
from lakelogic.core.database_url import Kind
from lakelogic.core.errors import Problem
from lakelogic.core.slices import Bounds
from lakelogic.plan.database_types import ReadColumn
from lakelogic.plan.expressions import alias, all_of, any_of, case, column, function, is_null, number, text

DIALECTS: dict[Kind, str] = {"postgresql": "postgres", "mysql": "mysql", "sqlite": "sqlite", "mssql": "tsql"}
# Beside the columns: what tells a row from all others, and whether it lies in the part that is listed.
MARK_COLUMN, TAIL_COLUMN = "_lakelogic_mark", "_lakelogic_tail"
# What parallel reads are split by; it is compared in the database and never leaves it.
PART_COLUMN = "_lakelogic_part"
_FROM = "source"


@dataclass(frozen=True, slots=True)
class DatabaseRelation:
    """A table or a query of a database."""

    kind: Kind
    table: str | None = None
    query: str | None = None
    columns: tuple[ReadColumn, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What rows and messages name it by."""
        return f"{self.kind}:{self.table or 'query'}"

    def sql(self, tree: exp.Expr) -> str:
        return tree.sql(DIALECTS[self.kind])


@dataclass(frozen=True, slots=True)
class Within:
    """Half-open limits of a column, for a run that is for a window."""

    field: str
    start: str
    end: str


def find_query_mistakes(contract: Contract) -> Iterator[Problem]:
    """A query must be one SELECT, which can be asked as often as needed and changes nothing."""
    database = contract.source.database if contract.source else None
    if database is None or database.query is None or database.url is None:
        return
    place = contract.at("source.database.query")
    try:
        kind = database.address.kind
    except ValueError:
        return  # said already
    try:
        parsed = sqlglot.parse(database.query, dialect=DIALECTS[kind])
    except SqlglotError:
        yield Problem("LL169", f"`query` is no query that {kind} could be asked", place, "write one SELECT")
        return
    statements = [statement for statement in parsed if statement is not None]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        yield Problem("LL169", "`query` must be one SELECT", place, "steps of the contract can do the rest")
    elif any(statements[0].find_all(exp.Into, exp.Lock, exp.Insert, exp.Update, exp.Delete, exp.DDL)):
        yield Problem("LL169", "`query` must only read", place, "write a SELECT without INTO and FOR UPDATE")


def select_rows(
    relation: DatabaseRelation,
    names: Sequence[str],
    bounds: Bounds | None = None,
    within: Within | None = None,
    split: str | None = None,
) -> str:
    """The rows of a slice; within bounds, each with its mark beside it."""
    known = {c.name: c for c in relation.columns}
    # Where no client could describe the columns, the driver of the engine says what they are.
    chosen = [alias(known[name].value.copy() if name in known else column(name), name) for name in names]
    conditions = []
    if bounds is not None:
        chosen += [alias(_mark(relation.kind, bounds.marked), MARK_COLUMN), alias(_in_tail(bounds), TAIL_COLUMN)]
        conditions.append(_inside(bounds))
    if within is not None:
        start = exp.GTE(this=column(within.field), expression=text(within.start))
        end = exp.LT(this=column(within.field), expression=text(within.end))
        conditions.append(all_of([start, end]))
    if split is not None:
        chosen.append(alias(column(split), PART_COLUMN))
    return _query(relation, chosen or [alias(number(1), "one")], conditions)


def select_marks(relation: DatabaseRelation, bounds: Bounds) -> str:
    """The marks of all rows from the tail on."""
    tail = Bounds(bounds.field, bounds.high, bounds.tail, low=bounds.tail, number=bounds.number)
    return _query(relation, [alias(_mark(relation.kind, bounds.marked), MARK_COLUMN)], [_inside(tail)])


def select_newest(relation: DatabaseRelation, name: str, low: exp.Expr | None = None) -> str:
    """The highest value of a column, as text; from `low` on where that is given."""
    newest = _text_of(exp.Max(this=column(name)))
    conditions = [exp.GTE(this=column(name), expression=low)] if low is not None else []
    return _query(relation, [alias(newest, "newest")], conditions)


def select_one(relation: DatabaseRelation, only_null: str | None = None) -> str:
    """One row where there is any; with `only_null`, any without a value in that column."""
    conditions = [is_null(column(only_null))] if only_null else []
    query = _built(relation, [alias(number(1), "one")], conditions)
    return relation.sql(query.limit(1))


def select_everything(relation: DatabaseRelation) -> str:
    """No row of the relation, with all its columns: for their names and types."""
    return relation.sql(exp.select("*").from_(_source(relation)).limit(0))


def select_limits(relation: DatabaseRelation, name: str, count: int, sample_percent: float | None = None) -> str:
    """Values that cut a column into parts with about as many rows each."""
    source = _source(relation)
    if sample_percent is not None:
        source = exp.Table(
            this=source.this,
            db=source.args.get("db"),
            sample=exp.TableSample(method="SYSTEM", percent=exp.Literal.number(f"{sample_percent:.4f}")),
        )
    tile = exp.Window(
        this=function("NTILE", number(count)), order=exp.Order(expressions=[exp.Ordered(this=column(name))])
    )
    tiles = exp.select(alias(column(name), "value"), alias(tile, "tile")).from_(source)
    tiles = tiles.where(exp.Not(this=is_null(column(name))))
    first = exp.Min(this=column("value"))
    shown = exp.select(alias(_text_of(first), "value")).from_(tiles.subquery("tiles")).group_by(column("tile"))
    return relation.sql(shown.order_by(exp.Ordered(this=exp.Min(this=column("value")))))


def split_by(relation: DatabaseRelation, limits: Sequence[str], *, numeric: bool) -> tuple[str, ...]:
    """Conditions of which every row fulfils exactly one; a row without a value belongs to the first."""
    name = PART_COLUMN
    cuts = [literal(limit, numeric=numeric) for limit in dict.fromkeys(limits)]
    if not cuts:
        return ()
    conditions = [any_of([exp.LT(this=column(name), expression=cuts[0]), is_null(column(name))])]
    for low, high in zip(cuts, [*cuts[1:], None], strict=True):
        parts: list[exp.Expr] = [exp.GTE(this=column(name), expression=low.copy())]
        if high is not None:
            parts.append(exp.LT(this=column(name), expression=high.copy()))
        conditions.append(all_of(parts))
    return tuple(relation.sql(condition) for condition in conditions)


def literal(value: str, *, numeric: bool) -> exp.Expr:
    """A value that the database itself gave, written back: it converts a text to the type of the column."""
    return exp.Literal.number(value) if numeric else text(value)


def _query(relation: DatabaseRelation, chosen: Sequence[exp.Expr], conditions: Sequence[exp.Expr]) -> str:
    return relation.sql(_built(relation, chosen, conditions))


def _built(relation: DatabaseRelation, chosen: Sequence[exp.Expr], conditions: Sequence[exp.Expr]) -> exp.Select:
    query = exp.select(*chosen).from_(_source(relation))
    return query.where(all_of(conditions)) if conditions else query


def _source(relation: DatabaseRelation) -> exp.Expr:
    dialect = DIALECTS[relation.kind]
    if relation.table is not None:
        return _quoted(exp.to_table(relation.table, dialect=dialect), relation.kind)
    assert relation.query is not None
    query = sqlglot.parse_one(relation.query, dialect=dialect)
    assert isinstance(query, exp.Query)
    return query.subquery(_FROM)


def _quoted(table: exp.Table, kind: Kind) -> exp.Table:
    """The name in quotes, because `order` and `user` are words of SQL; what stands without them keeps its meaning."""
    for part in table.parts:
        if isinstance(part, exp.Identifier) and not part.quoted:
            # PostgreSQL folds the letters of ASCII, and no others.
            folded = "".join(char.lower() if char.isascii() else char for char in part.name)
            part.set("this", folded if kind == "postgresql" else part.name)
            part.set("quoted", True)
    return table


def _inside(bounds: Bounds) -> exp.Expr:
    value = column(bounds.field)
    limits: list[exp.Expr] = [exp.LTE(this=value.copy(), expression=literal(bounds.high, numeric=bounds.number))]
    if bounds.low is not None:
        limits.insert(0, exp.GTE(this=value.copy(), expression=literal(bounds.low, numeric=bounds.number)))
    # A row without a value cannot be told from a new one by its value; its mark tells.
    return any_of([all_of(limits), is_null(value)])


def _in_tail(bounds: Bounds) -> exp.Expr:
    before = exp.LT(this=column(bounds.field), expression=literal(bounds.tail, numeric=bounds.number))
    return case([(before, number(0))], number(1))


def _mark(kind: Kind, names: Sequence[str]) -> exp.Expr:
    """A text that two rows share only where all these columns are the same."""
    columns: list[exp.Expr] = [column(name) for name in names]
    match kind:
        case "postgresql":
            return function("MD5", _text_of(function("ROW", *columns)))
        case "mysql":
            shown = [function("IFNULL", function("HEX", _text_of(value)), text("-")) for value in columns]
            return function("MD5", function("CONCAT_WS", text(","), *shown))
        case "sqlite":
            shown = [_sqlite_text(value) for value in columns]
            joined: exp.Expr = shown[0]
            for value in shown[1:]:
                joined = exp.DPipe(this=exp.DPipe(this=joined, expression=text(",")), expression=value)
            return joined
        case "mssql":
            raise NotImplementedError("SQL Server is read whole only")


def _sqlite_text(value: exp.Expr) -> exp.Expr:
    # Versions of SQLite differ in the last digits of a real number, and client and engine have each their own.
    real = exp.EQ(this=function("TYPEOF", value.copy()), expression=text("real"))
    return case([(real, function("PRINTF", text("%.12g"), value.copy()))], function("QUOTE", value.copy()))


def _text_of(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build("text"))
