"""Queries as lazy frames: WITH, set operations, and what stands after FROM; `selects` does the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import PlanError
from lakelogic.engine.local.spark_text import read_again
from lakelogic.engine.polars.explodes import lateral_view
from lakelogic.engine.polars.expressions import Compiler, MaskCalls, Scope, ScopeColumn
from lakelogic.engine.polars.joins import join
from lakelogic.engine.polars.rows import Rows, Tables, typed
from lakelogic.engine.polars.selects import Select
from lakelogic.engine.polars.sets import set_rows
from lakelogic.engine.polars.types import common_type
from lakelogic.engine.polars.values import refused


def run_query(tree: exp.Expr, tables: Tables, masks: MaskCalls) -> Rows:
    """The rows of a query over named relations; nothing is computed yet."""
    return _Queries(masks).rows(read_again(tree), tables)


@dataclass(frozen=True, slots=True)
class _Queries:
    masks: MaskCalls

    def rows(self, tree: exp.Expr, tables: Tables) -> Rows:
        tables = self.known(tree, tables)
        match tree:
            case exp.Subquery():
                return self._in_parentheses(tree, tables)
            case exp.SetOperation():
                return self._ordered(tree, set_rows(tree, tables, self))
            case exp.Select():
                return self.select(tree, self.scope(tree, tables), tables)
        raise refused(tree)

    def known(self, tree: exp.Expr, tables: Tables) -> Tables:
        for cte in tree.ctes if isinstance(tree, exp.Query) else []:
            if isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive"):
                raise refused(tree)
            names = [column.name for column in cte.args["alias"].args.get("columns") or []]
            tables = {**tables, cte.alias: _renamed(self.rows(cte.this, tables), names, cte)}
        return tables

    def select(self, tree: exp.Select, scope: Scope, tables: Tables) -> Rows:
        return Select(self, tree, scope, tables).rows()

    def scope(self, tree: exp.Select, tables: Tables) -> Scope:
        source = tree.args.get("from_")
        if source is None:
            return Scope(pl.LazyFrame({"\0": [0]}), ())
        scope = self._source(source.this, tables)
        for joined in tree.args.get("joins") or []:
            scope = join(scope, self._source(joined.this, tables), joined, self.masks)
        for lateral in tree.args.get("laterals") or []:
            scope = lateral_view(scope, lateral, self.masks)
        return scope

    def _in_parentheses(self, tree: exp.Subquery, tables: Tables) -> Rows:
        if any(tree.args.get(part) for part in ("pivots", "sample", "joins", "laterals")):
            raise refused(tree)
        return self._ordered(tree, self.rows(tree.this, tables))

    def _ordered(self, tree: exp.Expr, rows: Rows) -> Rows:
        """ORDER BY and LIMIT behind parentheses or a set operation speak of the columns that come out."""
        if not any(tree.args.get(part) is not None for part in ("order", "limit", "offset")):
            return rows
        outputs = [exp.column(name, quoted=True) for name in rows.types]
        parts = {part: tree.args.get(part) for part in ("order", "limit", "offset")}
        around = exp.Select(expressions=outputs, **{key: part.copy() for key, part in parts.items() if part})
        return self.select(around, _scope_of(rows, None), {})

    def _source(self, source: exp.Expr, tables: Tables) -> Scope:
        """What stands after FROM or JOIN."""
        match source:
            case exp.Table():
                found = tables.get(source.name) or _same_name(source.name, tables)
                if found is None:
                    raise PlanError(f"there is no relation `{source.name}`", hint=f"there are: {', '.join(tables)}")
                rows = found
            case exp.Subquery() if isinstance(source.this, exp.Query):
                rows = self.rows(source.this, tables)
            case exp.Values():
                rows = self._values(source)
            case _:
                raise refused(source)
        if any(source.args.get(part) for part in ("joins", "pivots", "sample", "laterals", "order", "limit", "offset")):
            raise refused(source)
        alias = source.args.get("alias")
        names = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
        return _scope_of(_renamed(rows, names, source), source.alias_or_name)

    def _values(self, node: exp.Values) -> Rows:
        one = Scope(pl.LazyFrame({"\0": [0]}), ())
        compiler = Compiler(one, self.masks)
        lines = [[compiler(item) for item in _items(row)] for row in node.expressions]
        columns = list(zip(*lines, strict=True))
        names = [f"col{number}" for number in range(1, len(columns) + 1)]
        types = [common_type([value.type for value in column], node) for column in columns]
        frames = [
            one.frame.select([typed(value, type_, name) for value, type_, name in zip(line, types, names, strict=True)])
            for line in lines
        ]
        return Rows(pl.concat(frames), dict(zip(names, types, strict=True)))


def _scope_of(rows: Rows, table: str | None) -> Scope:
    return Scope(rows.frame, tuple(ScopeColumn(table, name, name, type_) for name, type_ in rows.types.items()))


def _renamed(rows: Rows, names: list[str], node: exp.Expr) -> Rows:
    """`AS t(a, b)`: other names for the columns."""
    if not names:
        return rows
    if len(names) != len(rows.types):
        raise refused(node)
    old = dict(zip(rows.types, names, strict=True))
    frame = rows.frame.select([pl.col(name).alias(new) for name, new in old.items()])
    return Rows(frame, {old[name]: type_ for name, type_ in rows.types.items()})


def _items(row: exp.Expr) -> list[exp.Expr]:
    return list(row.expressions) if isinstance(row, exp.Tuple) else [row]


def _same_name(name: str, tables: Mapping[str, Rows]) -> Rows | None:
    return next((rows for known, rows in tables.items() if known.lower() == name.lower()), None)
