"""Numbers in the text that Java gives them."""

from __future__ import annotations

import re
from decimal import Decimal

# Spark trims blanks and ASCII control characters around a value before it casts it, and nothing else.
BLANKS = "".join(map(chr, range(1, 33))) + "\x7f"
# What Double.parseDouble reads beside decimal digits; the exponent must be there.
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?")


def hex_number(text: str) -> str | None:
    """The number that Java reads from hexadecimal digits, written in decimal ones; NULL where it reads none."""
    found = _HEXADECIMAL.fullmatch(text.strip(BLANKS))
    if found is None:
        return None
    try:
        return repr(float.fromhex(found[1]))
    except OverflowError:
        return "-inf" if found[1].startswith("-") else "inf"


def java_number(text: str) -> str:
    """The shortest text of a floating-point number, in the form of Double.toString."""
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text)
    if special:
        return special
    value = Decimal(text)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # only NaN and infinity have none
    mantissa = "".join(map(str, digits)).lstrip("0")
    if not mantissa:
        return "-0.0" if sign else "0.0"
    power = len(mantissa) + exponent - 1
    mantissa = mantissa.rstrip("0")
    if -3 <= power < 7:
        plain = format(abs(value).normalize(), "f")
        return ("-" if sign else "") + (plain if "." in plain else f"{plain}.0")
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}E{power}"
