"""Dates and timestamps moved by an interval."""

from __future__ import annotations

import polars as pl
from sqlglot import exp

from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.types import TIMESTAMP, Type, is_moment
from lakelogic.engine.polars.values import Compile, Value, refused

MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
MICROSECONDS = {
    "WEEK": 7 * 86_400_000_000, "DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000,
    "SECOND": 1_000_000, "MILLISECOND": 1000, "MICROSECOND": 1,
}  # fmt: skip


def is_interval(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Interval)


def move_date(node: exp.Expr, value_of: Compile) -> Value:
    """A date or timestamp plus or minus an interval."""
    value, interval = node.this, node.expression
    if is_interval(value) and not isinstance(node, (exp.Sub, exp.SafeSubtract)):
        value, interval = interval, value
    if is_interval(value) or not is_interval(interval):
        raise refused(node)
    amount, unit = interval_of(interval)
    return moved(value_of(value), -amount if isinstance(node, (exp.Sub, exp.SafeSubtract)) else amount, unit, node)


def interval_of(interval: exp.Expr) -> tuple[int, str]:
    """A number and a unit, such as (2, HOUR)."""
    unit, amount = interval.args.get("unit"), interval.this
    negative = isinstance(amount, exp.Neg)
    literal = amount.this if isinstance(amount, exp.Neg) else amount
    if unit is None or not isinstance(literal, exp.Literal) or not literal.name.lstrip("-").isdigit():
        raise refused(interval)
    name = unit.name.upper().rstrip("S")
    if name not in MONTHS and name not in MICROSECONDS:
        raise refused(interval)
    return (-1 if negative else 1) * int(literal.name), name


def moved(value: Value, amount: int, unit: str, node: exp.Expr) -> Value:
    return moved_by(value, pl.lit(amount, dtype=pl.Int64), unit, node)


def moved_by(value: Value, amount: pl.Expr, unit: str, node: exp.Expr) -> Value:
    """Months keep the day, or take the last one; everything else is a number of microseconds."""
    if value.type == pl.String:
        value = cast(value, TIMESTAMP)
    if unit in MONTHS:
        if value.type != pl.Date and not is_moment(value.type):
            raise refused(node)
        return Value(add_months(value.expr, amount * MONTHS[unit]), value.type)
    if value.type == pl.Date and unit in {"DAY", "WEEK"}:
        days = amount * (7 if unit == "WEEK" else 1)
        return Value((value.expr.cast(pl.Int64) + days).cast(pl.Int32, strict=False).cast(pl.Date), pl.Date())
    wanted: Type = TIMESTAMP if value.type == pl.Date else value.type
    if not is_moment(wanted):
        raise refused(node)
    later = cast(value, wanted).expr.dt.epoch("us").cast(pl.Int128) + amount.cast(pl.Int128) * MICROSECONDS[unit]
    plain = later.cast(pl.Int64, strict=False).cast(pl.Datetime("us"))
    return Value(plain.dt.replace_time_zone("UTC") if wanted == TIMESTAMP else plain, wanted)


def add_months(date: pl.Expr, months: pl.Expr) -> pl.Expr:
    return date.dt.offset_by(pl.concat_str(months.cast(pl.Int64).cast(pl.String), pl.lit("mo")))
