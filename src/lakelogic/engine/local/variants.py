"""Values inside JSON as Spark's VARIANT gives them as text; on engines of this process a variant is its JSON text."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from lakelogic.engine.local.json_lines import Members, Number, dump, parse
from lakelogic.engine.local.numbers import java_number

_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['([^']*)'\]")
_MOST_DIGITS = 38


def variant_get(text: str, path: str) -> str | None:
    """The value at a path (`$.a['b c']`) as text; None where it is absent, NULL, or the text is no JSON."""
    value = _parsed(text)
    for step in _steps(path):
        value = dict(value).get(step) if isinstance(value, Members) else None
    if value is None or (isinstance(value, str) and not isinstance(value, Number)):
        return value
    return dump(_normal(value))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> object:
    """Several fields are taken out of one event, a batch of events at a time."""
    value = parse(text)
    return None if _repeats(value) else value


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(plain or quoted for plain, quoted in _STEP.findall(path))


def _repeats(value: object) -> bool:
    """A variant takes no key twice."""
    match value:
        case Members():
            names = [key for key, _ in value]
            return len(set(names)) < len(names) or any(_repeats(member) for _, member in value)
        case list():
            return any(_repeats(item) for item in value)
        case _:
            return False


def _normal(value: object) -> object:
    """Members by their names, numbers in the text of the type that a variant keeps them in."""
    match value:
        case Members():
            return Members(sorted((key, _normal(member)) for key, member in value))
        case list():
            return [_normal(item) for item in value]
        case Number():
            return Number(_number(str(value)))
        case _:
            return value


def _number(written: str) -> str:
    """Whole numbers and decimals of up to 38 digits are exact, without zeros behind; all others are doubles."""
    exact = Decimal(written)
    _, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)  # JSON has no NaN
    if "e" in written.lower() or max(len(digits), -exponent) > _MOST_DIGITS:
        return java_number(repr(float(written)))
    plain = f"{exact:f}"
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain == "-0" else plain
