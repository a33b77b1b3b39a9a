"""Patterns in the words of engines with automata: RE2's and Rust's, which read the same ones."""

from __future__ import annotations

from lakelogic.engine.local.java_regex.nodes import At, Chars, Choice, Group, Node, Repeat, Sequence
from lakelogic.engine.local.java_regex.sets import SURROGATES, Ranges, complement, without

_LAST_END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"
_PLACES = {"begin": r"\A", "end": r"\z", "last_end": r"\z", "word": r"\b", "inside": r"\B"}


def to_words(node: Node, *, plain: bool) -> str:
    """`plain`: for texts of printable ASCII, in which there is no line end."""
    match node:
        case Chars(ranges=ranges):
            return _chars(ranges)
        case Sequence(parts):
            return "".join(_inside(part, plain) for part in parts)
        case Choice(parts):
            return "|".join(to_words(part, plain=plain) for part in parts)
        case Repeat():
            part = _inside(node.part, plain)
            single = isinstance(node.part, (Chars, Group))
            return (part if single else f"(?:{part})") + bounds(node) + ("?" if node.mode == "lazy" else "")
        case Group():
            return f"({to_words(node.part, plain=plain)})"
        case At():
            return _LAST_END if node.place == "last_end" and not plain else _PLACES[node.place]
        case _:
            raise AssertionError("judged to need rows")


def _inside(node: Node, plain: bool) -> str:
    written = to_words(node, plain=plain)
    return f"(?:{written})" if isinstance(node, Choice) else written


def bounds(node: Repeat) -> str:
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    most = "" if node.most is None else node.most
    return signs.get(
        (node.least, node.most), f"{{{node.least}}}" if node.least == node.most else f"{{{node.least},{most}}}"
    )


def _chars(ranges: Ranges) -> str:
    ranges = without(ranges, SURROGATES)
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _char(ranges[0][0])
    other = complement(ranges)
    if len(other) < len(ranges) or not ranges:
        # Surrogates are in no text, so that it does not matter on which side they are.
        other = without(other, SURROGATES)
        return f"[^{_ranges(other)}]" if other else r"[\x{0}-\x{10FFFF}]"
    return f"[{_ranges(ranges)}]"


def _ranges(ranges: Ranges) -> str:
    return "".join(_char(a) if a == b else f"{_char(a)}-{_char(b)}" for a, b in ranges)


def _char(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\x{{{code:X}}}"
