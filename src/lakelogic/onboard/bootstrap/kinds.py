"""The type of a column from the texts that it holds: none that a value seen would not fit, none that loses a digit."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from lakelogic.onboard.bootstrap.names import snake

_WHOLE = re.compile(r"[+-]?\d+")
_EXACT = re.compile(r"[+-]?\d+(\.\d+)?")
_FLOATING = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_PADDED = re.compile(r"[+-]?0\d")
_TRUTHS = frozenset({"true", "false", "yes", "no", "t", "f", "y", "n"})
_ISO_DAY = re.compile(r"(1[0-9]|20|21)\d{2}-\d{2}-\d{2}")
_ISO_INSTANT = re.compile(r"(1[0-9]|20|21)\d{2}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?")
# Spark's letters and Python's; a value fits when it has exactly the digits of the pattern.
_DAY_FORMS = {
    "dd.MM.yyyy": "%d.%m.%Y", "dd/MM/yyyy": "%d/%m/%Y", "MM/dd/yyyy": "%m/%d/%Y", "yyyy/MM/dd": "%Y/%m/%d",
    "dd-MM-yyyy": "%d-%m-%Y", "MM-dd-yyyy": "%m-%d-%Y",
}  # fmt: skip
_INSTANT_FORMS = {
    f"{day} {clock}": f"{python} {'%H:%M:%S' if clock.endswith('ss') else '%H:%M'}"
    for day, python in _DAY_FORMS.items()
    for clock in ("HH:mm:ss", "HH:mm")
}
_COMPACT = {"yyyyMMdd": "%Y%m%d"}
# Digits that are no numbers: nobody adds them up, and the next one may begin with a zero.
_CODES = re.compile(
    r"(^|_)(zip|zipcode|postal|postcode|plz|phone|mobile|tel|telephone|fax|iban|bic|swift|ssn|tax|vat|passport|account|"
    r"card|code|sku|isbn|ean|gtin|vin|siren|siret|licen[cs]e)(_|$)"
)
_DATES = re.compile(r"(^|_)(date|day|datum|dt|on|dob|birthday|since|until)(_|$)|date$")
_MAX_WHOLE_DIGITS, _MAX_DIGITS, _MAX_SCALE, _LEAST_PRECISION = 18, 36, 12, 18


@dataclass(frozen=True, slots=True)
class Kind:
    """A type, how its text is written where that is not the usual way, and what a person should know."""

    type: str
    format: str | None = None
    note: str | None = None


def kind_of(name: str, values: Collection[str]) -> Kind:
    """The type that fits every value; `string` where in doubt. Blanks around a value do not count."""
    if not values:
        return Kind("string", note="no value was seen, so the type is not known")
    seen = {value.strip() for value in values}
    if "" in seen:
        return Kind("string", note="some values are empty texts, which no other type has")
    if seen != set(values) and any(value.strip(" \t") != value.strip() for value in values):
        return Kind("string")  # blanks that a cast does not take away
    if all(value.lower() in _TRUTHS for value in seen):
        return Kind("boolean")
    return _number(name, seen) or _moment(seen) or Kind("string", note=_json_note(seen))


def _number(name: str, seen: set[str]) -> Kind | None:
    if not all(_FLOATING.fullmatch(value) for value in seen):
        return None
    words = snake(name)
    if any(_PADDED.match(value) for value in seen):
        return Kind("string", note="leading zeros, which a number would lose")
    if all(_WHOLE.fullmatch(value) for value in seen):
        if _CODES.search(words):
            return Kind("string", note="digits that are a code by the column's name")
        if _DATES.search(words) and _fits(seen, _COMPACT["yyyyMMdd"]):
            return Kind("date", "yyyyMMdd")
        longest = max(len(value.lstrip("+-")) for value in seen)
        fits = longest <= _MAX_WHOLE_DIGITS
        return Kind("long") if fits else Kind("string", note=f"up to {longest} digits, more than a number holds")
    return _decimal(seen)


def _decimal(seen: set[str]) -> Kind:
    if not all(_EXACT.fullmatch(value) for value in seen):
        return Kind("double")
    parts = [value.lstrip("+-").partition(".") for value in seen]
    scale = max(len(fraction) for _, _, fraction in parts)
    digits = max(len(whole) for whole, _, _ in parts)
    if scale > _MAX_SCALE or digits + scale > _MAX_DIGITS:
        return Kind("double", note="more digits than a decimal holds; sums of such numbers are not exact")
    return Kind(f"decimal({max(_LEAST_PRECISION, digits + scale + 2)},{scale})")


def _moment(seen: set[str]) -> Kind | None:
    if all(_ISO_DAY.fullmatch(value) and _parses(value, "%Y-%m-%d") for value in seen):
        return Kind("date")
    if all(_is_iso(value) for value in seen):
        return Kind("timestamp")
    for type_, forms in (("date", _DAY_FORMS), ("timestamp", _INSTANT_FORMS)):
        fitting = [form for form, python in forms.items() if _fits(seen, python)]
        if len(fitting) == 1:
            return Kind(type_, fitting[0])
        if fitting:
            return Kind("string", note=f"dates as {' or '.join(fitting)}: the values do not tell which")
    known = ["%Y-%m-%d", *_DAY_FORMS.values(), *_INSTANT_FORMS.values()]
    if all(any(_parses(value, form) for form in known) or _is_iso(value) for value in seen):
        return Kind("string", note="dates in several formats; a step can bring them into one")
    return None


def _is_iso(value: str) -> bool:
    if _ISO_DAY.fullmatch(value):
        return _parses(value, "%Y-%m-%d")
    if not _ISO_INSTANT.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _fits(seen: set[str], form: str) -> bool:
    return all(_parses(value, form) for value in seen)


def _parses(value: str, form: str) -> bool:
    try:
        # Python takes `1/2/2026` for the form, Spark wants both digits.
        return datetime.strptime(value, form).strftime(form) == value
    except ValueError:
        return False


def _json_note(seen: set[str]) -> str | None:
    brackets = all((value[0], value[-1]) in (("{", "}"), ("[", "]")) for value in seen)
    return "looks like JSON; `json_extract` reads parts of it" if brackets else None
