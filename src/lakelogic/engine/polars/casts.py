"""Casts that give what Spark's TRY_CAST gives: NULL where a value does not fit, never an error."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import polars as pl

from lakelogic.engine.local.calls import in_utc, zone_known
from lakelogic.engine.local.numbers import BLANKS, hex_number, java_number
from lakelogic.engine.polars.types import (
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal_size,
    is_decimal,
    is_floating,
    is_moment,
    is_null,
    is_whole,
)
from lakelogic.engine.polars.values import Value, call, null, rarely, refused

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_FLOATING = rf"^({_NUMBER}|(?i:[+-]?(?:inf|infinity)|nan))[dDfF]?$"
_MONTH_AND_DAY = r"(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
_DAY = rf"(?s)^([+-]?[0-9]{{4,7}}){_MONTH_AND_DAY}(?:[ T].*)?)?)?$"
_TIME = r"(?:[ T]([01]?[0-9]|2[0-3])(?::([0-5]?[0-9])(?::([0-5]?[0-9])(?:\.([0-9]*))?(.*?))?)?)?"
_MOMENT = rf"(?s)^([+-]?[0-9]{{4,6}}){_MONTH_AND_DAY}{_TIME})?)?$"
# What nearly all files hold is told by patterns without groups, which are many times faster, and read by Polars itself.
_PLAIN_NUMBER = r"^[+-]?[0-9]{1,15}(?:\.[0-9]{0,15})?$"
_PLAIN_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_PLAIN_MOMENT = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"
_FINE_MOMENT = _PLAIN_MOMENT.replace("$", "[.][0-9]{1,6}$")
_TRUE, _FALSE = ["t", "true", "y", "yes", "1"], ["f", "false", "n", "no", "0"]
_WIDE = Context(prec=400, rounding=ROUND_HALF_UP)
_MOST_SECONDS = (1 << 63) // 1_000_000
_SIMPLE_DIGITS = 18  # as many as Polars' own reader takes without a thought


def cast(value: Value, wanted: Type, guard: pl.Expr | None = None) -> Value:
    """The value in another type."""
    have = value.type
    if have == wanted:
        return value
    if is_null(have):
        return null(wanted)
    if isinstance(have, (pl.List, pl.Struct)):
        return _nested(value, wanted)
    if wanted == pl.String:
        return to_text(value, guard)
    for fits, make in _CASTS:
        if fits(have, wanted):
            return make(value, wanted, guard)
    raise refused(f"CAST of {have} to {wanted}")


def to_text(value: Value, guard: pl.Expr | None = None) -> Value:
    """CAST(value AS STRING)."""
    have = value.type
    if have == pl.String:
        return value
    if is_null(have):
        return null(pl.String())
    if is_floating(have):
        shortest = value.expr.cast(pl.String)
        return call(java_number_of, [Value(shortest, pl.String())], pl.String(), guard)
    if is_moment(have):
        written = value.expr.dt.strftime("%Y-%m-%d %H:%M:%S%.6f")
        return Value(written.str.strip_chars_end("0").str.strip_chars_end("."), pl.String())
    if have == pl.Date:
        return Value(value.expr.dt.strftime("%Y-%m-%d"), pl.String())
    if is_whole(have) or is_decimal(have) or have == pl.Boolean:
        return Value(value.expr.cast(pl.String), pl.String())
    raise refused("a text of a nested or binary value")


def java_number_of(shortest: str) -> str:
    named = {"NaN": "nan", "inf": "inf", "-inf": "-inf"}
    return java_number(named.get(shortest, shortest))


def _trimmed(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars(BLANKS)


def _parted(value: Value, pattern: str) -> tuple[pl.Expr, pl.Expr]:
    """Texts of the pattern, and all others; each is NULL where the other is not."""
    fits = value.expr.str.contains(pattern)
    return pl.when(fits).then(value.expr), pl.when(~fits).then(value.expr)


def _text_to_whole(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    quick = value.expr.cast(wanted, strict=False)
    odd = pl.when(quick.is_null()).then(value.expr)
    other = rarely(odd, lambda text: _trimmed(text).cast(wanted, strict=False), wanted, guard)
    return Value(pl.coalesce(quick, other), wanted)


def _text_to_floating(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    def read(text: pl.Expr) -> pl.Expr:
        odd = _trimmed(text)
        hexadecimal = Value(pl.when(odd.str.contains("^[+-]?0[xX]")).then(odd), pl.String())
        found = call(hex_number, [hexadecimal], pl.String())
        return pl.coalesce(odd.str.extract(_FLOATING, 1), found.expr).cast(wanted, strict=False)

    plain, odd = _parted(value, _PLAIN_NUMBER)
    return Value(pl.coalesce(plain.cast(wanted, strict=False), rarely(odd, read, wanted, guard)), wanted)


def _text_to_decimal(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    """Digits that all fit are read by Polars; what must be rounded, or has an exponent, is read by Python."""
    precision, scale = decimal_size(wanted)
    after = min(scale, _SIMPLE_DIGITS)
    before = rf"[0-9]{{1,{_SIMPLE_DIGITS}}}"
    digits = rf"(?:{before}\.?[0-9]{{0,{after}}}|\.[0-9]{{1,{after}}})" if after else rf"{before}\.?"
    plain, odd = _parted(value, rf"^[+-]?{digits}$")

    def read(text: pl.Expr) -> pl.Expr:
        return call(
            lambda text: read_decimal(text, precision, scale), [Value(_trimmed(text), pl.String())], wanted
        ).expr

    return Value(pl.coalesce(plain.cast(wanted, strict=False), rarely(odd, read, wanted, guard)), wanted)


def read_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """A number rounded half up to its scale; NULL where it is none or has too many digits."""
    try:
        value = Decimal(text)
        if not value.is_finite() or "_" in text or not text.isascii():
            return None
        rounded = value.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
    except InvalidOperation:
        return None
    return rounded if not rounded or rounded.adjusted() < precision - scale else None


def _text_to_boolean(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    word = _trimmed(value.expr).str.to_lowercase()
    # The Kelvin sign and its like become ASCII letters by lowering; none of these words has one.
    return Value(pl.when(word.is_in(_TRUE)).then(True).when(word.is_in(_FALSE)).then(False), pl.Boolean())


def _two(part: pl.Expr, other: str) -> pl.Expr:
    return part.fill_null(other).str.zfill(2)


def _day(parts: Callable[[int], pl.Expr]) -> pl.Expr:
    year = parts(1).str.strip_prefix("+")
    # A year of more than four digits needs its sign.
    far = (year.str.len_bytes() > 4) & ~year.str.starts_with("-")
    signed = pl.when(far).then(pl.concat_str(pl.lit("+"), year)).otherwise(year)
    return pl.concat_str(signed, pl.lit("-"), _two(parts(2), "01"), pl.lit("-"), _two(parts(3), "01"))


def _groups(text: pl.Expr, pattern: str) -> Callable[[int], pl.Expr]:
    found = text.str.extract_groups(pattern)
    return lambda number: found.struct.field(str(number))


def _text_to_date(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    def read(day: pl.Expr) -> pl.Expr:
        return day.str.to_date("%Y-%m-%d", strict=False)

    plain, odd = _parted(value, _PLAIN_DAY)
    other = rarely(odd, lambda text: read(_day(_groups(_trimmed(text), _DAY))), pl.Date(), guard)
    return Value(pl.coalesce(read(plain), other), pl.Date())


def _text_to_moment(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    usual, odd = _parted(value, _PLAIN_MOMENT)
    quick = _written_out(usual, "%Y-%m-%d %H:%M:%S")
    moved = in_utc if wanted == TIMESTAMP else _kept_clock
    found = pl.coalesce(quick, rarely(odd, lambda text: _uncommon_moment(text, moved), TIMESTAMP_NTZ, guard))
    return Value(found.dt.replace_time_zone("UTC") if wanted == TIMESTAMP else found, wanted)


def _uncommon_moment(text: pl.Expr, moved: Callable[[str, str], str | None]) -> pl.Expr:
    """With a fraction, as databases write them, or in an odd form."""
    fine, odd = _parted(Value(text, pl.String()), _FINE_MOMENT)
    rest = rarely(odd, lambda other: _odd_moment(other, moved), TIMESTAMP_NTZ)
    return pl.coalesce(_written_out(fine, "%Y-%m-%d %H:%M:%S%.f"), rest)


def _written_out(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.replace("T", " ", literal=True).str.to_datetime(pattern, time_unit="us", strict=False)


def _odd_moment(text: pl.Expr, moved: Callable[[str, str], str | None]) -> pl.Expr:
    """A moment with missing parts, a fraction or a zone."""
    parts = _groups(_trimmed(text), _MOMENT)
    clock = pl.concat_str(
        _day(parts), pl.lit(" "), _two(parts(4), "00"), pl.lit(":"), _two(parts(5), "00"), pl.lit(":"),
        _two(parts(6), "00"), pl.lit("."), parts(7).fill_null("").str.slice(0, 6).str.pad_end(6, "0"),
    )  # fmt: skip
    zone = parts(8).fill_null("")
    plain = zone.is_in(["", "Z", " UTC"])
    elsewhere = [Value(pl.when(~plain).then(clock), pl.String()), Value(zone, pl.String())]
    there = call(moved, elsewhere, pl.String())
    return pl.coalesce(pl.when(plain).then(clock), there.expr).str.to_datetime(
        "%Y-%m-%d %H:%M:%S%.6f", time_unit="us", strict=False
    )


def _kept_clock(clock: str, zone: str) -> str | None:
    return clock if zone_known(zone) else None


def _text_to_binary(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    return Value(value.expr.cast(pl.Binary), pl.Binary())


def _plain(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    return Value(value.expr.cast(wanted, strict=False), wanted)


def _to_boolean(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    return Value(value.expr != 0, pl.Boolean())


def _floating_to_decimal(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    precision, scale = decimal_size(wanted)
    shortest = Value(value.expr.cast(pl.String), pl.String())
    return call(lambda text: read_decimal(text, precision, scale), [shortest], wanted, guard)


def _decimal_to_floating(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    return Value(value.expr.cast(pl.String).cast(wanted, strict=False), wanted)


def rescale(value: Value, wanted: Type, guard: pl.Expr | None = None) -> Value:
    """A decimal in another decimal type, rounded half up."""
    (precision, scale), (new_precision, new_scale) = decimal_size(value.type), decimal_size(wanted)
    if new_scale >= scale:
        return Value(value.expr.cast(wanted, strict=False), wanted)
    if precision >= 38:
        written = Value(value.expr.cast(pl.String), pl.String())
        return call(lambda text: read_decimal(text, new_precision, new_scale), [written], wanted, guard)
    # Polars rounds half to even: a tenth of the last digit more, away from zero, decides every tie.
    finer = pl.Decimal(38, scale + 1)
    bit = pl.lit(Decimal(1).scaleb(-(scale + 1)), dtype=finer)
    moved = value.expr.cast(finer)
    away = pl.when(value.expr < 0).then(moved - bit).otherwise(moved + bit)
    return Value(away.cast(wanted, strict=False), wanted)


def _whole_to_moment(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    seconds = value.expr.cast(pl.Int64)
    inside = pl.when(seconds.is_between(-_MOST_SECONDS, _MOST_SECONDS)).then(seconds)
    return Value((inside * 1_000_000).cast(TIMESTAMP), TIMESTAMP)


def _moment_to_whole(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    seconds = value.expr.dt.epoch("us").floordiv(1_000_000)
    return Value(seconds.cast(wanted, strict=False), wanted)


def _moment_to_date(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    return Value(value.expr.dt.date(), pl.Date())


def _to_moment(value: Value, wanted: Type, guard: pl.Expr | None) -> Value:
    plain = value.expr.cast(TIMESTAMP_NTZ) if value.type == pl.Date else value.expr.dt.replace_time_zone(None)
    return Value(plain.dt.replace_time_zone("UTC") if wanted == TIMESTAMP else plain, wanted)


def _nested(value: Value, wanted: Type) -> Value:
    if isinstance(value.type, pl.List) and isinstance(wanted, pl.List):
        inner: Any = value.type.inner
        item = cast(Value(pl.element(), inner), wanted.inner)  # type: ignore[arg-type]
        return Value(value.expr.list.eval(item.expr), wanted)
    if isinstance(value.type, pl.Struct) and isinstance(wanted, pl.Struct):
        return _struct(value, value.type, wanted)
    raise refused(f"CAST of {value.type} to {wanted}")


def _struct(value: Value, have: pl.Struct, wanted: pl.Struct) -> Value:
    """Fields go by their place, as in Spark."""
    pairs: Any = list(zip(have.fields, wanted.fields, strict=False))
    if len(have.fields) != len(wanted.fields):
        raise refused(f"CAST of {have} to {wanted}")
    made = [
        cast(Value(value.expr.struct.field(old.name), old.dtype), new.dtype).expr.alias(new.name) for old, new in pairs
    ]
    return Value(pl.when(value.expr.is_not_null()).then(pl.struct(made)), wanted)


_Make = Callable[[Value, Type, pl.Expr | None], Value]
_Fits = Callable[[Type, Type], bool]


def _from_text(test: Callable[[Type], bool]) -> _Fits:
    return lambda have, wanted: have == pl.String and test(wanted)


def _from_number(have: Type) -> bool:
    return is_whole(have) or is_floating(have) or is_decimal(have)


# The first line that fits is the cast.
_CASTS: tuple[tuple[_Fits, _Make], ...] = (
    (_from_text(is_whole), _text_to_whole),
    (_from_text(is_floating), _text_to_floating),
    (_from_text(is_decimal), _text_to_decimal),
    (_from_text(lambda wanted: wanted == pl.Boolean), _text_to_boolean),
    (_from_text(lambda wanted: wanted == pl.Date), _text_to_date),
    (_from_text(is_moment), _text_to_moment),
    (_from_text(lambda wanted: wanted == pl.Binary), _text_to_binary),
    (lambda have, wanted: is_decimal(have) and is_decimal(wanted), rescale),
    (lambda have, wanted: is_decimal(have) and is_floating(wanted), _decimal_to_floating),
    (lambda have, wanted: is_floating(have) and is_decimal(wanted), _floating_to_decimal),
    (lambda have, wanted: _from_number(have) and wanted == pl.Boolean, _to_boolean),
    (lambda have, wanted: _from_number(have) and _from_number(wanted), _plain),
    (lambda have, wanted: have == pl.Boolean and (is_whole(wanted) or is_floating(wanted)), _plain),
    (
        lambda have, wanted: have == pl.Boolean and is_decimal(wanted),
        lambda value, wanted, guard: Value(value.expr.cast(pl.Int32).cast(wanted, strict=False), wanted),
    ),
    (lambda have, wanted: is_whole(have) and wanted == TIMESTAMP, _whole_to_moment),
    (lambda have, wanted: is_moment(have) and is_whole(wanted), _moment_to_whole),
    (lambda have, wanted: is_moment(have) and wanted == pl.Date, _moment_to_date),
    (lambda have, wanted: (have == pl.Date or is_moment(have)) and is_moment(wanted), _to_moment),
)
