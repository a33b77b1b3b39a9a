"""Functions of dates and timestamps; the time zone is UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

import polars as pl
from sqlglot import exp

from lakelogic.engine.local.patterns import DatetimePattern, translate_pattern, written_pattern
from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.moves import MICROSECONDS, MONTHS, add_months, interval_of, moved_by
from lakelogic.engine.polars.texts import constant_text, text_of, whole_of
from lakelogic.engine.polars.types import TIMESTAMP, Type, is_moment, is_null, is_whole
from lakelogic.engine.polars.values import Compile, Handler, Value, call, null, refused

_DATE, _INT = pl.Date(), pl.Int32()
_TRUNC_UNITS = {
    "YEAR": "1y", "YYYY": "1y", "YY": "1y", "QUARTER": "1q", "MONTH": "1mo", "MM": "1mo", "MON": "1mo",
    "WEEK": "1w", "DAY": "1d", "DD": "1d", "HOUR": "1h", "MINUTE": "1m", "SECOND": "1s",
    "MILLISECOND": "1ms", "MICROSECOND": "1us",
}  # fmt: skip
_UNIX_FORMAT = "%Y-%mstrict-%dstrict %Hstrict:%Mstrict:%Sstrict"


def date_of(node: exp.Expr, value_of: Compile) -> Value:
    """A node as a date; texts and timestamps are cast, as Spark does."""
    value = value_of(node)
    if is_whole(value.type):
        raise refused(f"{node.sql('databricks')} as a date")
    return cast(value, _DATE, value_of.guard)


def moment_of(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node)
    if value.type == pl.Datetime("us"):
        return value
    return cast(value, TIMESTAMP, value_of.guard)


def _part(function: Callable[[pl.Expr], pl.Expr], of: str = "date") -> Handler:
    read = date_of if of == "date" else moment_of

    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        inner = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
        return Value(function(read(inner, value_of).expr).cast(_INT), _INT)

    return compiled


_PARTS: dict[str, Handler] = {
    "year": _part(lambda x: x.dt.year()), "quarter": _part(lambda x: x.dt.quarter()),
    "month": _part(lambda x: x.dt.month()), "day": _part(lambda x: x.dt.day()),
    "dayofweek": _part(lambda x: x.dt.weekday() % 7 + 1), "dayofyear": _part(lambda x: x.dt.ordinal_day()),
    "week": _part(lambda x: x.dt.week()), "weekday": _part(lambda x: x.dt.weekday() - 1),
    "hour": _part(lambda x: x.dt.hour(), "time"), "minute": _part(lambda x: x.dt.minute(), "time"),
    "second": _part(lambda x: x.dt.second(), "time"),
}  # fmt: skip


def _extract(node: exp.Expr, value_of: Compile) -> Value:
    if isinstance(node, exp.Anonymous):
        part, inner = node.expressions[0].name.lower(), node.expressions[1]
    else:
        part, inner = node.this.name.lower(), node.expression
    if part not in {"year", "quarter", "month", "day", "hour", "minute", "dayofweek"}:
        raise refused(node)
    return _PARTS[part](exp.Paren(this=inner.copy()), value_of)


def _days_later(sign: int) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        unit = node.args.get("unit")
        if unit is not None and unit.name.upper() not in {"DAY", "DAYS"}:
            raise refused(node)
        start, days = date_of(node.this, value_of), whole_of(node.expression, value_of)
        later = start.expr.cast(pl.Int64) + days.expr.cast(pl.Int64) * sign
        return Value(later.cast(pl.Int32, strict=False).cast(_DATE), _DATE)

    return compiled


def _date_diff(node: exp.Expr, value_of: Compile) -> Value:
    """datediff(end, start) counts midnights; with a unit it counts whole units that have gone by."""
    unit = node.args.get("unit")
    name = unit.name.upper().rstrip("S") if unit is not None else "DAY"
    if isinstance(node, exp.DateDiff) and name == "DAY":
        end, start = date_of(node.this, value_of), date_of(node.expression, value_of)
        return Value((end.expr.cast(pl.Int64) - start.expr.cast(pl.Int64)).cast(_INT), _INT)
    later, earlier = moment_of(node.this, value_of).expr, moment_of(node.expression, value_of).expr
    if name in MONTHS:
        months = _full_months(earlier, later)
        return Value(_toward_zero(months, MONTHS[name]), pl.Int64())
    if name not in MICROSECONDS:
        raise refused(node)
    return Value(_toward_zero(later.dt.epoch("us") - earlier.dt.epoch("us"), MICROSECONDS[name]), pl.Int64())


def _toward_zero(number: pl.Expr, size: int) -> pl.Expr:
    whole = number.abs() // size
    return pl.when(number < 0).then(-whole).otherwise(whole).cast(pl.Int64)


def _months_of(earlier: pl.Expr, later: pl.Expr) -> pl.Expr:
    years = later.dt.year().cast(pl.Int64) - earlier.dt.year().cast(pl.Int64)
    return years * 12 + later.dt.month().cast(pl.Int64) - earlier.dt.month().cast(pl.Int64)


def _in_month(moment: pl.Expr) -> pl.Expr:
    """Microseconds since the start of the month."""
    return moment.dt.epoch("us") - moment.dt.truncate("1mo").dt.epoch("us")


def _full_months(earlier: pl.Expr, later: pl.Expr) -> pl.Expr:
    """Spark counts a month when the day and the time of day are reached; the end of a month is no exception."""
    months, before = _months_of(earlier, later), _in_month(later) - _in_month(earlier)
    forward = months - (before < 0).cast(pl.Int64)
    return pl.when(later >= earlier).then(forward).otherwise(months + (before > 0).cast(pl.Int64))


def _months_between(node: exp.Expr, value_of: Compile) -> Value:
    later, earlier = moment_of(node.this, value_of).expr, moment_of(node.expression, value_of).expr
    ends = [moment.dt.day() == moment.dt.month_end().dt.day() for moment in (later, earlier)]
    months = _months_of(earlier, later).cast(pl.Float64)
    same = (later.dt.day() == earlier.dt.day()) | (ends[0] & ends[1])
    rest = (_in_month(later) // 1_000_000 - _in_month(earlier) // 1_000_000).cast(pl.Float64) / 2678400.0
    finer = ((months + rest) * 1e8).round(0, mode="half_away_from_zero") / 1e8
    return Value(pl.when(same).then(months).otherwise(finer), pl.Float64())


def _timestamp_add(node: exp.Expr, value_of: Compile) -> Value:
    unit = node.args["unit"].name.upper().rstrip("S")
    if unit not in {*MONTHS, *MICROSECONDS}:
        raise refused(node)
    return moved_by(moment_of(node.this, value_of), whole_of(node.expression, value_of).expr.cast(pl.Int64), unit, node)


def _add_months(node: exp.Expr, value_of: Compile) -> Value:
    return Value(add_months(date_of(node.this, value_of).expr, whole_of(node.expression, value_of).expr), _DATE)


def _trunc(of: str) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        unit = _TRUNC_UNITS.get(node.args["unit"].name.upper())
        if unit is None:
            raise refused(node)
        value = (date_of if of == "date" else moment_of)(node.this, value_of)
        return Value(value.expr.dt.truncate(unit), value.type)

    return compiled


def _pattern(node: exp.Expr) -> DatetimePattern:
    """sqlglot has turned the pattern into strftime codes already; its own writer turns it back."""
    if not isinstance(node.args.get("format"), exp.Literal):
        raise refused(node)
    return translate_pattern(written_pattern(node))


def _chrono(code: str) -> str:
    return code.replace("%g", "%3f").replace("%f", "%6f")


def _format(node: exp.Expr, value_of: Compile) -> Value:
    return Value(moment_of(node.this, value_of).expr.dt.strftime(_chrono(_pattern(node).code)), pl.String())


def _parse(kind: str) -> Handler:
    wanted: Type = _DATE if kind == "date" else TIMESTAMP

    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        if isinstance(node, exp.Anonymous):
            inner, *patterns = node.expressions
            pattern = translate_pattern(constant_text(patterns[0], node)) if patterns else None
        else:
            inner, pattern = node.this, _pattern(node) if node.args.get("format") is not None else None
        value = value_of(inner)
        if pattern is None or value.type != pl.String:
            return cast(value, wanted, value_of.guard)
        return cast(_read(text_of(inner, value_of), pattern, node), wanted)

    return compiled


def _read(value: Value, pattern: DatetimePattern, node: exp.Expr) -> Value:
    """Parts that the pattern has not are those of 1970-01-01 00:00:00; names and signs are read in any case."""
    pattern.check_readable(node.sql("databricks"))
    codes, lowered = pattern.codes, value.expr.str.to_lowercase()
    missing = [] if codes & {"m", "b", "B"} else [("01", "%m")]
    missing += [] if "d" in codes else [("01", "%d")]
    missing += [] if codes & {"H", "I"} else [("00", "%H")]
    missing += [(zero, part) for part, zero in (("%M", "00"), ("%S", "00")) if part[1] not in codes]
    fits = lowered.str.contains(f"^(?:{pattern.accepts})$")
    whole = pl.concat_str([pl.when(fits).then(lowered), *[pl.lit(f" {zero}") for zero, _ in missing]])
    code = re.sub(r"\.%[gf]", "%.f", pattern.reading) + "".join(f" {part}" for _, part in missing)
    read = whole.str.to_datetime(code, time_unit="us", strict=False)
    # A year of two digits is one of this century.
    later = pl.when(read.dt.year() < 2000).then(read.dt.offset_by("100y")).otherwise(read)
    return Value(later if "y" in codes else read, pl.Datetime("us"))


def _unix(node: exp.Expr, value_of: Compile) -> Value:
    if str(node.args["format"].this) != _UNIX_FORMAT:
        raise refused(node)
    if isinstance(node, exp.StrToUnix):
        return cast(moment_of(node.this, value_of), pl.Int64())
    moment = cast(cast(value_of(node.this), pl.Int64()), TIMESTAMP)
    return Value(moment.expr.dt.strftime("%Y-%m-%d %H:%M:%S"), pl.String())


def _unix_micros(node: exp.Expr, value_of: Compile) -> Value:
    return Value(moment_of(node.this, value_of).expr.to_physical().cast(pl.Int64), pl.Int64())


def _millis(node: exp.Expr, value_of: Compile) -> Value:
    number = cast(value_of(node.expressions[0]), pl.Int64(), value_of.guard)
    return Value((number.expr * 1000).cast(TIMESTAMP), TIMESTAMP)


def _make_date(node: exp.Expr, value_of: Compile) -> Value:
    parts = [whole_of(part, value_of) for part in node.expressions]
    return call(_date_or_null, parts, _DATE, value_of.guard)


def _date_or_null(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _sequence(node: exp.Expr, value_of: Compile) -> Value:
    start, end = value_of(node.args["start"]), value_of(node.args["end"])
    step = node.args.get("step")
    if is_whole(start.type) and is_whole(end.type):
        wanted = max(start.type, end.type, key=lambda t: (pl.Int8, pl.Int16, pl.Int32, pl.Int64).index(type(t)))
        by = [] if step is None else [whole_of(step, value_of)]
        return call(_whole_sequence, [start, end, *by], pl.List(wanted), value_of.guard)
    if is_null(start.type) or is_null(end.type):
        return null(pl.List(_DATE))
    if not isinstance(step, exp.Interval) or start.type != end.type:
        raise refused(node)
    amount, unit = interval_of(step)
    if unit in MONTHS or not amount or (start.type == _DATE and unit not in {"DAY", "WEEK"}):
        raise refused(node)
    if start.type != _DATE and not is_moment(start.type):
        raise refused(node)
    size = timedelta(microseconds=amount * MICROSECONDS[unit])
    return call(lambda a, b: _moments(a, b, size), [start, end], pl.List(start.type), value_of.guard)


def _whole_sequence(start: int, end: int, step: int | None = None) -> list[int] | None:
    by = step if step is not None else (1 if start <= end else -1)
    if by == 0:
        return [start] if start == end else None
    return list(range(start, end + (1 if by > 0 else -1), by))


def _moments(start: datetime, end: datetime, step: timedelta) -> list[datetime]:
    forward, found = step > timedelta(0), []
    while start <= end if forward else start >= end:
        found.append(start)
        start = start + step
    return found


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Year: _PARTS["year"], exp.Quarter: _PARTS["quarter"], exp.Month: _PARTS["month"], exp.Day: _PARTS["day"],
    exp.DayOfMonth: _PARTS["day"], exp.DayOfWeek: _PARTS["dayofweek"], exp.DayOfYear: _PARTS["dayofyear"],
    exp.WeekOfYear: _PARTS["week"], exp.Hour: _PARTS["hour"], exp.Minute: _PARTS["minute"],
    exp.Second: _PARTS["second"], exp.Extract: _extract, exp.TsOrDsAdd: _days_later(1), exp.DateAdd: _days_later(1),
    exp.DateSub: _days_later(-1), exp.DateDiff: _date_diff, exp.TimestampDiff: _date_diff,
    exp.MonthsBetween: _months_between, exp.TimestampAdd: _timestamp_add, exp.AddMonths: _add_months,
    exp.LastDay: lambda node, value_of: Value(date_of(node.this, value_of).expr.dt.month_end(), _DATE),
    exp.TimestampTrunc: _trunc("time"), exp.DateTrunc: _trunc("date"), exp.TimeToStr: _format,
    exp.TsOrDsToDate: _parse("date"), exp.StrToDate: _parse("date"), exp.StrToTime: _parse("time"),
    exp.TimeStrToTime: _parse("time"), exp.StrToUnix: _unix, exp.UnixToStr: _unix, exp.GenerateSeries: _sequence,
    exp.UnixMicros: _unix_micros,
}  # fmt: skip
NAMED: dict[str, Handler] = {
    "TRY_TO_DATE": _parse("date"), "TRY_TO_TIMESTAMP": _parse("time"), "WEEKDAY": _PARTS["weekday"],
    "MAKE_DATE": _make_date, "DATE_PART": _extract, "TIMESTAMP_MILLIS": _millis,
}  # fmt: skip
