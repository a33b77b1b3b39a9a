"""Joins by any condition: equal keys where there are some, every pair of rows where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import PlanError
from lakelogic.engine.polars.expressions import Compiler, MaskCalls, Scope, ScopeColumn
from lakelogic.engine.polars.logic import condition, unified
from lakelogic.engine.polars.types import Type, is_null
from lakelogic.engine.polars.values import Value, refused
from lakelogic.plan.expressions import conjuncts

Kind = Literal["inner", "left", "right", "full", "semi", "anti"]
_LEFT, _RIGHT = "\0left", "\0right"
# Nodes that give a value for every row.
_CALM = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.Paren,
    exp.And,
    exp.Or,
    exp.Not,
    exp.Is,
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.In,
    exp.BitwiseAnd,
)
_KINDS: dict[tuple[str, str], Kind] = {
    ("", ""): "inner", ("", "INNER"): "inner", ("", "CROSS"): "inner",
    ("LEFT", ""): "left", ("LEFT", "OUTER"): "left", ("RIGHT", ""): "right", ("RIGHT", "OUTER"): "right",
    ("FULL", ""): "full", ("FULL", "OUTER"): "full", ("LEFT", "SEMI"): "semi", ("LEFT", "ANTI"): "anti",
    ("", "SEMI"): "semi", ("", "ANTI"): "anti",
}  # fmt: skip


@dataclass(slots=True)
class _Condition:
    """An ON condition, taken apart."""

    left_keys: list[pl.Expr] = field(default_factory=list)
    right_keys: list[pl.Expr] = field(default_factory=list)
    rest: list[exp.Expr] = field(default_factory=list)


def join(left: Scope, right: Scope, node: exp.Join, masks: MaskCalls) -> Scope:
    """Both relations side by side, for the rows that belong together; of SEMI and ANTI the left one only."""
    kind = _KINDS.get((node.side.upper(), node.kind.upper()))
    if kind is None or node.args.get("using") or node.method:
        raise refused(node)
    right = _renamed(right, left)
    on = node.args.get("on")
    parts = _split(list(conjuncts(on)) if on is not None else [], left, right, masks)
    columns = left.columns if kind in {"semi", "anti"} else (*left.columns, *right.columns)
    return Scope(_joined(kind, left, right, parts, masks), columns)


def matched(left: Scope, right: Scope, tests: Sequence[exp.Expr], masks: MaskCalls) -> Scope:
    """The pairs of rows for which all tests hold. No column of one side has the name of one on the other."""
    parts = _split(tests, left, right, masks)
    return Scope(_joined("inner", left, right, parts, masks), (*left.columns, *right.columns))


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


def _joined(kind: Kind, left: Scope, right: Scope, parts: _Condition, masks: MaskCalls) -> pl.LazyFrame:
    if parts.left_keys and not parts.rest:
        return _by_keys(left.frame, right.frame, parts, kind)
    if kind == "inner":
        return _pairs(left, right, parts, masks)
    return _by_numbers(kind, left, right, parts, masks)


def _by_numbers(kind: Kind, left: Scope, right: Scope, parts: _Condition, masks: MaskCalls) -> pl.LazyFrame:
    """The condition may be anything: rows are numbered, and the pairs that it holds for are found again."""
    # Computed once: rows that come in another order the second time would have other numbers.
    rows = left.frame.with_row_index(_LEFT).cache()
    others = right.frame.with_row_index(_RIGHT).cache() if kind in {"right", "full"} else right.frame
    pairs = _pairs(Scope(rows, left.columns), Scope(others, right.columns), parts, masks)
    ours, theirs = ([column.inside for column in scope.columns] for scope in (left, right))
    match kind:
        case "semi" | "anti":
            return rows.join(pairs.select(_LEFT), on=_LEFT, how=kind).drop(_LEFT)
        case "right":
            return others.join(pairs.select(_RIGHT, *ours), on=_RIGHT, how="left").drop(_RIGHT)
    with_left = rows.join(pairs.select(_LEFT, *theirs), on=_LEFT, how="left").drop(_LEFT)
    if kind == "left":
        return with_left
    alone = others.join(pairs.select(_RIGHT), on=_RIGHT, how="anti")
    return pl.concat([with_left, alone.select(theirs)], how="diagonal")


def _pairs(left: Scope, right: Scope, parts: _Condition, masks: MaskCalls) -> pl.LazyFrame:
    frames = left.frame, right.frame
    joined = _by_keys(*frames, parts, "inner") if parts.left_keys else left.frame.join(right.frame, how="cross")
    compiler = Compiler(Scope(joined, (*left.columns, *right.columns)), masks)
    tests = [condition(test, compiler).expr for test in parts.rest]
    return joined.filter(*tests) if tests else joined


def _by_keys(left: pl.LazyFrame, right: pl.LazyFrame, parts: _Condition, kind: Kind) -> pl.LazyFrame:
    """By columns made for it: a key may be an expression, and both must keep their own columns."""
    names = [f"\0key{number}" for number in range(len(parts.left_keys))]
    keyed_left = left.with_columns([key.alias(name) for key, name in zip(parts.left_keys, names, strict=True)])
    keyed_right = right.with_columns([key.alias(name) for key, name in zip(parts.right_keys, names, strict=True)])
    if kind in {"semi", "anti"}:
        return keyed_left.join(keyed_right, on=names, how=kind).drop(names)
    return keyed_left.join(keyed_right, on=names, how=kind, coalesce=True).drop(names)


def _split(tests: Sequence[exp.Expr], left: Scope, right: Scope, masks: MaskCalls) -> _Condition:
    parts = _taken_apart(tests, left, right, masks)
    if parts.left_keys:
        parts.rest = [test for test in parts.rest if not _moved_into_keys(test, parts, left, right, masks)]
    return parts


def _moved_into_keys(test: exp.Expr, parts: _Condition, left: Scope, right: Scope, masks: MaskCalls) -> bool:
    """A test of one side alone: rows that fail it match nothing, as rows without a key do."""
    if not all(isinstance(node, _CALM) for node in test.walk()):
        return False  # what may fail is asked of pairs only, as Spark does
    for keys, own, other in ((parts.left_keys, left, right), (parts.right_keys, right, left)):
        if _speaks_of(test, own, other):
            keys[0] = pl.when(condition(test, Compiler(own, masks)).expr).then(keys[0])
            return True
    return False


def _taken_apart(tests: Sequence[exp.Expr], left: Scope, right: Scope, masks: MaskCalls) -> _Condition:
    parts = _Condition()
    for test in tests:
        keys = _keys(test, left, right, masks)
        if keys is None:
            parts.rest.append(test)
            continue
        for values, sides in zip(keys, (parts.left_keys, parts.right_keys), strict=True):
            sides += _null_safe(values) if isinstance(test, exp.NullSafeEQ) else [values.expr]
    return parts


def _null_safe(value: Value) -> list[pl.Expr]:
    """Keys that are equal where both are NULL: joins by keys leave NULLs out."""
    return [value.expr.is_null(), value.expr.fill_null(pl.lit(_ZEROS[type(value.type)], dtype=value.type))]


_ZEROS: dict[Any, Any] = {
    **dict.fromkeys((pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Decimal), 0), pl.Float32: 0.0, pl.Float64: 0.0,
    pl.String: "", pl.Binary: b"", pl.Boolean: False, pl.Date: date(1970, 1, 1), pl.Datetime: datetime(1970, 1, 1),
}  # fmt: skip


def _keys(test: exp.Expr, left: Scope, right: Scope, masks: MaskCalls) -> tuple[Value, Value] | None:
    if not isinstance(test, (exp.EQ, exp.NullSafeEQ)):
        return None
    for one, other in ((test.this, test.expression), (test.expression, test.this)):
        if _speaks_of(one, left, right) and _speaks_of(other, right, left):
            compiler = Compiler(left, masks)
            values = [compiler(one), Compiler(right, masks)(other)]
            first, second = unified(values, test, compiler)
            return (first, second) if _may_be_key(first.type, test) else None
    return None


def _may_be_key(type_: Type, test: exp.Expr) -> bool:
    if isinstance(test, exp.NullSafeEQ):
        return type(type_) in _ZEROS
    return not type_.is_nested() and not is_null(type_)


def _speaks_of(node: exp.Expr, scope: Scope, other: Scope) -> bool:
    """True when the node has columns, all of this scope and none of them of the other by the same name."""
    columns = list(node.find_all(exp.Column))
    here = all(has_column(scope, column) for column in columns)
    return bool(columns) and here and not any(has_column(other, column) for column in columns)


def has_column(scope: Scope, column: exp.Column) -> bool:
    if column.args.get("db") is not None:
        return scope.find(column.parts[1].name, column.parts[0].name) is not None
    try:
        if scope.find(column.name, column.table or None) is not None:
            return True
        return bool(column.table) and not column.name.startswith("\0") and scope.find(column.table, None) is not None
    except PlanError:
        return True  # in more than one relation: whoever compiles it says so
