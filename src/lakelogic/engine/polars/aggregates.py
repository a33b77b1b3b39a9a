"""Aggregates: one value of many rows, NULLs left out, NULL of no rows."""

from __future__ import annotations

import math

import polars as pl
from sqlglot import exp

from lakelogic.engine.local.failures import STOPPED
from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.logic import condition
from lakelogic.engine.polars.numbers import quotient
from lakelogic.engine.polars.types import (
    decimal_of,
    decimal_size,
    is_decimal,
    is_floating,
    is_null,
    is_whole,
)
from lakelogic.engine.polars.values import Compile, Handler, Value, call, null, refused

_BIGINT, _DOUBLE = pl.Int64(), pl.Float64()


def _operand(node: exp.Expr, value_of: Compile) -> Value:
    """What is aggregated; DISTINCT leaves each value once."""
    inner = node.this
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1:
            raise refused(node)
        value = value_of(inner.expressions[0])
        return Value(value.expr.drop_nulls().unique(), value.type)
    if isinstance(inner, exp.Order):
        raise refused(node)
    return value_of(inner)


def _count(node: exp.Expr, value_of: Compile) -> Value:
    inner = node.this
    if inner is None or isinstance(inner, exp.Star) or (isinstance(inner, exp.Literal) and not node.expressions):
        return Value(pl.len().cast(_BIGINT), _BIGINT)
    distinct = isinstance(inner, exp.Distinct)
    parts = [value_of(part) for part in (inner.expressions if distinct else [inner, *node.expressions])]
    there = pl.all_horizontal([part.expr.is_not_null() for part in parts])
    if not distinct:
        return Value(there.sum().cast(_BIGINT), _BIGINT)
    whole = parts[0].expr if len(parts) == 1 else pl.struct([p.expr.alias(f"k{n}") for n, p in enumerate(parts)])
    return Value(whole.filter(there).n_unique().cast(_BIGINT), _BIGINT)


def _of_some(value: pl.Expr, result: pl.Expr) -> pl.Expr:
    return pl.when(value.count() > 0).then(result)


def sum_of(value: Value, node: exp.Expr) -> Value:
    if is_null(value.type):
        return null(_BIGINT)
    if is_decimal(value.type):
        precision, scale = decimal_size(value.type)
        wanted = decimal_of(precision + 10, scale)
        return Value(_of_some(value.expr, value.expr.sum()).cast(wanted), wanted)
    if is_floating(value.type):
        return Value(_of_some(value.expr, value.expr.cast(_DOUBLE).sum()), _DOUBLE)
    if not is_whole(value.type):
        raise refused(node)
    total = value.expr.cast(pl.Int128).sum().cast(_BIGINT)  # a sum that does not fit ends the run, as on Spark
    return Value(_of_some(value.expr, total), _BIGINT)


def _sum(node: exp.Expr, value_of: Compile) -> Value:
    return sum_of(_operand(node, value_of), node)


def _avg(node: exp.Expr, value_of: Compile) -> Value:
    value = _operand(node, value_of)
    if is_null(value.type):
        return null(_DOUBLE)
    total = sum_of(value, node)
    number = value.expr.count()
    if is_decimal(value.type):
        precision, scale = decimal_size(value.type)
        wanted = decimal_of(precision + 4, scale + 4)
        return quotient(total, Value(number.cast(_BIGINT), _BIGINT), value_of, wanted)
    if is_whole(value.type):  # Spark adds up doubles
        return Value(_of_some(value.expr, value.expr.cast(_DOUBLE).sum() / number), _DOUBLE)
    return Value(total.expr / pl.when(number > 0).then(number), _DOUBLE)


def _extreme(greatest: bool) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        value = _operand(node, value_of)
        if value.type.is_nested():
            raise refused(node)
        if is_null(value.type):
            return null()
        if greatest and is_floating(value.type):
            return Value(value.expr.nan_max(), value.type)
        return Value(value.expr.max() if greatest else value.expr.min(), value.type)

    return compiled


def _count_if(node: exp.Expr, value_of: Compile) -> Value:
    return Value(condition(node.this, value_of).expr.fill_null(False).sum().cast(_BIGINT), _BIGINT)


def _logical(every: bool) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        inner = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
        value = condition(inner, value_of).expr
        return Value(_of_some(value, value.all() if every else value.any()), pl.Boolean())

    return compiled


def _by(greatest: bool) -> Handler:
    """max_by and min_by: rows without an order are left out."""

    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        value, order = value_of(node.this), value_of(node.expression)
        if node.args.get("count") is not None:
            raise refused(node)
        there = order.expr.is_not_null()
        ordered = value.expr.filter(there).sort_by(order.expr.filter(there), descending=greatest, maintain_order=True)
        return Value(ordered.first(), value.type)

    return compiled


def _first(last: bool, node: exp.Expr, value_of: Compile) -> Value:
    inner = node.this
    skip = isinstance(inner, exp.IgnoreNulls) or isinstance(node.parent, exp.IgnoreNulls)
    given = node.expressions
    if given and (len(given) != 1 or not isinstance(given[0], exp.Boolean)):
        raise refused(node)
    skip = skip or bool(given and given[0].this)
    value = value_of(inner.this if isinstance(inner, exp.IgnoreNulls) else inner)
    rows = value.expr.drop_nulls() if skip else value.expr
    return Value(rows.last() if last else rows.first(), value.type)


def _collect(node: exp.Expr, value_of: Compile) -> Value:
    distinct = isinstance(node.this, exp.Distinct) or isinstance(node, exp.ArrayUniqueAgg)
    if isinstance(node.this, exp.Order):
        raise refused(node)
    inner = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    value = value_of(inner)
    rows = value.expr.drop_nulls()
    rows = rows.unique(maintain_order=True) if distinct else rows
    return Value(rows.implode(), pl.List(value.type))


def _spread(ddof: int, *, root: bool) -> Handler:
    """Variance and deviation, added up as Spark does: value by value."""

    def of_values(values: list[float]) -> float | None:
        number, mean, squares = 0, 0.0, 0.0
        for value in values:
            number += 1
            delta = value - mean
            mean += delta / number
            squares += delta * (value - mean)
        if number <= ddof:
            return None
        variance = squares / (number - ddof)
        return math.sqrt(variance) if root else variance

    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        rows = cast(_operand(node, value_of), _DOUBLE).expr.drop_nulls().implode()
        return call(of_values, [Value(rows, pl.List(_DOUBLE))], _DOUBLE)

    return compiled


def _median(node: exp.Expr, value_of: Compile) -> Value:
    return Value(cast(_operand(node, value_of), _DOUBLE).expr.median(), _DOUBLE)


def _quantile(node: exp.Expr, value_of: Compile) -> Value:
    share = value_of(node.args["quantile"]).constant
    if share is None:
        raise refused(node)
    value = cast(value_of(node.this), _DOUBLE).expr
    return Value(value.quantile(float(share), "linear"), _DOUBLE)


def _corr(node: exp.Expr, value_of: Compile) -> Value:
    left, right = (cast(value_of(part), _DOUBLE).expr for part in (node.this, node.expression))
    there = left.is_not_null() & right.is_not_null()
    pairs = [side.filter(there) for side in (left, right)]
    # Of one pair Spark says nothing; where one side is always the same it divides by zero, and so must the run end.
    alike = ((pairs[0].min() == pairs[0].max()) | (pairs[1].min() == pairs[1].max())) & (there.sum() > 1)
    stopped = pl.when(alike).then(pl.lit(STOPPED)).cast(_DOUBLE)
    return Value(pl.when(there.sum() > 1).then(pl.coalesce(stopped, pl.corr(*pairs))), _DOUBLE)


def _filtered(node: exp.Expr, value_of: Compile) -> Value:
    """agg(x) FILTER (WHERE c): the operands of other rows are NULL, which aggregates leave out."""
    inner, test = node.this, node.expression.this
    if isinstance(inner, exp.CountIf):
        return value_of(exp.CountIf(this=exp.and_(test.copy(), inner.this.copy())))
    if isinstance(inner, exp.Count) and (inner.this is None or isinstance(inner.this, (exp.Star, exp.Literal))):
        return value_of(exp.CountIf(this=test.copy()))
    if type(inner) not in {exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.ArrayAgg, exp.ArrayUniqueAgg}:
        raise refused(node)
    kept = inner.copy()
    distinct = isinstance(kept.this, exp.Distinct)
    if inner.expressions or (distinct and len(kept.this.expressions) != 1):
        raise refused(node)
    operand = kept.this.expressions[0] if distinct else kept.this
    operand.replace(exp.Case(ifs=[exp.If(this=test.copy(), true=operand.copy())]))
    return value_of(kept)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Count: _count, exp.Sum: _sum, exp.Avg: _avg, exp.Min: _extreme(False), exp.Max: _extreme(True),
    exp.CountIf: _count_if, exp.LogicalAnd: _logical(True), exp.LogicalOr: _logical(False),
    exp.ArgMax: _by(True), exp.ArgMin: _by(False),
    exp.First: lambda node, value_of: _first(False, node, value_of),
    exp.Last: lambda node, value_of: _first(True, node, value_of),
    exp.AnyValue: lambda node, value_of: _first(False, node, value_of),
    exp.ArrayAgg: _collect, exp.ArrayUniqueAgg: _collect,
    exp.Stddev: _spread(1, root=True), exp.StddevSamp: _spread(1, root=True), exp.StddevPop: _spread(0, root=True),
    exp.Variance: _spread(1, root=False), exp.VariancePop: _spread(0, root=False), exp.Corr: _corr,
    exp.Quantile: _quantile, exp.Median: _median, exp.Filter: _filtered,
}  # fmt: skip
NAMED: dict[str, Handler] = {"EVERY": _logical(True), "SOME": _logical(False)}


def is_aggregate(node: exp.Expr) -> bool:
    return type(node) in HANDLERS or (isinstance(node, exp.Anonymous) and node.name.upper() in NAMED)
