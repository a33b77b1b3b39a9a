"""Java's regular expressions in the words of Rust's; what they cannot say is refused by name."""

from __future__ import annotations

import re

import polars as pl

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.local.regex import to_re2, to_re2_replacement

_TOKEN = re.compile(r"\\(?:[xpP]\{[^}]*\}|.)|\[\^?|\]|--|~~|&&", re.DOTALL)
# In Java these speak of ASCII only; in Rust of all letters and digits.
_OUTSIDE = {
    r"\d": "[0-9]", r"\D": "[^0-9]", r"\w": "[0-9A-Za-z_]", r"\W": "[^0-9A-Za-z_]", r"\b": r"(?-u:\b)",
}  # fmt: skip
_INSIDE = {r"\d": "0-9", r"\D": "[^0-9]", r"\w": "0-9A-Za-z_", r"\W": "[^0-9A-Za-z_]"}


def to_rust(pattern: str) -> str:
    """Translate one pattern, and have Rust read it before any row moves."""
    translated = _ascii_classes(to_re2(pattern), pattern)
    try:
        pl.Series([""]).str.contains(translated)
    except pl.exceptions.PolarsError as error:
        raise _refused(pattern, "such a construct") from error
    return translated


def _ascii_classes(pattern: str, written: str) -> str:
    out, at, in_class = [], 0, False
    for found in _TOKEN.finditer(pattern):
        out.append(pattern[at : found.start()])
        at = found.end()
        token = found[0]
        if token == r"\B":
            raise _refused(written, r"`\B` of ASCII words")
        if in_class and token in {"--", "~~", "&&"}:
            token = "".join(f"\\{sign}" for sign in token)
        elif token.startswith("[") and not in_class:
            in_class = True
        elif token == "]":
            in_class = False
        else:
            token = (_INSIDE if in_class else _OUTSIDE).get(token, token)
        out.append(token)
    return "".join([*out, pattern[at:]])


def to_rust_replacement(text: str) -> str:
    r"""RE2's `\1` is Rust's `${1}`, and a plain dollar is doubled."""
    plain = to_re2_replacement(text).replace("$", "$$")
    return re.sub(r"\\(.)", lambda found: f"${{{found[1]}}}" if found[1].isdigit() else found[1], plain)


def _refused(pattern: str, what: str) -> CapabilityError:
    return CapabilityError(
        f"the Polars engine cannot match `{pattern}`: its regular expressions have no {what}",
        hint="write the pattern without it, or use engine: spark",
    )
