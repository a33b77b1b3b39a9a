"""Patterns in the words of Python's `re`, for texts as Java sees them: in units of 16 bits."""

from __future__ import annotations

import re
from functools import cache

from lakelogic.engine.local.java_regex.judge import walk
from lakelogic.engine.local.java_regex.nodes import (
    Again,
    At,
    Atomic,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    Pattern,
    Repeat,
    Sequence,
)
from lakelogic.engine.local.java_regex.sets import (
    SUPPLEMENTARY,
    SURROGATES,
    Ranges,
    complement,
    intersection,
    named,
    union,
    without,
)
from lakelogic.engine.local.java_regex.words import bounds

_HIGH, _LOW = r"[\uD800-\uDBFF]", r"[\uDC00-\uDFFF]"
_LINE_END = r"[\n\r\x85\u2028\u2029]"
_LAST_END = rf"(?:\Z|(?=\r\n\Z)|(?!(?<=\r)\n)(?={_LINE_END}\Z))"
_LINE_BEGIN = rf"(?:\A|(?<={_LINE_END})(?!(?<=\r)\n))(?!\Z)"
_LINE_STOP = rf"(?:\Z|(?!(?<=\r)\n)(?={_LINE_END}))"
_MARKS = 6  # of one letter that are looked at to tell whether it is in a word


def to_python(pattern: Pattern) -> re.Pattern[str]:
    """For texts without characters beyond U+FFFF."""
    return re.compile(_write(pattern.root, False))


def to_python_units(pattern: Pattern) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """For texts in which a character beyond U+FFFF stands as its two surrogates: to try at a place, and to search with.

    A search starts between the two only where no class of the pattern has such a character; a dot does not count.
    """
    written = _write(pattern.root, True)
    classes = [node.ranges for node in walk(pattern.root) if isinstance(node, Chars) and not node.dot]
    beyond = any(intersection(ranges, SUPPLEMENTARY) for ranges in classes)
    return re.compile(written), re.compile(rf"(?!(?<={_HIGH}){_LOW})(?:{written})" if beyond else written)


def _write(node: Node, units: bool) -> str:
    match node:
        case Chars(ranges=ranges):
            return _units(ranges) if units else _class(without(ranges, union(SURROGATES, SUPPLEMENTARY)))
        case Sequence(parts):
            return "".join(_inside(part, units) for part in parts)
        case Choice(parts):
            return "|".join(_write(part, units) for part in parts)
        case Repeat():
            mode = {"greedy": "", "lazy": "?", "possessive": "+"}[node.mode]
            return f"(?:{_write(node.part, units)}){bounds(node)}{mode}"
        case Group():
            return f"({_write(node.part, units)})"
        case Look():
            sign = ("" if node.ahead else "<") + ("!" if node.negative else "=")
            return f"(?{sign}{_write(node.part, units)})"
        case Atomic():
            return f"(?>{_write(node.part, units)})"
        case Again():
            return f"(?:\\{node.number})"
        case At():
            return _place(node, units)


def _inside(node: Node, units: bool) -> str:
    written = _write(node, units)
    return f"(?:{written})" if isinstance(node, Choice) else written


def _place(node: At, units: bool) -> str:
    match node.place:
        case "begin":
            return r"\A"
        case "end":
            return r"\Z"
        case "last_end":
            return _LAST_END
        case "line_begin":
            return _LINE_BEGIN
        case "line_end":
            return _LINE_STOP
        case "word":
            return _word_bounds(units)[0]
        case "inside":
            return _word_bounds(units)[1]


def _units(ranges: Ranges) -> str:
    single = union(without(ranges, union(SUPPLEMENTARY, ((0xD800, 0xDBFF),))))
    ways = [_class(single)] if single else []
    ways += [f"{_class(high)}{_class(low)}" for high, low in _pairs(intersection(ranges, SUPPLEMENTARY))]
    alone = intersection(ranges, ((0xD800, 0xDBFF),))
    ways += [f"{_class(alone)}(?!{_LOW})"] if alone else []
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})" if ways else "(?!)"


def _pairs(ranges: Ranges) -> list[tuple[Ranges, Ranges]]:
    """High and low surrogates of characters; those with the same low ones come together."""
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for first, last in ranges:
        for start, end, low in _steps(first - 0x10000, last - 0x10000):
            rows.setdefault(low, []).append((0xD800 + start, 0xD800 + end))
    return [(union(highs), ((0xDC00 + low[0], 0xDC00 + low[1]),)) for low, highs in rows.items()]


def _steps(first: int, last: int) -> list[tuple[int, int, tuple[int, int]]]:
    (top, low), (end, high) = divmod(first, 1024), divmod(last, 1024)
    if top == end:
        return [(top, top, (low, high))]
    head = [] if low == 0 else [(top, top, (low, 1023))]
    tail = [] if high == 1023 else [(end, end, (0, high))]
    start, stop = top + len(head), end - len(tail)
    return [*head, *([(start, stop, (0, 1023))] if start <= stop else []), *tail]


def _class(ranges: Ranges) -> str:
    if not ranges:
        return "(?!)"
    other = complement(ranges)
    if len(other) < len(ranges):
        return f"[^{_ranges(other)}]" if other else r"[\s\S]"
    return f"[{_ranges(ranges)}]"


def _ranges(ranges: Ranges) -> str:
    return "".join(_char(a) if a == b else f"{_char(a)}-{_char(b)}" for a, b in ranges)


def _char(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@cache
def _word_bounds(units: bool) -> tuple[str, str]:
    """\\b and \\B of Java 17: letters and digits of all scripts, and marks that stand behind one."""
    letter, mark = union(named("L") or (), named("Nd") or ()), named("Mn") or ()
    base, word = (_one_wide(ranges) for ranges in (letter, union(letter, ((95, 95),))))
    over = _one_wide(mark)
    marked = [f"(?<={base}{over}{{{count}}})" for count in range(1, _MARKS)]
    left = [f"(?<={word})", *marked]
    right = [f"(?={word})", f"(?={over})(?:{'|'.join([f'(?<={base})', *marked])})"]
    if units:
        pairs = _pairs(intersection(letter, SUPPLEMENTARY))
        written = "|".join(f"{_class(high)}{_class(low)}" for high, low in pairs)
        left, right = [*left, f"(?<={written})"], [*right, f"(?={written})"]
    is_left, is_right = f"(?:{'|'.join(left)})", f"(?:{'|'.join(right)})"
    other_left, other_right = f"(?!{is_left})", f"(?!{is_right})"
    bound = f"(?:{is_left}{other_right}|{other_left}{is_right})"
    return bound, f"(?:{is_left}{is_right}|{other_left}{other_right})"


def _one_wide(ranges: Ranges) -> str:
    return _class(without(ranges, union(SURROGATES, SUPPLEMENTARY)))
