"""Rows of the items of arrays: explode in a SELECT and in LATERAL VIEW."""

from __future__ import annotations

import polars as pl
from sqlglot import exp

from lakelogic.engine.polars.expressions import Compiler, MaskCalls, Scope, ScopeColumn
from lakelogic.engine.polars.types import Type, is_null
from lakelogic.engine.polars.values import Value, refused

_INT = pl.Int32()


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


def lateral_view(scope: Scope, lateral: exp.Expr, masks: MaskCalls) -> Scope:
    """LATERAL VIEW [OUTER] explode or posexplode: the columns of the view beside those of the row."""
    if not isinstance(lateral, exp.Lateral) or not isinstance(lateral.this, exp.Explode):
        raise refused(lateral)
    function, alias = lateral.this, lateral.args.get("alias") or exp.TableAlias()
    names = [column.name for column in alias.args.get("columns") or []]
    with_place = isinstance(function, exp.Posexplode)
    if len(names) != (2 if with_place else 1):
        raise refused(lateral)
    value, inside = Compiler(scope, masks)(function.this), f"\0lateral{len(scope.columns)}"
    table, place = alias.name or None, f"{inside}at"
    outer = bool(lateral.args.get("outer"))
    if with_place:
        places = pl.int_ranges(pl.lit(0), value.expr.list.len(), dtype=_INT)
        scope = Scope(scope.frame.with_columns(places.alias(place), value.expr.alias(inside)), scope.columns)
        return _with_places(scope, value, (place, inside), (table, names), outer=outer, node=lateral)
    wide = exploded(scope, value, inside, outer=outer, node=lateral)
    return Scope(wide.frame, (*scope.columns, ScopeColumn(table, names[0], inside, wide.columns[-1].type)))


def _with_places(
    scope: Scope,
    value: Value,
    inside: tuple[str, str],
    told: tuple[str | None, list[str]],
    *,
    outer: bool,
    node: exp.Expr,
) -> Scope:
    if not isinstance(value.type, pl.List) or is_null(value.type.inner):  # type: ignore[arg-type]
        raise refused(node)
    place, item = inside
    frame = scope.frame if outer else scope.frame.filter(pl.col(item).list.len() > 0)
    # An empty array is made NULL first: both columns must have the same number of items.
    there = pl.col(item).list.len() > 0
    frame = frame.with_columns([pl.when(there).then(pl.col(name)).alias(name) for name in inside])
    frame = frame.explode(place, item, empty_as_null=True, keep_nulls=True)
    table, names = told
    inner: Type = value.type.inner  # type: ignore[assignment]
    types = (_INT, inner)
    made = [ScopeColumn(table, name, at, type_) for name, at, type_ in zip(names, inside, types, strict=True)]
    return Scope(frame, (*scope.columns, *made))
