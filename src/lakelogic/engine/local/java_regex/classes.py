"""Classes and escapes of Java's regular expressions, as sets of code points."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.local.java_regex.sets import (
    SHORT,
    Ranges,
    complement,
    either_case,
    intersection,
    named,
    one,
    union,
)

Wrong = Callable[[str], CapabilityError]
_PROPERTY = re.compile(r"\\([pP])(?:\{([^}]*)\}|(.))", re.DOTALL)
_CODE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|0([0-3][0-7]{2}|[0-7]{1,2}))")
_CONTROL = re.compile(r"\\c(.)", re.DOTALL)
_LETTERS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\(?!Q).", re.DOTALL)


def unquoted(pattern: str) -> str:
    """The pattern with what stands between `\\Q` and `\\E` escaped sign by sign."""
    return _QUOTED.sub(lambda found: found[0] if found[1] is None else _escaped(found[1]), pattern)


def _escaped(text: str) -> str:
    # A digit must not become part of what stands before it, such as `\1`.
    return "".join(f"\\x3{c}" if c in "0123456789" else c if c.isalnum() or not c.isascii() else f"\\{c}" for c in text)


def read_property(text: str, at: int, wrong: Wrong, *, ignore_case: bool) -> tuple[int, Ranges] | None:
    """`\\p{L}` and its like: where it ends, and its characters."""
    found = _PROPERTY.match(text, at)
    if not found:
        return None
    ranges = named(found[2] if found[2] is not None else found[3], ignore_case=ignore_case)
    if ranges is None:
        raise wrong(f"`{found[0]}`")
    return found.end(), complement(ranges) if found[1] == "P" else ranges


def read_code(text: str, at: int, wrong: Wrong) -> tuple[int, Ranges]:
    """An escape that stands for one character."""
    code, control = _CODE.match(text, at), _CONTROL.match(text, at)
    if code:
        value = int(code[4], 8) if code[4] else int(code[1] or code[2] or code[3], 16)
        end = code.end()
        low = _CODE.match(text, end) if code[1] and 0xD800 <= value < 0xDC00 else None
        if low and low[1] and 0xDC00 <= int(low[1], 16) < 0xE000:
            value, end = 0x10000 + (value - 0xD800) * 0x400 + int(low[1], 16) - 0xDC00, low.end()
        if value > 0x10FFFF or 0xD800 <= value < 0xE000:
            raise wrong(f"`{code[0]}`")
        return end, one(value)
    if control:
        return control.end(), one(ord(control[1]) ^ 64)
    letter = text[at + 1 : at + 2]
    if letter in _LETTERS:
        return at + 2, one(_LETTERS[letter])
    if not letter or (letter.isascii() and letter.isalnum()):
        raise wrong(f"`\\{letter}`")
    return at + 2, one(ord(letter))


@dataclass(slots=True)
class ClassReader:
    """Reads one class in brackets, with classes, ranges and intersections in it."""

    text: str
    at: int
    wrong: Wrong
    ignore_case: bool

    def read(self) -> Ranges:
        """From the opening bracket to behind the closing one."""
        self.at += 1
        negative = self.text.startswith("^", self.at)
        self.at += negative
        found: Ranges | None = None
        while True:
            part = self._items(first=found is None)
            found = part if found is None else intersection(found, part)
            if not self.text.startswith("&&", self.at):
                break
            self.at += 2
        self.at += 1
        return complement(found) if negative else found

    def _items(self, *, first: bool) -> Ranges:
        """Up to the closing bracket or `&&`; a bracket that comes first is a sign like others."""
        parts: list[Ranges] = []
        while True:
            if self.at >= len(self.text):
                raise self.wrong("`[` that is never closed")
            if self.text.startswith("&&", self.at):
                if not parts or self.text[self.at + 2 : self.at + 3] in ("&", "]", ""):
                    raise self.wrong("such a use of `&&`")
                return union(*parts)
            if self.text[self.at] == "]" and parts:
                return union(*parts)
            if self.text[self.at] == "]" and not first:
                raise self.wrong("such a use of `&&`")
            parts.append(self._item())

    def _item(self) -> Ranges:
        if self.text[self.at] == "[":
            return self.read()
        letter = self.text[self.at + 1 : self.at + 2] if self.text[self.at] == "\\" else ""
        if letter and letter in SHORT:
            self.at += 2
            return SHORT[letter]
        found = read_property(self.text, self.at, self.wrong, ignore_case=self.ignore_case)
        if found:
            self.at = found[0]
            return found[1]
        first = self._single()
        ahead = self.text[self.at : self.at + 2]
        if ahead[:1] != "-" or ahead in ("-]", "-["):
            return self._folded(one(first))
        self.at += 1
        last = self._single()
        if last < first:
            raise self.wrong("a range that ends before it starts")
        return self._folded(((first, last),))

    def _single(self) -> int:
        if self.at >= len(self.text):
            raise self.wrong("`[` that is never closed")
        if self.text[self.at] == "\\":
            self.at, ranges = read_code(self.text, self.at, self.wrong)
            return ranges[0][0]
        self.at += 1
        return ord(self.text[self.at - 1])

    def _folded(self, ranges: Ranges) -> Ranges:
        return either_case(ranges) if self.ignore_case else ranges
