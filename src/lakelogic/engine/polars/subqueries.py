"""Subqueries in expressions: IN, EXISTS and single values, each of which becomes a column beside every row.

A subquery that speaks of the row around it is answered for each different set of values that it speaks of, once: these
are joined with the rows of the subquery, and the answers are joined back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import PlanError, RunError
from lakelogic.engine.polars.expressions import Compiler, Scope, ScopeColumn
from lakelogic.engine.polars.joins import has_column, matched
from lakelogic.engine.polars.logic import condition
from lakelogic.engine.polars.rows import Queries, Rows, Tables
from lakelogic.engine.polars.trees import has_aggregate, own_nodes, put
from lakelogic.engine.polars.values import Value, refused
from lakelogic.plan.expressions import conjuncts

_PARTS = {"expressions", "from_", "joins", "laterals", "where", "with_", "kind", "hint", "operation_modifiers"}
_ITEM, _COUNT, _THERE = "\0item", "\0count", "\0there"


@dataclass(slots=True)
class Around:
    """The rows that subqueries stand beside; grows by a column for each."""

    scope: Scope
    tables: Tables
    queries: Queries
    new_name: Callable[[], str]

    def add(self, frame: pl.LazyFrame, name: str, value: Value) -> None:
        self.scope = Scope(frame, (*self.scope.columns, ScopeColumn(None, name, name, value.type)))

    def put(self, name: str, value: Value) -> None:
        self.add(self.scope.frame.with_columns(value.expr.alias(name)), name, value)


@dataclass(slots=True)
class _Inner:
    """A subquery: its rows, what it gives, and the conditions that tie it to the row around it."""

    node: exp.Expr
    scope: Scope
    value: exp.Expr
    tied: list[exp.Expr] = field(default_factory=list)
    names: dict[str, ScopeColumn] = field(default_factory=dict)  # of the row around, by the name they have here


def settle_subqueries(roots: Sequence[exp.Expr], around: Around) -> Scope:
    """Put a column in the place of each subquery of these parts of a query."""
    found = own_nodes(roots, exp.In, exp.Exists, exp.Subquery)
    for node in reversed(found):  # inner ones first: an IN may ask for a value that is a subquery itself
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            _settle(node, _is_in(node, around), around)
        elif isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
            inner = _read(node, node.this, around)
            _settle(node, Value(_exists(inner, inner.tied, around), pl.Boolean()), around)
        elif isinstance(node, exp.Subquery) and not isinstance(node.parent, (exp.In, exp.Exists, exp.Any, exp.All)):
            _settle(node, _single(node, around), around)
    return around.scope


def _settle(node: exp.Expr, value: Value, around: Around) -> None:
    name = around.new_name()
    around.put(name, value)
    put(node, name)


def _read(node: exp.Expr, query: exp.Expr, around: Around, *, aggregates: bool = False) -> _Inner:
    """The rows that a subquery chooses from, before it is tied to the row around it."""
    while isinstance(query, exp.Subquery) and not query.args.get("pivots"):
        query = query.this
    select = query.copy()
    tables = around.queries.known(select, around.tables)
    if not isinstance(select, exp.Select) or not _speaks_of_outside(select, tables, around):
        return _of_rows(node, _rows(node, select, around))
    unread = [part for part, value in select.args.items() if value and part not in _PARTS]
    if unread or (not aggregates and has_aggregate(*select.expressions)):
        raise refused(node)
    inner = _Inner(node, around.queries.scope(select, tables), select.expressions[0].unalias())
    where = select.args.get("where")
    _tie(where, inner, tables, around)
    return inner


def _rows(node: exp.Expr, query: exp.Expr, around: Around) -> Rows:
    try:
        return around.queries.rows(query, around.tables)
    except PlanError:
        raise refused(node) from None  # it speaks of something that is not there any more, or not yet


def _of_rows(node: exp.Expr, rows: Rows) -> _Inner:
    """A subquery that could stand alone."""
    name, type_ = next(iter(rows.types.items()))
    if len(rows.types) != 1 and not isinstance(node, exp.Exists):
        raise refused(node)
    frame = rows.frame.select(pl.col(name).alias(_ITEM))
    return _Inner(node, Scope(frame, (ScopeColumn(None, _ITEM, _ITEM, type_),)), exp.column(_ITEM, quoted=True))


def _speaks_of_outside(select: exp.Select, tables: Tables, around: Around) -> bool:
    try:
        scope = around.queries.scope(select.copy(), tables)  # work on a query changes its tree
    except PlanError:
        raise refused(select) from None  # its FROM speaks of the row around it
    own = own_nodes([part for key, part in _parts(select) if key not in {"from_", "joins", "with_"}], exp.Column)
    found = any(not has_column(scope, column) and has_column(around.scope, column) for column in own)  # type: ignore[arg-type]
    for query in own_nodes([part for _, part in _parts(select)], exp.Query):
        sources = {source.alias_or_name for source in query.find_all(exp.Table, exp.Subquery, exp.Lateral)}
        for column in query.find_all(exp.Column):
            free = bool(column.table) and column.table not in sources and not has_column(scope, column)
            if free and has_column(around.scope, column):
                raise refused(select)  # a query within speaks of a row that is two queries away
    return found


def _parts(select: exp.Select) -> list[tuple[str, exp.Expr]]:
    given = [(key, value if isinstance(value, list) else [value]) for key, value in select.args.items()]
    return [(key, part) for key, parts in given for part in parts if isinstance(part, exp.Expr)]


def _tie(where: exp.Expr | None, inner: _Inner, tables: Tables, around: Around) -> None:
    """Filter by the conditions of the subquery alone; keep those that speak of the row around it."""
    if where is None:
        raise refused(inner.node)
    own = Around(inner.scope, tables, around.queries, around.new_name)
    inner.scope = settle_subqueries([where], own)
    kept: list[pl.Expr] = []
    for test in conjuncts(where.this):
        columns = [column for column in test.find_all(exp.Column) if not has_column(inner.scope, column)]
        if not columns:
            kept.append(condition(test, Compiler(inner.scope, around.queries.masks)).expr)
            continue
        for column in columns:
            _name(column, inner, around)
        inner.tied.append(test)
    if any(not has_column(inner.scope, column) for column in inner.value.find_all(exp.Column)):
        raise refused(inner.node)
    inner.scope = Scope(inner.scope.frame.filter(*kept) if kept else inner.scope.frame, inner.scope.columns)


def _name(column: exp.Column, inner: _Inner, around: Around) -> None:
    """A column of the row around, by a name that no column of the subquery has."""
    found = around.scope.find(column.name, column.table or None)
    if found is None or found.type.is_nested():
        raise refused(inner.node)
    name = next((name for name, known in inner.names.items() if known == found), None) or around.new_name()
    inner.names[name] = found
    column.replace(exp.column(name, quoted=True))


def _keys(inner: _Inner, around: Around) -> Scope:
    """Each different set of the values that a subquery is tied to."""
    chosen = [pl.col(found.inside).alias(name) for name, found in inner.names.items()]
    columns = tuple(ScopeColumn(None, name, name, found.type) for name, found in inner.names.items())
    return Scope(around.scope.frame.select(chosen).unique(), columns)


def _beside(inner: _Inner, answers: pl.LazyFrame, around: Around) -> None:
    """Answers to the rows that have these values; NULL where there is none."""
    mine = [found.inside for found in inner.names.values()]
    frame = around.scope.frame.join(
        answers, left_on=mine, right_on=list(inner.names), how="left", nulls_equal=True, coalesce=True
    )
    around.scope = Scope(frame, around.scope.columns)


def _exists(inner: _Inner, tests: Sequence[exp.Expr], around: Around) -> pl.Expr:
    """Whether the subquery has a row for which the tests hold."""
    name = around.new_name()
    if not tests:
        one = inner.scope.frame.select((pl.len() > 0).alias(name))
        around.scope = Scope(around.scope.frame.join(one, how="cross"), around.scope.columns)
        return pl.col(name)
    pairs = matched(_keys(inner, around), inner.scope, tests, around.queries.masks)
    found = pairs.frame.select(list(inner.names)).unique().with_columns(pl.lit(True).alias(name))
    _beside(inner, found, around)
    return pl.col(name).fill_null(False)


def _is_in(node: exp.In, around: Around) -> Value:
    """True where an item is equal; unknown where one might be; false where there is none or all differ."""
    if isinstance(node.this.unnest(), exp.Tuple):
        raise refused(node)
    inner = _read(node, node.args["query"], around)
    name, asked = around.new_name(), around.new_name()
    around.put(name, Compiler(around.scope, around.queries.masks)(node.this))
    if around.scope.columns[-1].type.is_nested():
        raise refused(node)
    some = _exists(inner, inner.tied, around)
    blank = [*inner.tied, exp.Is(this=inner.value.copy(), expression=exp.null())]
    # The test for a NULL speaks of the items alone, unless the subquery is tied to the row anyway.
    unknown = _exists(inner, blank, around) if inner.tied else _has_null(inner, around)
    inner.names[asked] = around.scope.find(name, None)  # type: ignore[assignment]
    equal = exp.EQ(this=exp.column(asked, quoted=True), expression=inner.value.copy())
    found = _exists(inner, [*inner.tied, equal], around)
    maybe = unknown | (pl.col(name).is_null() & some)
    answer = pl.when(found).then(pl.lit(True)).when(maybe).then(pl.lit(None, pl.Boolean())).otherwise(pl.lit(False))
    return Value(answer, pl.Boolean())


def _has_null(inner: _Inner, around: Around) -> pl.Expr:
    value = Compiler(inner.scope, around.queries.masks)(inner.value)
    missing = inner.scope.frame.filter(value.expr.is_null())
    return _exists(_Inner(inner.node, Scope(missing, inner.scope.columns), inner.value), [], around)


def _single(node: exp.Subquery, around: Around) -> Value:
    """A subquery of one column and at most one row, as a value."""
    inner = _read(node, node, around, aggregates=True)
    if inner.tied and has_aggregate(inner.value):
        return _aggregated(inner, around)
    name, value = around.new_name(), Compiler(inner.scope, around.queries.masks)(inner.value)
    first = [value.expr.first().alias(name), pl.len().alias(_COUNT)]
    if inner.tied:
        pairs = matched(_keys(inner, around), inner.scope, inner.tied, around.queries.masks)
        answers = pairs.frame.group_by(list(inner.names)).agg(first)
        _beside(inner, answers.select(*inner.names, _at_most_one(name, value)), around)
    else:
        one = inner.scope.frame.select(first).select(_at_most_one(name, value))
        around.scope = Scope(around.scope.frame.join(one, how="cross"), around.scope.columns)
    return Value(pl.col(name), value.type)


def _at_most_one(name: str, value: Value) -> pl.Expr:
    def check(columns: Sequence[pl.Series]) -> pl.Series:
        most = columns[1].max()
        if isinstance(most, int) and most > 1:
            raise RunError("a subquery that stands for one value has more than one row", code="LL488")
        return columns[0]

    both = [pl.col(name), pl.col(_COUNT)]
    return pl.map_batches(both, check, return_dtype=value.type, is_elementwise=True).alias(name)


def _aggregated(inner: _Inner, around: Around) -> Value:
    """An aggregate of the rows that belong to the row around; of no rows where there are none: COUNT is 0 then."""
    name, default, queries = around.new_name(), around.new_name(), around.queries
    pairs = matched(_keys(inner, around), inner.scope, inner.tied, queries.masks)
    keys = [exp.column(key, quoted=True) for key in inner.names]
    named = exp.alias_(inner.value.copy(), name, quoted=True)
    outputs = [exp.alias_(key.copy(), key.name, quoted=True) for key in keys]
    grouped = exp.Select(expressions=[*outputs, named.copy()], group=exp.Group(expressions=keys))
    answers = queries.select(grouped, pairs, around.tables)
    _beside(inner, answers.frame.with_columns(pl.lit(True).alias(_THERE)), around)
    nothing = Scope(inner.scope.frame.head(0), inner.scope.columns)
    of_none = queries.select(exp.Select(expressions=[named]), nothing, around.tables)
    one = of_none.frame.select(pl.col(name).alias(default))
    there = pl.col(_THERE)
    frame = around.scope.frame.join(one, how="cross")
    frame = frame.with_columns(pl.when(there).then(pl.col(name)).otherwise(pl.col(default)).alias(name))
    around.scope = Scope(frame.drop(_THERE, default), around.scope.columns)
    return Value(pl.col(name), answers.types[name])
