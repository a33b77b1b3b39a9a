"""Conditions, comparisons and choices, with SQL's three-valued logic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import RunError
from lakelogic.engine.local.failures import STOPPED
from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.types import Type, common_type, is_floating, is_null, is_number
from lakelogic.engine.polars.values import Compile, Handler, Value, lit, null, only_where, refused
from lakelogic.plan.model import SURE_FUNCTION

_TRUE = pl.lit(True)


def unified(values: Sequence[Value], what: exp.Expr, value_of: Compile) -> list[Value]:
    """The values in the type that Spark would compare or choose between them in."""
    types = [value.type for value in values]
    texts = [value for value in values if value.type == pl.String]
    others = [value.type for value in values if value.type != pl.String and not is_null(value.type)]
    if texts and others:
        return [cast(value, _beside_text(others, what), value_of.guard) for value in values]
    wanted = common_type(types, what)
    return [cast(value, wanted, value_of.guard) for value in values]


def _beside_text(others: Sequence[Type], what: exp.Expr) -> Type:
    """Spark reads a text beside a number as a number, beside a date as a date."""
    wanted = common_type(others, what)
    if is_number(wanted):
        return pl.Float64() if not wanted.is_integer() else pl.Int64()
    return wanted


def _compare(operator: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        left, right = unified([value_of(node.this), value_of(node.expression)], node, value_of)
        if is_null(left.type):
            return null(pl.Boolean())
        if left.type.is_nested() and not isinstance(node, (exp.EQ, exp.NEQ)):
            raise refused(node)
        return Value(operator(left.expr, right.expr), pl.Boolean())

    return compiled


def _null_safe(node: exp.Expr, value_of: Compile) -> Value:
    left, right = unified([value_of(node.this), value_of(node.expression)], node, value_of)
    if is_null(left.type):
        return lit(True, pl.Boolean())
    return Value(left.expr.eq_missing(right.expr), pl.Boolean())


def condition(node: exp.Expr, value_of: Compile) -> Value:
    """A node that must be a boolean."""
    value = value_of(node)
    if is_null(value.type):
        return null(pl.Boolean())
    if value.type != pl.Boolean:
        raise refused(f"{node.sql('databricks')} as a condition")
    return value


def _and(node: exp.Expr, value_of: Compile) -> Value:
    return Value(condition(node.this, value_of).expr & condition(node.expression, value_of).expr, pl.Boolean())


def _or(node: exp.Expr, value_of: Compile) -> Value:
    return Value(condition(node.this, value_of).expr | condition(node.expression, value_of).expr, pl.Boolean())


def _not(node: exp.Expr, value_of: Compile) -> Value:
    return Value(~condition(node.this, value_of).expr, pl.Boolean())


def _is(node: exp.Expr, value_of: Compile) -> Value:
    if node.args.get("negate"):
        return Value(~_is(exp.Is(this=node.this, expression=node.expression), value_of).expr, pl.Boolean())
    value, what = value_of(node.this), node.expression
    if isinstance(what, exp.Null):
        return Value(value.expr.is_null(), pl.Boolean())
    if isinstance(what, exp.Boolean):
        return Value(condition(node.this, value_of).expr.eq_missing(pl.lit(bool(what.this))), pl.Boolean())
    raise refused(node)


def _in(node: exp.Expr, value_of: Compile) -> Value:
    if node.args.get("query") is not None or node.args.get("unnest") is not None:
        raise refused(node)
    subject = value_of(node.this)
    tests = []
    for item in node.expressions:
        left, right = unified([subject, value_of(item)], node, value_of)
        tests.append(pl.lit(None, dtype=pl.Boolean) if is_null(left.type) else left.expr == right.expr)
    return Value(reduce(lambda one, other: one | other, tests), pl.Boolean())


def _between(node: exp.Expr, value_of: Compile) -> Value:
    parts = [value_of(node.this), value_of(node.args["low"]), value_of(node.args["high"])]
    value, low, high = unified(parts, node, value_of)
    return Value((value.expr >= low.expr) & (value.expr <= high.expr), pl.Boolean())


def _case(node: exp.Expr, value_of: Compile) -> Value:
    """Each branch is compiled for the rows that reach it, so that slow functions see no others."""
    subject = node.this
    tests: list[pl.Expr] = []
    results: list[Value] = []
    open_ = value_of
    for branch in node.args["ifs"]:
        if subject is None:
            test = condition(branch.this, open_).expr
        else:
            test = open_(exp.EQ(this=subject.copy(), expression=branch.this.copy())).expr
        tests.append(test)
        results.append(open_.inside(test)(branch.args["true"]))
        open_ = open_.inside(~test.fill_null(False))
    default = node.args.get("default")
    if default is None and len(results) == 1 and results[0].type.is_nested() and not value_of.names:
        return Value(only_where(tests[0], results[0]), results[0].type)
    results.append(open_(default) if default is not None else null())
    return choose(tests, results, node, value_of)


def choose(tests: Sequence[pl.Expr], results: Sequence[Value], node: exp.Expr, value_of: Compile) -> Value:
    """The result of the first test that is true, else the last one."""
    chosen = unified(results, node, value_of)
    made = chosen[-1].expr
    for test, result in reversed(list(zip(tests, chosen, strict=False))):
        made = pl.when(test).then(result.expr).otherwise(made)
    return Value(made, chosen[-1].type)


def _if(node: exp.Expr, value_of: Compile) -> Value:
    test = condition(node.this, value_of).expr
    other = node.args.get("false")
    results = [
        value_of.inside(test)(node.args["true"]),
        value_of.inside(~test.fill_null(False))(other) if other is not None else null(),
    ]
    return choose([test], results, node, value_of)


def _coalesce(node: exp.Expr, value_of: Compile) -> Value:
    parts = [value_of(part) for part in [node.this, *node.expressions]]
    values = unified(parts, node, value_of)
    return Value(pl.coalesce([value.expr for value in values]), values[0].type)


def _nullif(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node.this)
    same = value_of(exp.EQ(this=node.this.copy(), expression=node.expression.copy()))
    return Value(pl.when(~same.expr.fill_null(False)).then(value.expr), value.type)


def _nvl2(node: exp.Expr, value_of: Compile) -> Value:
    there = value_of(node.this).expr.is_not_null()
    return choose([there], [value_of(node.args["true"]), value_of(node.args["false"])], node, value_of)


def _extreme(greatest: bool) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        values = unified([value_of(part) for part in [node.this, *node.expressions]], node, value_of)
        made = values[0].expr
        for value in values[1:]:
            # Polars' own functions pass over NaN, which is the greatest number.
            better = (value.expr > made) if greatest else (value.expr < made)
            made = pl.when(made.is_null() | better).then(value.expr.fill_null(made)).otherwise(made)
        return Value(made, values[0].type)

    return compiled


def _is_null_call(positive: bool) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        found = value_of(node.expressions[0]).expr
        return Value(found.is_null() if positive else found.is_not_null(), pl.Boolean())

    return compiled


def _is_nan(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node.this)
    if not is_floating(value.type):
        return Value(pl.lit(False) & value.expr.is_not_null(), pl.Boolean())
    return Value(value.expr.is_nan().fill_null(False), pl.Boolean())


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.EQ: _compare(lambda a, b: a == b), exp.NEQ: _compare(lambda a, b: a != b),
    exp.GT: _compare(lambda a, b: a > b), exp.GTE: _compare(lambda a, b: a >= b),
    exp.LT: _compare(lambda a, b: a < b), exp.LTE: _compare(lambda a, b: a <= b),
    exp.NullSafeEQ: _null_safe, exp.EqualNull: _null_safe, exp.And: _and, exp.Or: _or, exp.Not: _not, exp.Is: _is,
    exp.In: _in, exp.Between: _between, exp.Case: _case, exp.If: _if, exp.Coalesce: _coalesce,
    exp.Nullif: _nullif, exp.Nvl2: _nvl2, exp.Greatest: _extreme(True), exp.Least: _extreme(False),
    exp.IsNan: _is_nan,
}  # fmt: skip


def _sure(node: exp.Expr, value_of: Compile) -> Value:
    """A value, unless some row that it is asked for cannot have one."""
    failed, value = condition(node.expressions[0], value_of).expr, value_of(node.expressions[1])
    asked = failed if value_of.guard is None else failed & value_of.guard

    def check(columns: Sequence[pl.Series]) -> pl.Series:
        if columns[1].any():
            raise RunError(STOPPED, code="LL488")
        # A constant comes as one row, also beside no rows at all.
        return columns[0] if len(columns[0]) != 1 else columns[0].new_from_index(0, len(columns[1]))

    made = pl.map_batches([value.expr, asked], check, return_dtype=value.type, is_elementwise=True)
    return Value(made, value.type)


NAMED: dict[str, Handler] = {SURE_FUNCTION: _sure, "ISNULL": _is_null_call(True), "ISNOTNULL": _is_null_call(False)}
