"""Arithmetic with Spark's types and try-semantics: NULL on overflow and on division by zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, InvalidOperation

import polars as pl
from sqlglot import exp

from lakelogic.engine.local.calls import decimal_divide, round_double
from lakelogic.engine.polars.casts import cast, rescale
from lakelogic.engine.polars.moves import is_interval, move_date
from lakelogic.engine.polars.types import (
    Type,
    common_type,
    decimal_of,
    decimal_size,
    is_decimal,
    is_floating,
    is_null,
    is_number,
    is_whole,
)
from lakelogic.engine.polars.values import Compile, Handler, Value, call, null, refused

_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)
_DOUBLE = pl.Float64()
Operator = Callable[[pl.Expr, pl.Expr], pl.Expr]


def _arithmetic(symbol: str, operator: Operator, exact: Callable[[Decimal, Decimal], Decimal]) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        if is_interval(node.expression) or is_interval(node.this):
            return move_date(node, value_of)
        left, right = value_of(node.this), value_of(node.expression)
        if left.type == pl.Date and is_whole(right.type) and symbol in "+-":
            days = right.expr.cast(pl.Int64) * (1 if symbol == "+" else -1)
            return Value((left.expr.cast(pl.Int64) + days).cast(pl.Int32, strict=False).cast(pl.Date), pl.Date())
        _require_numbers(left, right, node)
        wanted = common_type([left.type, right.type], node)
        if is_null(wanted):
            return null()
        if is_decimal(wanted):
            return _decimal(symbol, operator, exact, left, right, value_of)
        if is_floating(wanted):
            sides = [cast(side, wanted, value_of.guard).expr for side in (left, right)]
            return Value(_without_negative_zero(operator(*sides)) if symbol == "+" else operator(*sides), wanted)
        wide = pl.Int128 if wanted == pl.Int64 else pl.Int64
        return Value(operator(left.expr.cast(wide), right.expr.cast(wide)).cast(wanted, strict=False), wanted)

    return compiled


def _without_negative_zero(total: pl.Expr) -> pl.Expr:
    """Polars drops `+ 0` from a query, and with it that -0.0 + 0 is 0.0."""
    return pl.when(total == 0).then(0.0).otherwise(total)


def _require_numbers(left: Value, right: Value, node: exp.Expr) -> None:
    if not all(is_number(side.type) or is_null(side.type) for side in (left, right)):
        raise refused(node)


def _decimal(
    symbol: str,
    operator: Operator,
    exact: Callable[[Decimal, Decimal], Decimal],
    left: Value,
    right: Value,
    value_of: Compile,
) -> Value:
    left, right = _as_decimal(left), _as_decimal(right)
    (p1, s1), (p2, s2) = decimal_size(left.type), decimal_size(right.type)
    scale = s1 + s2 if symbol == "*" else max(s1, s2)
    precision = p1 + p2 + 1 if symbol == "*" else max(p1 - s1, p2 - s2) + scale + 1
    wanted = decimal_of(precision, scale)
    if precision <= 38:
        # Polars gives the larger scale of the two: the left one has all digits of the result.
        full = pl.Decimal(38, scale)
        return Value(operator(left.expr.cast(full), right.expr).cast(wanted, strict=False), wanted)
    p, s = decimal_size(wanted)
    return call(lambda a, b: _fitted(exact(a, b), p, s), [left, right], wanted, value_of.guard)


def _as_decimal(value: Value) -> Value:
    if is_decimal(value.type) or is_null(value.type):
        return value
    if value.constant is not None:  # Spark sees a whole number in quotes of its own digits
        digits = max(len(str(abs(int(value.constant)))), 1)
        return Value(pl.lit(Decimal(int(value.constant)), dtype=pl.Decimal(digits, 0)), pl.Decimal(digits, 0))
    digits, _ = decimal_size(value.type)
    return Value(value.expr.cast(pl.Decimal(digits, 0)), pl.Decimal(digits, 0))


def _fitted(value: Decimal, precision: int, scale: int) -> Decimal | None:
    try:
        rounded = value.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
    except InvalidOperation:
        return None
    return rounded if not rounded or rounded.adjusted() < precision - scale else None


def quotient(left: Value, right: Value, value_of: Compile, wanted: Type | None = None) -> Value:
    """A decimal quotient with Spark's digits."""
    left, right = _as_decimal(left), _as_decimal(right)
    (p1, s1), (p2, s2) = decimal_size(left.type), decimal_size(right.type)
    scale = max(6, s1 + p2 + 1)
    type_ = wanted or decimal_of(p1 - s1 + s2 + scale, scale)
    precision, digits = decimal_size(type_)

    def divide(a: Decimal, b: Decimal) -> Decimal | None:
        found = decimal_divide(str(a), str(b), precision, digits)
        return None if found is None else Decimal(found)

    return call(divide, [left, right], type_, value_of.guard)


def _divide(node: exp.Expr, value_of: Compile) -> Value:
    left, right = value_of(node.this), value_of(node.expression)
    _require_numbers(left, right, node)
    types = (left.type, right.type)
    if any(map(is_null, types)):
        return null(_DOUBLE)
    if any(map(is_decimal, types)) and not any(map(is_floating, types)):
        return quotient(left, right, value_of)
    top, bottom = cast(left, _DOUBLE).expr, cast(right, _DOUBLE).expr
    return Value(divided(top, pl.when(bottom != 0).then(bottom)), _DOUBLE)


def divided(top: pl.Expr, bottom: pl.Expr) -> pl.Expr:
    """A quotient of doubles. By one number for all rows Polars multiplies with its reciprocal, which is another
    number in the last digit; `pl.when` that is true for all rows of a part of the data gives one number, too.
    """

    def run(columns: Sequence[pl.Series]) -> pl.Series:
        height = max(len(column) for column in columns)
        above, below = (c if len(c) == height else c.new_from_index(0, height) for c in columns)
        return above / below

    both = [top.cast(_DOUBLE), bottom.cast(_DOUBLE)]
    return pl.map_batches(both, run, return_dtype=_DOUBLE, is_elementwise=True)


def _whole_divide(node: exp.Expr, value_of: Compile) -> Value:
    left, right = value_of(node.this), value_of(node.expression)
    if any(is_floating(side.type) for side in (left, right)):
        raise refused(node)
    _require_numbers(left, right, node)
    if is_decimal(left.type) or is_decimal(right.type):
        sides = [_as_decimal(left), _as_decimal(right)]
        return cast(call(_truncated, sides, pl.Decimal(38, 0), value_of.guard), pl.Int64())
    top, bottom = left.expr.cast(pl.Int128), right.expr.cast(pl.Int128)
    size = top.abs() // pl.when(bottom != 0).then(bottom.abs())
    signed = pl.when((top < 0) != (bottom < 0)).then(0 - size).otherwise(size)
    return Value(signed.cast(pl.Int64, strict=False), pl.Int64())


def _truncated(left: Decimal, right: Decimal) -> Decimal | None:
    return Decimal(int(_WIDE.divide_int(left, right))) if right else None


def modulo(left: Value, right: Value, node: exp.Expr, value_of: Compile) -> Value:
    """The rest of a division; it has the sign of the dividend."""
    _require_numbers(left, right, node)
    wanted = common_type([left.type, right.type], node)
    if is_null(wanted):
        return null()
    if is_floating(wanted):
        sides = [cast(side, _DOUBLE, value_of.guard) for side in (left, right)]
        return cast(call(lambda a, b: math.fmod(a, b) if b else None, sides, _DOUBLE, value_of.guard), wanted)
    if is_decimal(wanted):
        return _decimal_modulo(_as_decimal(left), _as_decimal(right), value_of)
    top, bottom = left.expr.cast(pl.Int128), right.expr.cast(pl.Int128)
    size = top.abs() % pl.when(bottom != 0).then(bottom.abs())
    return Value(pl.when(top < 0).then(0 - size).otherwise(size).cast(wanted), wanted)


def _decimal_modulo(left: Value, right: Value, value_of: Compile) -> Value:
    (p1, s1), (p2, s2) = decimal_size(left.type), decimal_size(right.type)
    wanted = decimal_of(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))

    def rest(a: Decimal, b: Decimal) -> Decimal | None:
        return _WIDE.remainder(a, b) if b else None

    return call(rest, [left, right], wanted, value_of.guard)


def _modulo(node: exp.Expr, value_of: Compile) -> Value:
    sides = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.expression]
    return modulo(value_of(sides[0]), value_of(sides[1]), node, value_of)


def _positive_modulo(node: exp.Expr, value_of: Compile) -> Value:
    left, right = (value_of(part) for part in node.expressions)
    rest = modulo(left, right, node, value_of)
    if not is_whole(rest.type):
        raise refused(node)
    raised = modulo(Value(rest.expr + right.expr.cast(rest.type), rest.type), right, node, value_of)
    return Value(pl.when(rest.expr < 0).then(raised.expr).otherwise(rest.expr), rest.type)


def _negative(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node.this)
    if not is_number(value.type):
        raise refused(node)
    if value.constant is not None:
        minus = -value.constant
        return Value(pl.lit(minus, dtype=value.type), value.type, minus)
    if is_whole(value.type):
        return Value((0 - value.expr.cast(pl.Int128)).cast(value.type, strict=False), value.type)
    return Value(-value.expr, value.type)


def _abs(node: exp.Expr, value_of: Compile) -> Value:
    value = _number(node, value_of)
    if is_whole(value.type):
        return Value(value.expr.cast(pl.Int128).abs().cast(value.type, strict=False), value.type)
    return Value(value.expr.abs(), value.type)


def _number(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node.this)
    if is_null(value.type):
        return null(_DOUBLE)
    if not is_number(value.type):
        raise refused(node)
    return value


def _of_double(function: Callable[[pl.Expr], pl.Expr]) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        return Value(function(cast(_number(node, value_of), _DOUBLE).expr), _DOUBLE)

    return compiled


def _power(node: exp.Expr, value_of: Compile) -> Value:
    base, power = (cast(value_of(part), _DOUBLE) for part in (node.this, node.expression))
    return call(_raised, [base, power], _DOUBLE, value_of.guard)


def _raised(base: float, power: float) -> float:
    """Math.pow: no exception, but infinity or NaN."""
    try:
        found = math.pow(base, power)
    except OverflowError:
        return -math.inf if base < 0 and power % 2 == 1 else math.inf
    except ValueError:
        return (math.copysign(math.inf, base) if power % 2 == 1 else math.inf) if base == 0 else math.nan
    # In Java 1 to the power of NaN is NaN, and so is one to the power of infinity.
    return math.nan if abs(base) == 1 and (math.isinf(power) or math.isnan(power)) else found


def _log(node: exp.Expr, value_of: Compile) -> Value:
    base, value = (node.this, node.expression) if node.expression is not None else (None, node.this)
    operand = cast(value_of(value), _DOUBLE).expr
    positive = pl.when(operand > 0).then(operand)
    if base is None:
        return Value(positive.log(), _DOUBLE)
    if base.name == "10":
        return Value(positive.log10(), _DOUBLE)
    low = cast(value_of(base), _DOUBLE).expr
    return Value(positive.log() / pl.when(low > 0).then(low).log(), _DOUBLE)


def _ln(node: exp.Expr, value_of: Compile) -> Value:
    operand = cast(_number(node, value_of), _DOUBLE).expr
    return Value(pl.when(operand > 0).then(operand).log(), _DOUBLE)


def _step(rounding: str, function: Callable[[pl.Expr], pl.Expr]) -> Handler:
    """floor and ceil: BIGINT, or a decimal without digits after the point."""

    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        if node.args.get("decimals") is not None:
            raise refused(node)
        value = _number(node, value_of)
        if is_whole(value.type):
            return cast(value, pl.Int64())
        if is_floating(value.type):
            return Value(function(value.expr).cast(pl.Int64, strict=False), pl.Int64())
        precision, scale = decimal_size(value.type)
        wanted = decimal_of(precision - scale + 1 if scale else precision, 0)
        return call(lambda v: v.quantize(Decimal(1), rounding=rounding, context=_WIDE), [value], wanted, value_of.guard)

    return compiled


def _round(node: exp.Expr, value_of: Compile) -> Value:
    value, places = _number(node, value_of), node.args.get("decimals")
    digits = 0 if places is None else value_of(places).constant
    if digits is None or node.args.get("truncate") is not None:
        raise refused(f"{node.sql('databricks')} with a number of digits that is not constant")
    if is_floating(value.type):
        shortest = Value(value.expr.cast(pl.String), pl.String())
        return call(lambda text: _round_text(text, digits), [shortest], value.type, value_of.guard)
    if is_decimal(value.type):
        precision, scale = decimal_size(value.type)
        kept = min(max(digits, 0), scale)
        wanted = decimal_of(min(precision - scale + kept + 1, 38), kept)
        if digits < 0:
            raise refused(node)
        return rescale(value, wanted, value_of.guard)
    if digits >= 0:
        return value
    return cast(call(lambda v: _rounded_whole(v, digits), [value], pl.Int64(), value_of.guard), value.type)


def _round_text(text: str, digits: int) -> float:
    return float(round_double({"NaN": "nan"}.get(text, text), digits))


def _rounded_whole(value: int, digits: int) -> int:
    return int(Decimal(value).quantize(Decimal(1).scaleb(-digits), context=_WIDE))


def _nanvl(node: exp.Expr, value_of: Compile) -> Value:
    first, second = (cast(value_of(part), _DOUBLE).expr for part in (node.this, node.expression))
    return Value(pl.when(first.is_nan()).then(second).otherwise(first), _DOUBLE)


def _bits(operator: Operator) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        left, right = value_of(node.this), value_of(node.expression)
        wanted = common_type([left.type, right.type], node)
        if not is_whole(wanted):
            raise refused(node)
        return Value(operator(cast(left, wanted).expr, cast(right, wanted).expr), wanted)

    return compiled


def _shift(left: bool) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        value, places = value_of(node.this), value_of(node.expression)
        size = 32 if value.type == pl.Int32 else 64
        if value.type not in (pl.Int32, pl.Int64) or not is_whole(places.type):
            raise refused(node)

        def moved(number: int, by: int) -> int:
            by %= size
            found = number << by if left else number >> by
            found &= (1 << size) - 1
            return found - (1 << size) if found >> (size - 1) else found

        return call(moved, [value, places], value.type, value_of.guard)

    return compiled


def _count_bits(node: exp.Expr, value_of: Compile) -> Value:
    value = _number(node, value_of)
    if not is_whole(value.type):
        raise refused(node)
    return Value(value.expr.cast(pl.Int64).bitwise_count_ones().cast(pl.Int32), pl.Int32())


_ADD = _arithmetic("+", lambda a, b: a + b, lambda a, b: _WIDE.add(a, b))
_SUBTRACT = _arithmetic("-", lambda a, b: a - b, lambda a, b: _WIDE.subtract(a, b))
_MULTIPLY = _arithmetic("*", lambda a, b: a * b, lambda a, b: _WIDE.multiply(a, b))

HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Add: _ADD, exp.SafeAdd: _ADD, exp.Sub: _SUBTRACT, exp.SafeSubtract: _SUBTRACT,
    exp.Mul: _MULTIPLY, exp.SafeMultiply: _MULTIPLY, exp.Div: _divide, exp.SafeDivide: _divide,
    exp.IntDiv: _whole_divide, exp.Mod: _modulo, exp.Neg: _negative, exp.Abs: _abs,
    exp.Sign: _of_double(lambda x: x.sign()), exp.Sqrt: _of_double(lambda x: x.sqrt()),
    exp.Exp: _of_double(lambda x: x.exp()), exp.Cbrt: _of_double(lambda x: x.cbrt()), exp.Pow: _power,
    exp.Ln: _ln, exp.Log: _log, exp.Floor: _step(ROUND_FLOOR, lambda x: x.floor()),
    exp.Ceil: _step(ROUND_CEILING, lambda x: x.ceil()), exp.Round: _round, exp.Nanvl: _nanvl,
    exp.BitwiseAnd: _bits(lambda a, b: a & b), exp.BitwiseOr: _bits(lambda a, b: a | b),
    exp.BitwiseXor: _bits(lambda a, b: a ^ b), exp.BitwiseCount: _count_bits,
    exp.BitwiseNot: lambda node, value_of: Value(~_number(node, value_of).expr, _number(node, value_of).type),
    exp.BitwiseLeftShift: _shift(True), exp.BitwiseRightShift: _shift(False),
    exp.Pi: lambda node, value_of: Value(pl.lit(math.pi), _DOUBLE),
}  # fmt: skip
NAMED: dict[str, Handler] = {"PMOD": _positive_modulo, "TRY_MOD": _modulo}
