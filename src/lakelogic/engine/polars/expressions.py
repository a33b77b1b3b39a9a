"""Trees of Spark SQL as expressions of Polars: a table of node types, and small functions behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import PlanError
from lakelogic.engine.polars import aggregates, dates, json_values, lists, logic, numbers, regex, texts
from lakelogic.engine.polars.arguments import find_unread
from lakelogic.engine.polars.casts import cast, to_text
from lakelogic.engine.polars.types import Type, of_plan
from lakelogic.engine.polars.values import Compile, Handler, Value, call, lit, null, number_literal, refused

MaskCalls = Mapping[str, tuple[Callable[..., object], tuple[str, ...], str]]


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column that a query may name, and the name that it has in the frame."""

    table: str | None
    name: str
    inside: str
    type: Type


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows that the expressions of one query are computed from."""

    frame: pl.LazyFrame
    columns: tuple[ScopeColumn, ...]

    def find(self, name: str, table: str | None) -> ScopeColumn | None:
        among = [column for column in self.columns if not table or (column.table or "").lower() == table.lower()]
        found = [column for column in among if column.name == name]
        found = found or [column for column in among if column.name.lower() == name.lower()]
        if len(found) > 1:
            raise PlanError(f"column `{name}` is in more than one relation", hint="write the relation before it")
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles the expressions of one query."""

    scope: Scope
    masks: MaskCalls
    guard: pl.Expr | None = None
    names: Mapping[str, Value] = field(default_factory=dict)

    def __call__(self, node: exp.Expr) -> Value:
        kind = type(node)
        if kind.__name__.startswith("_") and kind.__base__ is not None:
            kind = kind.__base__  # dialects derive private kinds from public ones
        if find_unread(node) is not None:
            raise refused(node)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(node, self)
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Anonymous):
            return self._named(node)
        if isinstance(node, exp.Identifier) and node.name in self.names:
            return self.names[node.name]  # the variable of a lambda
        raise refused(node)

    def inside(self, guard: pl.Expr) -> Compiler:
        return replace(self, guard=guard if self.guard is None else self.guard & guard)

    def with_names(self, names: dict[str, Value]) -> Compiler:
        return replace(self, names={**self.names, **names}, guard=None)

    def _column(self, node: exp.Column) -> Value:
        if node.args.get("db") is not None:
            return self._path([part.name for part in node.parts], node)
        name, table = node.name, node.table or None
        if not table and name in self.names:
            return self.names[name]
        if table and table in self.names:
            return lists.field_of(self.names[table], name, node)
        found = self.scope.find(name, table)
        if found is not None:
            return Value(pl.col(found.inside), found.type)
        struct = self.scope.find(table, None) if table else None
        if struct is not None:
            return lists.field_of(Value(pl.col(struct.inside), struct.type), name, node)
        known = ", ".join(column.name for column in self.scope.columns)
        raise PlanError(f"there is no column `{node.sql('databricks')}`", hint=f"there are: {known}")

    def _path(self, names: list[str], node: exp.Column) -> Value:
        """`a.b.c` of a struct, or of a struct of a relation."""
        for size in (2, 1):
            *before, last = names[:size]
            found = self.scope.find(last, before[0] if before else None)
            if found is not None:
                value = Value(pl.col(found.inside), found.type)
                return reduce(lambda inner, name: lists.field_of(inner, name, node), names[size:], value)
        raise refused(node)

    def _named(self, node: exp.Anonymous) -> Value:
        name = node.name.upper()
        mask = self.masks.get(name)
        if mask is not None:
            value = to_text(self(node.expressions[0]), self.guard)
            return call(mask[0], [value], pl.String(), self.guard)
        handler = _NAMED.get(name)
        if handler is None:
            raise refused(f"{node.name.lower()}()")
        return handler(node, self)


def _literal(node: exp.Expr, value_of: Compile) -> Value:
    assert isinstance(node, exp.Literal)
    return lit(str(node.this), pl.String()) if node.is_string else number_literal(node)


def _cast(node: exp.Expr, value_of: Compile) -> Value:
    value, wanted = value_of(node.this), of_plan(node.args["to"])
    made = cast(value, wanted, value_of.guard)
    if value.constant is None or made is value or wanted.is_nested():
        return made
    # The cast of a literal is worked out here: written out it is a page that every part of the data would go through.
    return lit(pl.select(cast(value, wanted).expr).item(), wanted)


def _inner(node: exp.Expr, value_of: Compile) -> Value:
    return value_of(node.this)


_HANDLERS: dict[Any, Handler] = {
    **logic.HANDLERS, **numbers.HANDLERS, **texts.HANDLERS, **regex.HANDLERS, **dates.HANDLERS, **lists.HANDLERS,
    **json_values.HANDLERS, **aggregates.HANDLERS,
    exp.Literal: _literal, exp.Cast: _cast, exp.TryCast: _cast, exp.Paren: _inner, exp.Alias: _inner,
    exp.Null: lambda node, value_of: null(),
    exp.Boolean: lambda node, value_of: lit(bool(node.this), pl.Boolean()),
}  # fmt: skip
_NAMED: dict[str, Handler] = {
    **logic.NAMED, **numbers.NAMED, **texts.NAMED, **dates.NAMED, **lists.NAMED, **json_values.NAMED,
    **aggregates.NAMED,
}  # fmt: skip
