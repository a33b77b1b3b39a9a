"""Dates and timestamps: Spark's nodes in DuckDB's words."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.engine.duckdb.casts import to_text
from lakelogic.engine.duckdb.nodes import Rewrite, call, literal, refused, text
from lakelogic.engine.local.patterns import DatetimePattern, translate_pattern, written_pattern

_TRUNC_UNITS = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MM": "month",
    "MON": "month", "WEEK": "week", "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute",
    "SECOND": "second", "MILLISECOND": "millisecond", "MICROSECOND": "microsecond",
}  # fmt: skip


def trunc(macro: str) -> Rewrite:
    def rewrite(node: exp.Expr) -> exp.Expr:
        unit = _TRUNC_UNITS.get(node.args["unit"].name.upper())
        if unit is None:
            raise refused(node.sql("databricks"))
        return call(macro, text(unit), node.this)

    return rewrite


def date_diff(node: exp.Expr) -> exp.Expr:
    """Spark's datediff(end, start) counts midnights; with a unit it counts whole units that have gone by."""
    unit = node.args.get("unit")
    name = unit.name.lower().rstrip("s") if unit is not None else "day"
    if isinstance(node, exp.DateDiff) and name == "day":
        return call("ll_days", node.this, node.expression)
    if name in {"month", "quarter", "year"}:
        months = call("ll_elapsed_months", node.expression, node.this)
        size = {"month": 1, "quarter": 3, "year": 12}[name]
        return months if size == 1 else call("ll_whole_divide", months, exp.Literal.number(size))
    if name not in {"week", "day", "hour", "minute", "second", "millisecond", "microsecond"}:
        raise refused(node.sql("databricks"))
    return call("ll_elapsed", text(name), node.expression, node.this)


def date_add(node: exp.Expr) -> exp.Expr:
    unit = node.args.get("unit")
    if unit is not None and unit.name.upper() not in {"DAY", "DAYS"}:
        raise refused(node.sql("databricks"))
    return call("ll_date_add", node.this, node.expression)


def timestamp_add(node: exp.Expr) -> exp.Expr:
    unit = node.args["unit"].name.lower().rstrip("s")
    makers = {"year": "to_years", "month": "to_months", "week": "to_weeks", "day": "to_days",
              "hour": "to_hours", "minute": "to_minutes", "second": "to_seconds"}  # fmt: skip
    if unit not in makers:
        raise refused(node.sql("databricks"))
    amount = call(makers[unit], exp.cast(node.expression, "int"))
    moved = exp.Add(this=call("ll_cast_timestamptz", node.this), expression=amount)
    return exp.paren(moved, copy=False)


def pattern_date(node: exp.Expr) -> DatetimePattern:
    """sqlglot has turned the pattern into strftime codes already; its own writer turns it back."""
    if not isinstance(node.args.get("format"), exp.Literal):
        raise refused(node.sql("databricks"))
    return translate_pattern(written_pattern(node))


def parse_date(kind: str) -> Rewrite:
    def rewrite(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous):
            value, *patterns = node.expressions
            pattern = translate_pattern(literal(patterns[0], node)) if patterns else None
        else:
            value, pattern = node.this, pattern_date(node) if node.args.get("format") is not None else None
        if pattern is None:
            return call("ll_cast_date" if kind == "date" else "ll_cast_timestamptz", value)
        pattern.check_readable(node.sql("databricks"))
        century = "_short" if "y" in pattern.codes else ""
        reading = pattern.reading.replace("%g", "%f")
        return call(f"ll_parse{century}_{kind}", to_text(value), text(reading), text(pattern.accepts))

    return rewrite


def unix_date(node: exp.Expr) -> exp.Expr:
    if str(node.args["format"].this) != "%Y-%mstrict-%dstrict %Hstrict:%Mstrict:%Sstrict":
        raise refused(node.sql("databricks"))
    return call("ll_epoch" if isinstance(node, exp.StrToUnix) else "ll_from_unixtime", node.this)


def format_date(node: exp.Expr) -> exp.Expr:
    code = pattern_date(node).code
    if "%Y" not in code:
        return call("ll_format", node.this, text(code))
    return call("ll_format_year", node.this, text(code), text(code.replace("%Y", "+%Y")))


def extract_date(node: exp.Expr) -> exp.Expr:
    part = node.this.name.lower()
    known = {"year", "quarter", "month", "day", "hour", "minute", "dayofweek"}
    if part not in known:
        raise refused(node.sql("databricks"))
    return call("ll_day_of_week" if part == "dayofweek" else f"ll_{part}", node.expression)
