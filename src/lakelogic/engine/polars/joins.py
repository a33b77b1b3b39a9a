"""Joins by any condition: equal keys where there are some, every pair of rows where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl
from sqlglot import exp

from lakelogic.engine.polars.expressions import Compiler, MaskCalls, Scope, ScopeColumn
from lakelogic.engine.polars.logic import condition, unified
from lakelogic.engine.polars.values import Value, refused

_ROW = "\0row"


@dataclass(slots=True)
class _Condition:
    """An ON condition, taken apart."""

    left_keys: list[pl.Expr] = field(default_factory=list)
    right_keys: list[pl.Expr] = field(default_factory=list)
    rest: list[exp.Expr] = field(default_factory=list)


def join(left: Scope, right: Scope, node: exp.Join, masks: MaskCalls) -> Scope:
    """Both relations side by side, for the rows that belong together."""
    side, kind = node.side.upper(), node.kind.upper()
    if node.args.get("using") or node.method or kind in {"SEMI", "ANTI"} or side not in {"", "LEFT"}:
        raise refused(node)
    right = _renamed(right, left)
    both = Scope(left.frame, (*left.columns, *right.columns))
    on = node.args.get("on")
    if side == "LEFT":
        return Scope(_left(left, right, both, on, masks), both.columns)
    return Scope(_inner(left, right, both, on, masks), both.columns)


def _renamed(right: Scope, left: Scope) -> Scope:
    """Names of the right side that the left side has too get others."""
    taken = {column.inside for column in left.columns}
    fresh = {c.inside: _fresh(c.inside, taken) for c in right.columns}
    changed = {old: new for old, new in fresh.items() if old != new}
    columns = tuple(ScopeColumn(c.table, c.name, fresh[c.inside], c.type) for c in right.columns)
    return Scope(right.frame.rename(changed) if changed else right.frame, columns)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"\0{name}"
    return name


def _inner(left: Scope, right: Scope, both: Scope, on: exp.Expr | None, masks: MaskCalls) -> pl.LazyFrame:
    if on is None:
        return left.frame.join(right.frame, how="cross")
    parts = _split(on, left, right, masks)
    frames = left.frame, right.frame
    joined = _by_keys(*frames, parts) if parts.left_keys else left.frame.join(right.frame, how="cross")
    compiler = Compiler(Scope(joined, both.columns), masks)
    tests = [condition(test, compiler).expr for test in parts.rest]
    return joined.filter(*tests) if tests else joined


def _by_keys(left: pl.LazyFrame, right: pl.LazyFrame, parts: _Condition) -> pl.LazyFrame:
    """By columns made for it: a key may be an expression, and both must keep their own columns."""
    names = [f"\0key{number}" for number in range(len(parts.left_keys))]
    keyed_left = left.with_columns([key.alias(name) for key, name in zip(parts.left_keys, names, strict=True)])
    keyed_right = right.with_columns([key.alias(name) for key, name in zip(parts.right_keys, names, strict=True)])
    return keyed_left.join(keyed_right, on=names, how="inner").drop(names)


def _left(left: Scope, right: Scope, both: Scope, on: exp.Expr | None, masks: MaskCalls) -> pl.LazyFrame:
    """Each left row, with its matches; numbered, because the condition may be anything."""
    numbered = Scope(left.frame.with_row_index(_ROW), left.columns)
    matched = _inner(numbered, right, both, on, masks)
    kept = matched.select([_ROW, *[column.inside for column in right.columns]])
    return numbered.frame.join(kept, on=_ROW, how="left").drop(_ROW)


def _split(on: exp.Expr, left: Scope, right: Scope, masks: MaskCalls) -> _Condition:
    parts = _Condition()
    for test in _conjuncts(on):
        keys = _keys(test, left, right, masks)
        if keys is None:
            parts.rest.append(test)
        else:
            parts.left_keys.append(keys[0].expr)
            parts.right_keys.append(keys[1].expr)
    return parts


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    inner = node.unnest()
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.this)
        yield from _conjuncts(inner.expression)
    else:
        yield inner


def _keys(test: exp.Expr, left: Scope, right: Scope, masks: MaskCalls) -> tuple[Value, Value] | None:
    if not isinstance(test, exp.EQ):
        return None
    for one, other in ((test.this, test.expression), (test.expression, test.this)):
        if _speaks_of(one, left, right) and _speaks_of(other, right, left):
            compiler = Compiler(left, masks)
            values = [compiler(one), Compiler(right, masks)(other)]
            first, second = unified(values, test, compiler)
            return (first, second) if not first.type.is_nested() else None
    return None


def _speaks_of(node: exp.Expr, scope: Scope, other: Scope) -> bool:
    """True when the node has columns, all of this scope and none of them of the other by the same name."""
    columns = list(node.find_all(exp.Column))
    here = all(_has(scope, column) for column in columns)
    return bool(columns) and here and not any(_has(other, column) for column in columns)


def _has(scope: Scope, column: exp.Column) -> bool:
    if column.args.get("db") is not None:
        return scope.find(column.parts[1].name, column.parts[0].name) is not None
    if scope.find(column.name, column.table or None) is not None:
        return True
    return bool(column.table) and not column.name.startswith("\0") and scope.find(column.table, None) is not None
