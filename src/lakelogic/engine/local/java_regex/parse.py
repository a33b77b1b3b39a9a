"""Reads Java's regular expressions; what it does not know well enough is refused by name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.local.java_regex.classes import ClassReader, read_code, read_property, unquoted
from lakelogic.engine.local.java_regex.nodes import (
    Again,
    At,
    Atomic,
    Chars,
    Choice,
    Group,
    Look,
    Mode,
    Node,
    Pattern,
    Repeat,
    Sequence,
)
from lakelogic.engine.local.java_regex.sets import (
    EVERYTHING,
    LINE_ENDS,
    SHORT,
    Ranges,
    complement,
    either_case,
    one,
)

_BOUNDS = re.compile(r"\{(\d+)(,?)(\d*)\}")
_FLAGS = re.compile(r"\(\?([ims]*)(-[ims]+)?([:)])")
_NAME = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_LOOKS = {"(?=": (True, False), "(?!": (True, True), "(?<=": (False, False), "(?<!": (False, True)}
_MAX_REPEAT = 2147483647


def refused(pattern: str, what: str) -> CapabilityError:
    return CapabilityError(
        f"cannot match `{pattern}` without Spark: the regular expressions of other engines have no {what}",
        hint="write the pattern without it, or use engine: spark",
    )


def parse(pattern: str) -> Pattern:
    """Read one pattern."""
    reader = _Reader(pattern, unquoted(pattern))
    root = reader.choice(_Flags())
    if reader.at < len(reader.text):
        raise reader.wrong("an unmatched `)`")
    return Pattern(pattern, root, reader.groups, reader.names)


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    dot_all: bool = False
    lines: bool = False


@dataclass(slots=True)
class _Reader:
    written: str
    text: str
    at: int = 0
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)

    def wrong(self, what: str) -> CapabilityError:
        return refused(self.written, what)

    def peek(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def choice(self, flags: _Flags) -> Node:
        """Alternatives up to the end or a closing parenthesis; flags set inside hold until there."""
        parts: list[Node] = []
        while True:
            part, flags = self._sequence(flags)
            parts.append(part)
            if self.peek() != "|":
                return parts[0] if len(parts) == 1 else Choice(tuple(parts))
            self.at += 1

    def _sequence(self, flags: _Flags) -> tuple[Node, _Flags]:
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            found = _FLAGS.match(self.text, self.at)
            if found and found[3] == ")":
                self.at = found.end()
                flags = _changed(flags, found)
                continue
            parts.append(self._repeated(self._atom(flags)))
        return (parts[0] if len(parts) == 1 else Sequence(tuple(parts))), flags

    def _repeated(self, part: Node) -> Node:
        sign = self.peek()
        if sign not in ("*", "+", "?", "{") or not sign:
            return part
        if isinstance(part, (At, Look)):
            raise self.wrong(f"`{sign}` after a place")
        least, most = self._bounds(sign)
        mode: Mode = "greedy"
        if self.peek() in ("?", "+") and self.peek():
            mode = "lazy" if self.peek() == "?" else "possessive"
            self.at += 1
        if self.peek() in ("*", "+", "?", "{") and self.peek():
            raise self.wrong(f"`{self.peek()}` after a repetition")
        return Repeat(part, least, most, mode)

    def _bounds(self, sign: str) -> tuple[int, int | None]:
        if sign != "{":
            self.at += 1
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        found = _BOUNDS.match(self.text, self.at)
        if not found:
            raise self.wrong("`{` without a number")
        self.at = found.end()
        least = int(found[1])
        most = least if not found[2] else (int(found[3]) if found[3] else None)
        if max(least, most or 0) > _MAX_REPEAT or (most is not None and most < least):
            raise self.wrong(f"`{found[0]}`")
        return least, most

    def _atom(self, flags: _Flags) -> Node:
        char = self.peek()
        match char:
            case "(":
                return self._group(flags)
            case "[":
                reader = ClassReader(self.text, self.at, self.wrong, ignore_case=flags.ignore_case)
                found = reader.read()
                self.at = reader.at
                return Chars(found)
            case "\\":
                return self._escape(flags)
            case "*" | "+" | "?" | "{":
                raise self.wrong(f"`{char}` with nothing before it")
        self.at += 1
        match char:
            case ".":
                return Chars(EVERYTHING if flags.dot_all else complement(LINE_ENDS), dot=True)
            case "^":
                return At("line_begin" if flags.lines else "begin")
            case "$":
                return At("line_end" if flags.lines else "last_end")
        return self._char(one(ord(char)), flags)

    def _char(self, ranges: Ranges, flags: _Flags) -> Chars:
        return Chars(either_case(ranges) if flags.ignore_case else ranges)

    def _group(self, flags: _Flags) -> Node:
        if not self.text.startswith("(?", self.at):
            self.at += 1
            return self._kept(flags)
        name, changed = _NAME.match(self.text, self.at), _FLAGS.match(self.text, self.at)
        if name:
            if name[1] in self.names:
                raise self.wrong(f"second group `{name[1]}`")
            self.names[name[1]] = self.groups + 1
            self.at = name.end()
            return self._kept(flags)
        if changed:
            self.at = changed.end()
            return self._closed(_changed(flags, changed))
        for sign, (ahead, negative) in _LOOKS.items():
            if self.text.startswith(sign, self.at):
                self.at += len(sign)
                return Look(self._closed(flags), ahead, negative)
        if self.text.startswith("(?>", self.at):
            self.at += 3
            return Atomic(self._closed(flags))
        raise self.wrong(f"`{self.peek(4)}`")

    def _kept(self, flags: _Flags) -> Group:
        self.groups += 1
        number = self.groups
        part = self._closed(flags)
        self.closed.add(number)
        return Group(part, number)

    def _closed(self, flags: _Flags) -> Node:
        part = self.choice(flags)
        if self.peek() != ")":
            raise self.wrong("`(` that is never closed")
        self.at += 1
        return part

    def _escape(self, flags: _Flags) -> Node:
        letter = self.text[self.at + 1 : self.at + 2]
        places = {"A": At("begin"), "z": At("end"), "Z": At("last_end"), "b": At("word"), "B": At("inside")}
        if letter in places and self.peek(3) != "\\b{":
            self.at += 2
            return places[letter]
        if letter == "R":
            self.at += 2
            return Choice((Sequence((Chars(one(13)), Chars(one(10)))), Chars(SHORT["v"])))
        if letter in "123456789" and letter:
            return self._again(flags)
        if letter == "k":
            return self._again_by_name(flags)
        if letter in SHORT:
            self.at += 2
            return Chars(SHORT[letter])
        found = read_property(self.text, self.at, self.wrong, ignore_case=flags.ignore_case)
        if found:
            self.at = found[0]
            return Chars(found[1])
        self.at, ranges = read_code(self.text, self.at, self.wrong)
        return self._char(ranges, flags)

    def _again(self, flags: _Flags) -> Again:
        number, size = int(self.text[self.at + 1]), 2
        # Java takes a further digit only where that many groups were opened before.
        while (
            self.text[self.at + size : self.at + size + 1].isascii()
            and self.text[self.at + size : self.at + size + 1].isdigit()
        ):
            longer = number * 10 + int(self.text[self.at + size])
            if longer > self.groups:
                break
            number, size = longer, size + 1
        return self._to_group(number, size, flags)

    def _again_by_name(self, flags: _Flags) -> Again:
        found = re.compile(r"\\k<([A-Za-z][A-Za-z0-9]*)>").match(self.text, self.at)
        if not found or found[1] not in self.names:
            raise self.wrong("such a group for `\\k`")
        return self._to_group(self.names[found[1]], len(found[0]), flags)

    def _to_group(self, number: int, size: int, flags: _Flags) -> Again:
        if number not in self.closed or flags.ignore_case:
            raise self.wrong(f"`\\{number}` " + ("under (?i)" if flags.ignore_case else "before its group"))
        self.at += size
        return Again(number)


def _changed(flags: _Flags, found: re.Match[str]) -> _Flags:
    names = {"i": "ignore_case", "m": "lines", "s": "dot_all"}
    on = {names[letter]: True for letter in found[1]}
    off = {names[letter]: False for letter in (found[2] or "-")[1:]}
    return replace(flags, **{**on, **off})
