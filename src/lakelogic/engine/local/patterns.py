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


# Letters of a pattern -> (strftime code, the text it accepts). Spark is strict: `dd` is never one digit. But it reads
# names and signs in any case, and a fraction with fewer digits.
_CODES: dict[str, tuple[str, str]] = {
    "yyyy": ("%Y", "[0-9]{4}"), "yy": ("%y", "[0-9]{2}"),
    "MM": ("%m", "[0-9]{2}"), "M": ("%-m", "[0-9]{1,2}"),
    "MMM": ("%b", _names(_MONTHS, 3)), "MMMM": ("%B", _names(_MONTHS)),
    "dd": ("%d", "[0-9]{2}"), "d": ("%-d", "[0-9]{1,2}"),
    "HH": ("%H", "[0-9]{2}"), "H": ("%-H", "[0-9]{1,2}"),
    "hh": ("%I", "[0-9]{2}"), "h": ("%-I", "[0-9]{1,2}"),
    "mm": ("%M", "[0-9]{2}"), "m": ("%-M", "[0-9]{1,2}"),
    "ss": ("%S", "[0-5][0-9]"), "s": ("%-S", "[0-5]?[0-9]"),
    "SSS": ("%g", "[0-9]{1,3}"), "SSSSSS": ("%f", "[0-9]{1,6}"),
    "a": ("%p", "(?:AM|PM)"),
    "E": ("%a", _names(_DAYS, 3)), "EEE": ("%a", _names(_DAYS, 3)), "EEEE": ("%A", _names(_DAYS)),
}  # fmt: skip
# Java keeps `[`, `]`, `{`, `}` and `#` for parts that may be missing, and for itself.
_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z'\[\]{}#]+")


@dataclass(frozen=True, slots=True)
class DatetimePattern:
    """A pattern in the words of strftime."""

    code: str
    reading: str  # the same for a text in lower case
    accepts: str  # regular expression of the whole text in lower case

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(re.findall(r"%-?([a-zA-Z])", self.code.replace("%%", "")))

    def check_readable(self, what: str) -> None:
        """Refuse what Spark refuses to read, and what other engines would guess: a century, an hour of half a day."""
        codes = self.codes
        if codes & {"a", "A"}:
            raise _unreadable(what, "Spark does not read the day of the week")
        if not codes & {"Y", "y"} or ("I" in codes) != ("p" in codes):
            raise _unreadable(what, "it needs a year, and AM or PM where hours count to 12")
        if codes & {"g", "f"} and not re.search(r"\.%[gf]", self.code):
            raise _unreadable(what, "a fraction needs a point before it")


def written_pattern(node: exp.Expr) -> str:
    """The pattern of a node as its author wrote it: sqlglot has turned it into strftime codes, and turns it back."""
    literal = str(Databricks().generator().format_time(node))
    return str(sqlglot.parse_one(literal, dialect="databricks").this)


def translate_pattern(pattern: str) -> DatetimePattern:
    """Translate a Spark pattern such as `dd/MM/yyyy`."""
    code, reading, accepts, at = "", "", "", 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            raise _refused(pattern, pattern[at])
        at = piece.end()
        text = piece[0]
        if text[0].isalpha():
            if text not in _CODES:
                raise _refused(pattern, text)
            letters, texts = _CODES[text]
            code, reading, accepts = code + letters, reading + letters.replace("%-", "%"), accepts + texts.lower()
            continue
        plain = (text if piece[1] is None else (piece[1].replace("''", "'") or "'")).replace("%", "%%")
        code, reading = code + plain, reading + plain.lower()
        accepts += re.escape(plain.replace("%%", "%").lower())
    return DatetimePattern(code, reading, accepts)


def _unreadable(what: str, why: str) -> CapabilityError:
    return CapabilityError(f"cannot read `{what}` without Spark: {why}")


def _refused(pattern: str, what: str) -> CapabilityError:
    return CapabilityError(f"cannot use `{what}` in the datetime pattern `{pattern}` without Spark")
