"""Sets of code points: what a class of Java's matches, whatever another engine thinks of its name."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from functools import cache

Ranges = tuple[tuple[int, int], ...]

LAST = sys.maxunicode
EVERYTHING: Ranges = ((0, LAST),)
LINE_ENDS: Ranges = ((0xA, 0xA), (0xD, 0xD), (0x85, 0x85), (0x2028, 0x2029))
SURROGATES: Ranges = ((0xD800, 0xDFFF),)
SUPPLEMENTARY: Ranges = ((0x10000, LAST),)
ASCII: Ranges = ((0, 0x7F),)


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    out: list[tuple[int, int]] = []
    for first, last in sorted(each for ranges in sets for each in ranges):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return tuple(out)


def complement(ranges: Ranges) -> Ranges:
    out, at = [], 0
    for first, last in ranges:
        if first > at:
            out.append((at, first - 1))
        at = last + 1
    return (*out, (at, LAST)) if at <= LAST else tuple(out)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    return complement(union(complement(left), complement(right)))


def without(left: Ranges, right: Ranges) -> Ranges:
    return intersection(left, complement(right))


def one(char: int) -> Ranges:
    return ((char, char),)


def chars(text: str) -> Ranges:
    return union(*[one(ord(char)) for char in text])


def either_case(ranges: Ranges) -> Ranges:
    """With the other case of ASCII letters, which is all that `(?i)` means in Java."""
    upper, lower = intersection(ranges, ((65, 90),)), intersection(ranges, ((97, 122),))
    swapped = [(a + 32, b + 32) for a, b in upper] + [(a - 32, b - 32) for a, b in lower]
    return union(ranges, swapped)


_DIGIT: Ranges = ((48, 57),)
_UPPER: Ranges = ((65, 90),)
_LOWER: Ranges = ((97, 122),)
_ALPHA = union(_UPPER, _LOWER)
_ALNUM = union(_ALPHA, _DIGIT)
_GRAPH: Ranges = ((33, 126),)
_SPACE: Ranges = ((9, 13), (32, 32))
WORD = union(_ALNUM, chars("_"))
_HORIZONTAL = (*chars(" \t\xa0\u1680\u180e\u202f\u205f\u3000"), (0x2000, 0x200A))
_VERTICAL: Ranges = ((0xA, 0xD), (0x85, 0x85), (0x2028, 0x2029))
# `\d` and its like speak of ASCII, `\D` of everything else.
SHORT: dict[str, Ranges] = {
    "d": _DIGIT, "w": WORD, "s": _SPACE, "h": union(_HORIZONTAL), "v": _VERTICAL,
}  # fmt: skip
SHORT |= {name.upper(): complement(ranges) for name, ranges in SHORT.items()}
_POSIX: dict[str, Ranges] = {
    "Lower": _LOWER, "Upper": _UPPER, "ASCII": ASCII, "Alpha": _ALPHA, "Digit": _DIGIT, "Alnum": _ALNUM,
    "Punct": without(_GRAPH, _ALNUM), "Graph": _GRAPH, "Print": ((32, 126),), "Blank": chars(" \t"),
    "Cntrl": ((0, 31), (127, 127)), "XDigit": union(_DIGIT, chars("abcdefABCDEF")), "Space": _SPACE,
}  # fmt: skip
_PARTS = {"C": "cfnos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES = frozenset(major + minor for major, minors in _PARTS.items() for minor in ("", *minors))


_ALIASES = {"IsPunctuation": "P", "IsDigit": "Nd"}
_CASED = ("Lu", "Ll", "Lt")


def named(name: str, *, ignore_case: bool = False) -> Ranges | None:
    """The class `\\p{name}`; None for names whose characters Python does not know, such as scripts and blocks."""
    if name in _POSIX:
        return either_case(_POSIX[name]) if ignore_case else _POSIX[name]
    plain = _ALIASES.get(name) or name.removeprefix("Is").removeprefix("gc=").removeprefix("general_category=")
    if plain == "LC" or (ignore_case and plain in _CASED):
        return union(*map(_category, _CASED))
    return _category(plain) if plain in _CATEGORIES else None


@cache
def _category(name: str) -> Ranges:
    return union(*[ranges for known, ranges in _categories().items() if known.startswith(name)])


@cache
def _categories() -> dict[str, Ranges]:
    found: dict[str, list[tuple[int, int]]] = {}
    start, before = 0, unicodedata.category("\0")
    for code in range(1, LAST + 2):
        kind = unicodedata.category(chr(code)) if code <= LAST else ""
        if kind != before:
            found.setdefault(before, []).append((start, code - 1))
            start, before = code, kind
    return {kind: tuple(ranges) for kind, ranges in found.items()}
