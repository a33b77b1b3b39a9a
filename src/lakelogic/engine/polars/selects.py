"""One SELECT, in the order in which SQL works it off: WHERE, GROUP BY, windows, the projection, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import PlanError
from lakelogic.engine.polars.explodes import exploded
from lakelogic.engine.polars.expressions import Compiler, Scope, ScopeColumn
from lakelogic.engine.polars.groups import Grouping, group_sets, grouping_value, is_grouping, read_grouping
from lakelogic.engine.polars.logic import condition
from lakelogic.engine.polars.rows import Queries, Rows, Tables, select_values
from lakelogic.engine.polars.subqueries import Around, settle_subqueries
from lakelogic.engine.polars.trees import has_aggregate, outer_aggregates, own_nodes, put
from lakelogic.engine.polars.values import Value, refused
from lakelogic.engine.polars.windows import Window, window_value

_PARTS_READ = {
    "expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "distinct", "order", "limit",
    "offset", "with_", "kind", "hint", "operation_modifiers",
}  # fmt: skip


class Select:
    """The work on one SELECT: `scope` is what its expressions are computed from at each point."""

    def __init__(self, queries: Queries, tree: exp.Select, scope: Scope, tables: Tables) -> None:
        self.queries, self.tree, self.scope, self.tables = queries, tree, scope, tables
        unknown = [part for part, value in tree.args.items() if value and part not in _PARTS_READ]
        if unknown:
            raise refused(tree)
        self.made = 0

    @property
    def compiler(self) -> Compiler:
        return Compiler(self.scope, self.queries.masks)

    def rows(self) -> Rows:
        where = self.tree.args.get("where")
        if where is not None:
            self._settle([where])
            self._filter(where.this)
        stars = tuple(c for c in self.scope.columns if not c.name.startswith("\0"))
        if self._is_grouped():
            self._group()
        self._settle(self._outputs())
        self._keep_by("having")  # windows look at the groups that are left
        self._windows()
        self._keep_by("qualify")
        self._explode()
        return self._limited(self._projected(stars))

    def _keep_by(self, part: str) -> None:
        if self.tree.args.get(part) is not None:
            self._filter(self.tree.args[part].this)

    def _filter(self, test: exp.Expr) -> None:
        self.scope = Scope(self.scope.frame.filter(condition(test, self.compiler).expr), self.scope.columns)

    def _new_name(self) -> str:
        self.made += 1
        return f"\0made{len(self.scope.columns)}_{self.made}"

    def _know(self, frame: pl.LazyFrame, values: Sequence[tuple[str, Value]]) -> None:
        fresh = tuple(ScopeColumn(None, name, name, value.type) for name, value in values)
        self.scope = Scope(frame, (*self.scope.columns, *fresh))

    def _settle(self, roots: Sequence[exp.Expr]) -> None:
        around = Around(self.scope, self.tables, self.queries, self._new_name)
        self.scope = settle_subqueries(roots, around)

    def _is_grouped(self) -> bool:
        if self.tree.args.get("group") is not None or self.tree.args.get("having") is not None:
            return True
        return has_aggregate(*self._outputs())

    def _group(self) -> None:
        """Keys and aggregates become columns; what is around them is computed of those."""
        grouping = read_grouping(self.tree, self.scope)
        if own_nodes(grouping.keys, exp.Query):
            raise refused(self.tree)
        self._settle(outer_aggregates(self._outputs()))
        compiler = self.compiler
        key_values = [(self._new_name(), compiler(key)) for key in grouping.keys]
        # Aggregates first: they are about the rows of a group, and may speak of its key.
        bits = self._grouping_calls(grouping)
        made = [(self._new_name(), node.copy(), compiler(node)) for node in outer_aggregates(self._outputs())]
        self._replace([(node, name) for name, node, _ in made])
        self._replace([(key, name) for key, (name, _) in zip(grouping.keys, key_values, strict=True)])
        frame = self._grouped(grouping, key_values, [value.expr.alias(name) for name, _, value in made])
        if bits:
            frame = frame.with_columns([value.expr.alias(name) for name, value in bits])
        self.scope = Scope(frame, ())
        self._know(frame, [*key_values, *[(name, value) for name, _, value in made], *bits])

    def _grouped(
        self, grouping: Grouping, keys: Sequence[tuple[str, Value]], aggregated: Sequence[pl.Expr]
    ) -> pl.LazyFrame:
        frame = self.scope.frame
        if grouping.sets is not None:
            return group_sets(frame, keys, grouping.sets, aggregated)
        if keys:
            keyed = [value.expr.alias(name) for name, value in keys]
            return frame.group_by(keyed, maintain_order=True).agg(aggregated)
        return frame.select(aggregated or [pl.len().alias(self._new_name())])

    def _grouping_calls(self, grouping: Grouping) -> list[tuple[str, Value]]:
        """grouping() and grouping_id(), which speak of the sets and not of rows."""
        found = []
        for node in [n for n in own_nodes(self._outputs(), exp.Func) if is_grouping(n)]:
            name, (value, type_) = self._new_name(), grouping_value(node, grouping)
            found.append((name, Value(value, type_)))
            put(node, name)
        return found

    def _outputs(self) -> list[exp.Expr]:
        parts = [self.tree.args.get(part) for part in ("having", "qualify", "order")]
        return [*self.tree.expressions, *[part for part in parts if part is not None]]

    def _replace(self, pairs: Sequence[tuple[exp.Expr, str]]) -> None:
        for old, name in pairs:
            for root in self._outputs():
                for node in [n for n in own_nodes([root], type(old)) if n == old]:
                    put(node, name)

    def _windows(self) -> None:
        alike: dict[tuple[str, ...], list[exp.Window]] = {}
        for node in own_nodes(self._outputs(), exp.Window):
            assert isinstance(node, exp.Window)
            alike.setdefault(_rows_of_window(node), []).append(node)
        for group in alike.values():
            # Rows are sorted once for all functions that look along them in the same way.
            window = Window(group[0], self.compiler, self.scope.frame)
            for node in group:
                window.node, name = node, self._new_name()
                value = window_value(window)
                window.frame = window.frame.with_columns(value.expr.alias(name))
                self._know(window.frame, [(name, value)])
                put(node, name)
            self.scope = Scope(window.frame.drop(window.made), self.scope.columns)

    def _explode(self) -> None:
        nodes = [(root, node) for root in self.tree.expressions for node in own_nodes([root], exp.Explode)]
        if len(nodes) > 1:
            raise refused(self.tree)
        for root, node in nodes:
            if root.unalias() is not node or isinstance(node, exp.Posexplode):
                raise refused(node)
            outer = type(node).__name__.lower().strip("_").startswith("explodeouter")
            value, name = self.compiler(node.this), self._new_name()
            self.scope = exploded(self.scope, value, name, outer=outer, node=node)
            put(node, name)

    def _projected(self, stars: Sequence[ScopeColumn]) -> Rows:
        compiler = self.compiler
        values: dict[str, Value] = {}
        for node in self.tree.expressions:
            for name, value in _outputs_of(node, stars, compiler):
                if name in values:
                    raise PlanError(f"column `{name}` stands twice in a SELECT", hint="name one of them otherwise")
                values[name] = value
        order = self.tree.args.get("order")
        frame = self._ordered(order, values, compiler) if order is not None else self.scope.frame
        return Rows(select_values(frame, values), {name: value.type for name, value in values.items()})

    def _ordered(self, order: exp.Order, values: Mapping[str, Value], compiler: Compiler) -> pl.LazyFrame:
        keys, down, last = [], [], []
        for item in order.expressions:
            named = values.get(item.this.name) if isinstance(item.this, exp.Column) and not item.this.table else None
            keys.append((named or compiler(item.this)).expr)
            down.append(bool(item.args.get("desc")))
            last.append(not item.args.get("nulls_first"))
        return self.scope.frame.sort(keys, descending=down, nulls_last=last, maintain_order=True)

    def _limited(self, rows: Rows) -> Rows:
        frame, distinct = rows.frame, self.tree.args.get("distinct")
        if distinct is not None:
            if distinct.args.get("on") is not None:
                raise refused(self.tree)
            frame = frame.unique(maintain_order=True)
        skipped, most = (self._number(part) for part in ("offset", "limit"))
        if skipped is not None or most is not None:
            frame = frame.slice(skipped or 0, most)
        return Rows(frame, rows.types)

    def _number(self, part: str) -> int | None:
        given = self.tree.args.get(part)
        if given is None:
            return None
        if not isinstance(given.expression, exp.Literal) or not given.expression.name.isdigit():
            raise refused(self.tree)
        return int(given.expression.name)


def _outputs_of(node: exp.Expr, stars: Sequence[ScopeColumn], compiler: Compiler) -> list[tuple[str, Value]]:
    star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
    if not isinstance(star, exp.Star):
        return [(node.alias_or_name or node.sql("databricks"), compiler(node.unalias()))]
    if star.args.get("replace") or star.args.get("rename"):
        raise refused(node)
    left_out = {part.name for part in star.args.get("except_") or star.args.get("except") or []}
    table = node.table if isinstance(node, exp.Column) else ""
    kept = [c for c in stars if c.name not in left_out and (not table or (c.table or "") == table)]
    return [(c.name, Value(pl.col(c.inside), c.type)) for c in kept]


def _rows_of_window(node: exp.Window) -> tuple[str, ...]:
    order = node.args.get("order")
    return (*[part.sql() for part in node.args.get("partition_by") or []], order.sql() if order is not None else "")
