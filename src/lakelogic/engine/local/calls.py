"""Python functions that engines of this process call where their own cannot give Spark's value."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from urllib.parse import unquote_to_bytes
from zoneinfo import ZoneInfo

from lakelogic.engine.local.java_regex import rows
from lakelogic.engine.local.json_lines import Members, dump, escape_pairs, parse
from lakelogic.engine.local.json_parts import json_parts
from lakelogic.engine.local.numbers import hex_number, java_number
from lakelogic.engine.local.variants import variant_get

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?")
# java.time.ZoneId.SHORT_IDS: the three-letter names that Spark still knows.
_SHORT_ZONES = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00", "MST": "-07:00", "HST": "-10:00",
}  # fmt: skip


def find_zone(name: str) -> tzinfo | None:
    """The zone that java.time would find under this name."""
    name = name.strip(" ")
    name = _SHORT_ZONES.get(name, name)
    if name in {"Z", "UTC", "GMT", "UT"}:
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset:
        return _offset_zone(offset)
    try:
        return ZoneInfo(name) if re.fullmatch(r"[A-Za-z][A-Za-z0-9~/._+-]+", name) else None
    except (KeyError, ValueError, OSError):
        return None


def _offset_zone(offset: re.Match[str]) -> tzinfo | None:
    compact = offset[3] is not None and ":" not in offset[0]
    if compact and (len(offset[2]) != 2 or len(offset[3]) != 2):
        return None
    minutes = int(offset[2]) * 60 + int(offset[3] or 0)
    if int(offset[3] or 0) > 59 or minutes > 18 * 60:
        return None
    return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))


def zone_known(name: str) -> bool:
    return find_zone(name) is not None


def in_utc(clock: str, zone: str) -> str | None:
    """`yyyy-MM-dd HH:mm:ss.ffffff` on a clock in `zone`, as UTC; NULL for an unknown zone or no such date."""
    place = find_zone(zone)
    if place is None:
        return None
    try:
        local = datetime.strptime(clock, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=place)
        return local.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
    except (ValueError, OverflowError):
        return None


def far_text(text: str) -> str:
    """A date or moment before the year 1 (`0001-01-01 (BC)`, the year 0) or beyond 9999, as Spark writes it."""
    day, *clock = text.replace(" (BC)", "").split(" ")
    year, rest = day.split("-", 1)
    number = 1 - int(year) if "(BC)" in text else int(year)
    sign = "-" if number < 0 else "+" if number > 9999 else ""
    return " ".join([f"{sign}{abs(number):04}-{rest}", *clock])


def upper(text: str) -> str:
    return text.upper()


def lower(text: str) -> str:
    return text.lower()


def initcap(text: str) -> str:
    """Only blanks divide words in Spark; `wORLD-foo` is one."""
    # The whole word is lowered, as the last letter of a Greek word depends on those before it.
    return " ".join(word[:1].title() + word.lower()[len(word[:1].lower()) :] for word in text.split(" "))


def reverse(text: str) -> str:
    return text[::-1]


def levenshtein(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def substring_index(text: str, mark: str, count: int) -> str:
    if not mark or not count:
        return ""
    parts = text.split(mark)
    return mark.join(parts[:count] if count > 0 else parts[count:])


def url_decode(text: str) -> str | None:
    try:
        if re.search(r"%(?![0-9A-Fa-f]{2})", text):
            return None
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        return None


def decimal_divide(left: str, right: str, precision: int, scale: int) -> str | None:
    """Spark divides to 39 digits after the point, then rounds half up to the result's scale."""
    wide = Context(prec=120, rounding=ROUND_HALF_UP)
    divisor = Decimal(right)
    if not divisor:
        return None
    try:
        exact = wide.divide(Decimal(left), divisor).quantize(Decimal(1).scaleb(-39), context=wide)
        value = exact.quantize(Decimal(1).scaleb(-scale), context=wide)
    except InvalidOperation:
        return None
    return format(value, "f") if value.adjusted() < precision - scale else None


def decimal_multiply(left: str, right: str, precision: int, scale: int) -> str | None:
    """The exact product, rounded half up to the result's scale."""
    wide = Context(prec=120, rounding=ROUND_HALF_UP)
    value = wide.multiply(Decimal(left), Decimal(right)).quantize(Decimal(1).scaleb(-scale), context=wide)
    return format(value, "f") if value.adjusted() < precision - scale else None


def round_double(text: str, digits: int) -> str:
    """Spark rounds a double half up on its shortest decimal text."""
    if text in {"nan", "inf", "-inf"}:
        return text
    wide = Context(prec=400, rounding=ROUND_HALF_UP)
    rounded = Decimal(text).quantize(Decimal(1).scaleb(-digits), context=wide)
    return str(rounded) if rounded else "0"  # Java's decimals have no negative zero


def without_nulls(text: str) -> str:
    """Spark's to_json leaves members out that are NULL; numbers keep their digits."""
    return dump(_drop_nulls(parse(text)))


def _drop_nulls(value: object) -> object:
    match value:
        case Members():
            return Members((key, _drop_nulls(member)) for key, member in value if member is not None)
        case list():
            return [_drop_nulls(item) for item in value]
        case _:
            return value


def sha2(text: str, bits: int) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return hashlib.new(name, text.encode()).hexdigest() if name else None


# Name -> function, argument types, result type. NULL in any argument gives NULL.
CALLS: dict[str, tuple[Callable[..., object], tuple[str, ...], str]] = {
    "ll_json_parts": (json_parts, ("VARCHAR", "VARCHAR"), "VARCHAR"),
    "ll_zone_known": (zone_known, ("VARCHAR",), "BOOLEAN"),
    "ll_in_utc": (in_utc, ("VARCHAR", "VARCHAR"), "VARCHAR"),
    "ll_escape_pairs": (escape_pairs, ("VARCHAR",), "VARCHAR"),
    "ll_hex_number": (hex_number, ("VARCHAR",), "VARCHAR"),
    "ll_far_text": (far_text, ("VARCHAR",), "VARCHAR"),
    "ll_java_number": (java_number, ("VARCHAR",), "VARCHAR"),
    "ll_full_upper": (upper, ("VARCHAR",), "VARCHAR"),
    "ll_full_lower": (lower, ("VARCHAR",), "VARCHAR"),
    "ll_full_reverse": (reverse, ("VARCHAR",), "VARCHAR"),
    "ll_full_levenshtein": (levenshtein, ("VARCHAR", "VARCHAR"), "INTEGER"),
    "ll_any_substring_index": (substring_index, ("VARCHAR", "VARCHAR", "INTEGER"), "VARCHAR"),
    "ll_url_decode": (url_decode, ("VARCHAR",), "VARCHAR"),
    "ll_initcap": (initcap, ("VARCHAR",), "VARCHAR"),
    "ll_decimal_divide": (decimal_divide, ("VARCHAR", "VARCHAR", "INTEGER", "INTEGER"), "VARCHAR"),
    "ll_decimal_multiply": (decimal_multiply, ("VARCHAR", "VARCHAR", "INTEGER", "INTEGER"), "VARCHAR"),
    "ll_round_double": (round_double, ("VARCHAR", "INTEGER"), "VARCHAR"),
    "ll_without_nulls": (without_nulls, ("VARCHAR",), "VARCHAR"),
    "ll_variant_get": (variant_get, ("VARCHAR", "VARCHAR"), "VARCHAR"),
    "ll_sha2": (sha2, ("VARCHAR", "INTEGER"), "VARCHAR"),
    "ll_regex_test": (rows.regex_test, ("VARCHAR", "VARCHAR"), "BOOLEAN"),
    "ll_regex_replace": (rows.regex_replace, ("VARCHAR", "VARCHAR", "VARCHAR"), "VARCHAR"),
    "ll_regex_extract": (rows.regex_extract, ("VARCHAR", "VARCHAR", "INTEGER"), "VARCHAR"),
    "ll_regex_extract_all": (rows.regex_extract_all, ("VARCHAR", "VARCHAR", "INTEGER"), "VARCHAR[]"),
    "ll_regex_count": (rows.regex_count, ("VARCHAR", "VARCHAR"), "INTEGER"),
    "ll_regex_place": (rows.regex_place, ("VARCHAR", "VARCHAR"), "INTEGER"),
    "ll_regex_substring": (rows.regex_substring, ("VARCHAR", "VARCHAR"), "VARCHAR"),
    "ll_regex_split": (rows.regex_split, ("VARCHAR", "VARCHAR", "INTEGER"), "VARCHAR[]"),
}
