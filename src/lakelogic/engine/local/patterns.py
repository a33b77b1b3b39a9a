"""Spark's datetime patterns: how to print them with strftime, and how strictly to read them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks

from lakelogic.core.errors import CapabilityError

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def _names(names: list[str], length: int | None = None) -> str:
    return "(?:" + "|".join(name[:length] for name in names) + ")"


# Letters of a pattern -> (strftime code, the text it accepts). Spark is strict: `dd` is never one digit.
_CODES: dict[str, tuple[str, str]] = {
    "yyyy": ("%Y", "[0-9]{4}"), "uuuu": ("%Y", "[0-9]{4}"), "yy": ("%y", "[0-9]{2}"),
    "MM": ("%m", "[0-9]{2}"), "M": ("%-m", "[0-9]{1,2}"),
    "MMM": ("%b", _names(_MONTHS, 3)), "MMMM": ("%B", _names(_MONTHS)),
    "dd": ("%d", "[0-9]{2}"), "d": ("%-d", "[0-9]{1,2}"),
    "HH": ("%H", "[0-9]{2}"), "H": ("%-H", "[0-9]{1,2}"),
    "hh": ("%I", "[0-9]{2}"), "h": ("%-I", "[0-9]{1,2}"),
    "mm": ("%M", "[0-9]{2}"), "m": ("%-M", "[0-9]{1,2}"),
    "ss": ("%S", "[0-9]{2}"), "s": ("%-S", "[0-9]{1,2}"),
    "SSS": ("%g", "[0-9]{3}"), "SSSSSS": ("%f", "[0-9]{6}"),
    "a": ("%p", "(?:AM|PM)"),
    "E": ("%a", _names(_DAYS, 3)), "EEE": ("%a", _names(_DAYS, 3)), "EEEE": ("%A", _names(_DAYS)),
}  # fmt: skip
_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


@dataclass(frozen=True, slots=True)
class DatetimePattern:
    """A pattern in the words of strftime."""

    code: str
    accepts: str  # regular expression of the whole text


def written_pattern(node: exp.Expr) -> str:
    """The pattern of a node as its author wrote it: sqlglot has turned it into strftime codes, and turns it back."""
    literal = str(Databricks().generator().format_time(node))
    return str(sqlglot.parse_one(literal, dialect="databricks").this)


def translate_pattern(pattern: str) -> DatetimePattern:
    """Translate a Spark pattern such as `dd/MM/yyyy`."""
    code, accepts, at = "", "", 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            raise _refused(pattern, pattern[at])
        at = piece.end()
        text = piece[0]
        if text[0].isalpha():
            if text not in _CODES:
                raise _refused(pattern, text)
            code, accepts = code + _CODES[text][0], accepts + _CODES[text][1]
            continue
        plain = text if piece[1] is None else (piece[1].replace("''", "'") or "'")
        code, accepts = code + plain.replace("%", "%%"), accepts + re.escape(plain)
    return DatetimePattern(code, accepts)


def _refused(pattern: str, what: str) -> CapabilityError:
    return CapabilityError(f"cannot use `{what}` in the datetime pattern `{pattern}` without Spark")
