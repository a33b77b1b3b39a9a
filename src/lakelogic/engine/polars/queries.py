"""Queries as lazy frames: FROM, WHERE, GROUP BY, windows, the projection, and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import PlanError
from lakelogic.engine.local.spark_text import read_again
from lakelogic.engine.polars.aggregates import is_aggregate
from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.expressions import Compiler, MaskCalls, Scope, ScopeColumn
from lakelogic.engine.polars.joins import join
from lakelogic.engine.polars.logic import condition
from lakelogic.engine.polars.types import Type, common_type, is_null
from lakelogic.engine.polars.values import Value, refused
from lakelogic.engine.polars.windows import Window, window_value

_PARTS_READ = {
    "expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "distinct", "order", "limit",
    "with_", "kind", "hint", "operation_modifiers",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation: a lazy frame and the types of its columns."""

    frame: pl.LazyFrame
    types: Mapping[str, Type]


def run_query(tree: exp.Expr, tables: Mapping[str, Rows], masks: MaskCalls) -> Rows:
    """The rows of a query over named relations; nothing is computed yet."""
    return _Queries(masks).rows(read_again(tree), tables)


@dataclass(frozen=True, slots=True)
class _Queries:
    masks: MaskCalls

    def rows(self, tree: exp.Expr, tables: Mapping[str, Rows]) -> Rows:
        tables = self._with(tree, tables)
        match tree:
            case exp.Subquery():
                return self.rows(tree.this, tables)
            case exp.Union():
                return self._union(tree, tables)
            case exp.Select():
                return _Select(self, tree, tables).rows()
        raise refused(tree)

    def _with(self, tree: exp.Expr, tables: Mapping[str, Rows]) -> Mapping[str, Rows]:
        for cte in tree.ctes if isinstance(tree, exp.Query) else []:
            tables = {**tables, cte.alias: self.rows(cte.this, tables)}
        return tables

    def _union(self, tree: exp.Union, tables: Mapping[str, Rows]) -> Rows:
        if any(tree.args.get(part) is not None for part in ("order", "limit", "by_name")):
            raise refused(tree)
        left, right = self.rows(tree.left, tables), self.rows(tree.right, tables)
        if len(left.types) != len(right.types):
            raise PlanError("the parts of a UNION have different numbers of columns")
        pairs = list(zip(left.types.items(), right.types.items(), strict=True))
        types = {name: common_type([one, other], tree) for (name, one), (_, other) in pairs}
        first = left.frame.select([_as(Value(pl.col(name), one), types[name], name) for (name, one), _ in pairs])
        others = [_as(Value(pl.col(n), other), types[name], name) for (name, _), (n, other) in pairs]
        second = right.frame.select(others)
        both = pl.concat([first, second])
        return Rows(both.unique() if tree.args.get("distinct") else both, types)

    def scope(self, source: exp.Expr, tables: Mapping[str, Rows]) -> Scope:
        """What stands after FROM or JOIN."""
        alias = source.alias_or_name
        match source:
            case exp.Table():
                found = tables.get(source.name) or _same_name(source.name, tables)
                if found is None:
                    raise PlanError(f"there is no relation `{source.name}`", hint=f"there are: {', '.join(tables)}")
                rows = found
            case exp.Subquery():
                rows = self.rows(source.this, tables)
            case exp.Values():
                rows = self._values(source)
            case _:
                raise refused(source)
        if source.args.get("joins") or source.args.get("pivots") or source.args.get("sample"):
            raise refused(source)
        columns = tuple(ScopeColumn(alias, name, name, type_) for name, type_ in rows.types.items())
        return Scope(rows.frame, columns)

    def _values(self, node: exp.Values) -> Rows:
        one = Scope(pl.LazyFrame({"\0": [0]}), ())
        compiler = Compiler(one, self.masks)
        names = [column.name for column in node.args["alias"].args.get("columns") or []]
        lines = [[compiler(item) for item in _items(row)] for row in node.expressions]
        columns = list(zip(*lines, strict=True))
        names = names or [f"col{number}" for number in range(1, len(columns) + 1)]
        types = [common_type([value.type for value in column], node) for column in columns]
        frames = [
            one.frame.select([_as(value, type_, name) for value, type_, name in zip(line, types, names, strict=True)])
            for line in lines
        ]
        return Rows(pl.concat(frames), dict(zip(names, types, strict=True)))


def _items(row: exp.Expr) -> list[exp.Expr]:
    return list(row.expressions) if isinstance(row, exp.Tuple) else [row]


def _same_name(name: str, tables: Mapping[str, Rows]) -> Rows | None:
    return next((rows for known, rows in tables.items() if known.lower() == name.lower()), None)


def _as(value: Value, wanted: Type, name: str) -> pl.Expr:
    return cast(value, wanted).expr.alias(name)


class _Select:
    """One SELECT, in the order in which SQL works it off."""

    def __init__(self, queries: _Queries, tree: exp.Select, tables: Mapping[str, Rows]) -> None:
        self.queries, self.tree, self.tables = queries, tree, tables
        unknown = [part for part, value in tree.args.items() if value and part not in _PARTS_READ]
        if unknown:
            raise refused(tree)
        self.scope = self._from()
        self.made = 0

    @property
    def compiler(self) -> Compiler:
        return Compiler(self.scope, self.queries.masks)

    def rows(self) -> Rows:
        self._join_scalars()
        where = self.tree.args.get("where")
        if where is not None:
            self._filter(where.this)
        stars = self._stars()
        if self._is_grouped():
            self._group()
        self._windows()
        for part in ("having", "qualify"):
            if self.tree.args.get(part) is not None:
                self._filter(self.tree.args[part].this)
        self._explode()
        return self._limited(self._projected(stars))

    def _from(self) -> Scope:
        source = self.tree.args.get("from_")
        if source is None:
            return Scope(pl.LazyFrame({"\0": [0]}), ())
        scope = self.queries.scope(source.this, self.tables)
        for joined in self.tree.args.get("joins") or []:
            scope = join(scope, self.queries.scope(joined.this, self.tables), joined, self.queries.masks)
        for lateral in self.tree.args.get("laterals") or []:
            scope = _lateral(scope, lateral, self.queries.masks)
        return scope

    def _filter(self, test: exp.Expr) -> None:
        self.scope = Scope(self.scope.frame.filter(condition(test, self.compiler).expr), self.scope.columns)

    def _new_name(self) -> str:
        self.made += 1
        return f"\0made{self.made}"

    def _add(self, values: Sequence[tuple[str, Value]]) -> None:
        frame = self.scope.frame.with_columns([value.expr.alias(name) for name, value in values])
        self._know(frame, values)

    def _know(self, frame: pl.LazyFrame, values: Sequence[tuple[str, Value]]) -> None:
        fresh = tuple(ScopeColumn(None, name, name, value.type) for name, value in values)
        self.scope = Scope(frame, (*self.scope.columns, *fresh))

    def _join_scalars(self) -> None:
        """A subquery of one row and one column stands beside every row."""
        for node in [n for n in self.tree.find_all(exp.Subquery) if _is_scalar(n, self.tree)]:
            if not isinstance(node.this, exp.Select) or node.this.args.get("group") or not _has_aggregate(node.this):
                raise refused(node)
            rows = self.queries.rows(node.this, self.tables)
            if len(rows.types) != 1:
                raise refused(node)
            (name, type_), made = next(iter(rows.types.items())), self._new_name()
            frame = self.scope.frame.join(rows.frame.select(pl.col(name).alias(made)), how="cross")
            self._know(frame, [(made, Value(pl.col(made), type_))])
            node.replace(exp.column(made, quoted=True))

    def _is_grouped(self) -> bool:
        if self.tree.args.get("group") is not None or self.tree.args.get("having") is not None:
            return True
        return any(_has_aggregate(node) for node in self.tree.expressions)

    def _group(self) -> None:
        """Keys and aggregates become columns; what is around them is computed of those."""
        group = self.tree.args.get("group")
        if group is not None and any(value for part, value in group.args.items() if part != "expressions"):
            raise refused(self.tree)
        keys = [self._key(node) for node in (group.expressions if group is not None else [])]
        compiler = self.compiler
        key_values = [(self._new_name(), compiler(key)) for key in keys]
        found = [node for root in self._outputs() for node in root.find_all(*_NODES) if _is_outer_aggregate(node)]
        made = [(self._new_name(), node.copy(), compiler(node)) for node in found]
        # Aggregates first: they are about the rows of a group, and may speak of its key.
        self._replace([(node, name) for name, node, _ in made])
        self._replace([(key, name) for key, (name, _) in zip(keys, key_values, strict=True)])
        aggregated = [value.expr.alias(name) for name, _, value in made]
        keyed = [value.expr.alias(name) for name, value in key_values]
        if keyed:
            frame = self.scope.frame.group_by(keyed, maintain_order=True).agg(aggregated)
        else:
            frame = self.scope.frame.select(aggregated or [pl.len().alias(self._new_name())])
        self.scope = Scope(frame, ())
        self._know(frame, [*key_values, *[(name, value) for name, _, value in made]])

    def _key(self, node: exp.Expr) -> exp.Expr:
        """GROUP BY 1 and GROUP BY an alias mean an expression of the SELECT."""
        if isinstance(node, exp.Literal) and not node.is_string:
            return copied(self.tree.expressions[int(node.name) - 1].unalias())
        if isinstance(node, exp.Column) and not node.table and self.scope.find(node.name, None) is None:
            named = [e for e in self.tree.expressions if e.alias == node.name]
            return copied(named[0].unalias() if named else node)
        return copied(node)

    def _outputs(self) -> list[exp.Expr]:
        parts = [self.tree.args.get(part) for part in ("having", "qualify", "order")]
        return [*self.tree.expressions, *[part for part in parts if part is not None]]

    def _replace(self, pairs: Sequence[tuple[exp.Expr, str]]) -> None:
        for old, name in pairs:
            for root in self._outputs():
                for node in [n for n in root.find_all(type(old)) if n == old]:
                    _put(node, name)

    def _windows(self) -> None:
        nodes = [node for root in self._outputs() for node in root.find_all(exp.Window)]
        alike: dict[tuple[str, ...], list[exp.Window]] = {}
        for node in nodes:
            alike.setdefault(_rows_of_window(node), []).append(node)
        for group in alike.values():
            # Rows are sorted once for all functions that look along them in the same way.
            window = Window(group[0], self.compiler, self.scope.frame)
            for node in group:
                window.node, name = node, self._new_name()
                value = window_value(window)
                window.frame = window.frame.with_columns(value.expr.alias(name))
                self._know(window.frame, [(name, value)])
                _put(node, name)
            self.scope = Scope(window.frame.drop(window.made), self.scope.columns)

    def _explode(self) -> None:
        nodes = [(root, node) for root in self.tree.expressions for node in root.find_all(exp.Explode)]
        if len(nodes) > 1:
            raise refused(self.tree)
        for root, node in nodes:
            if root.unalias() is not node or isinstance(node, exp.Posexplode):
                raise refused(node)
            outer = type(node).__name__.lower().strip("_").startswith("explodeouter")
            value, name = self.compiler(node.this), self._new_name()
            self.scope = exploded(self.scope, value, name, outer=outer, node=node)
            _put(node, name)

    def _stars(self) -> tuple[ScopeColumn, ...]:
        return tuple(c for c in self.scope.columns if not c.name.startswith("\0"))

    def _projected(self, stars: Sequence[ScopeColumn]) -> Rows:
        compiler = self.compiler
        values: dict[str, Value] = {}
        for node in self.tree.expressions:
            for name, value in self._outputs_of(node, stars, compiler):
                if name in values:
                    raise PlanError(f"column `{name}` stands twice in a SELECT", hint="name one of them otherwise")
                values[name] = value
        order = self.tree.args.get("order")
        frame = self._ordered(order, values, compiler) if order is not None else self.scope.frame
        return Rows(_select(frame, values), {name: value.type for name, value in values.items()})

    def _outputs_of(self, node: exp.Expr, stars: Sequence[ScopeColumn], compiler: Compiler) -> list[tuple[str, Value]]:
        star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
        if not isinstance(star, exp.Star):
            return [(node.alias_or_name or node.sql("databricks"), compiler(node.unalias()))]
        if star.args.get("replace") or star.args.get("rename"):
            raise refused(node)
        left_out = {part.name for part in star.args.get("except_") or star.args.get("except") or []}
        table = node.table if isinstance(node, exp.Column) else ""
        kept = [c for c in stars if c.name not in left_out and (not table or (c.table or "") == table)]
        return [(c.name, Value(pl.col(c.inside), c.type)) for c in kept]

    def _ordered(self, order: exp.Order, values: Mapping[str, Value], compiler: Compiler) -> pl.LazyFrame:
        keys, down, last = [], [], []
        for item in order.expressions:
            named = values.get(item.this.name) if isinstance(item.this, exp.Column) and not item.this.table else None
            keys.append((named or compiler(item.this)).expr)
            down.append(bool(item.args.get("desc")))
            last.append(not item.args.get("nulls_first"))
        return self.scope.frame.sort(keys, descending=down, nulls_last=last, maintain_order=True)

    def _limited(self, rows: Rows) -> Rows:
        frame = rows.frame
        if self.tree.args.get("distinct") is not None:
            if self.tree.args["distinct"].args.get("on") is not None or self.tree.args.get("order") is not None:
                raise refused(self.tree)
            frame = frame.unique(maintain_order=True)
        limit = self.tree.args.get("limit")
        if limit is not None:
            frame = frame.head(int(limit.expression.name))
        return Rows(frame, rows.types)


_NODES = (exp.AggFunc, exp.Filter, exp.Anonymous)


def copied(node: exp.Expr) -> exp.Expr:
    return node.copy()


def _select(frame: pl.LazyFrame, values: Mapping[str, Value]) -> pl.LazyFrame:
    made = [value.expr.alias(name) for name, value in values.items()]
    if any(value.expr.meta.root_names() for value in values.values()):
        return frame.select(made)
    # Constants alone would give one row, however many the frame has.
    number = "\0constant"
    named = [value.expr.alias(f"{number}{n}") for n, value in enumerate(values.values())]
    return frame.with_columns(named).select([pl.col(f"{number}{n}").alias(name) for n, name in enumerate(values)])


def _rows_of_window(node: exp.Window) -> tuple[str, ...]:
    order = node.args.get("order")
    return (*[part.sql() for part in node.args.get("partition_by") or []], order.sql() if order is not None else "")


def _put(node: exp.Expr, name: str) -> None:
    """A column in the place of a node; where the node is an output without a name, it keeps its own."""
    made: exp.Expr = exp.column(name, quoted=True)
    if isinstance(node.parent, exp.Select) and not isinstance(node, exp.Alias):
        made = exp.alias_(made, node.alias_or_name or node.sql("databricks"), quoted=True)
    node.replace(made)


def _is_outer_aggregate(node: exp.Expr) -> bool:
    if not is_aggregate(node) or isinstance(node.parent, (exp.Window, exp.Filter)):
        return False
    return not any(is_aggregate(parent) for parent in _parents(node))


def _parents(node: exp.Expr) -> list[exp.Expr]:
    found, at = [], node.parent
    while at is not None and not isinstance(at, exp.Query):
        found.append(at)
        at = at.parent
    return found


def _has_aggregate(tree: exp.Expr) -> bool:
    roots = tree.expressions if isinstance(tree, exp.Select) else [tree]
    return any(_is_outer_aggregate(node) for root in roots for node in root.find_all(*_NODES))


def _is_scalar(node: exp.Subquery, around: exp.Select) -> bool:
    return node.find_ancestor(exp.Select) is around and not isinstance(node.parent, (exp.From, exp.Join, exp.CTE))


def exploded(scope: Scope, value: Value, name: str, *, outer: bool, node: exp.Expr) -> Scope:
    """One row for each item; without `outer`, rows without items are gone."""
    if not isinstance(value.type, pl.List):
        raise refused(node)
    frame = scope.frame.with_columns(value.expr.alias(name))
    if not outer:
        frame = frame.filter(pl.col(name).list.len() > 0)
    frame = frame.explode(name, empty_as_null=True, keep_nulls=True)
    inner: Type = value.type.inner  # type: ignore[assignment]
    return Scope(frame, (*scope.columns, ScopeColumn(None, name, name, pl.String() if is_null(inner) else inner)))


def _lateral(scope: Scope, lateral: exp.Lateral, masks: MaskCalls) -> Scope:
    function, alias = lateral.this, lateral.args.get("alias")
    names = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
    if not isinstance(function, exp.Explode) or isinstance(function, exp.Posexplode) or len(names) != 1:
        raise refused(lateral)
    value, inside = Compiler(scope, masks)(function.this), f"\0lateral{len(scope.columns)}"
    wide = exploded(scope, value, inside, outer=bool(lateral.args.get("outer")), node=lateral)
    last = wide.columns[-1]
    table = alias.name if alias is not None else None
    return Scope(wide.frame, (*scope.columns, ScopeColumn(table, names[0], inside, last.type)))
