"""What stands for a match: Java's `$1`, `${name}` and `\\$`."""

from __future__ import annotations

import re
from functools import lru_cache

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.local.java_regex.nodes import Pattern
from lakelogic.engine.local.java_regex.parse import parse

_NAME = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")


def parse_replacement(text: str, pattern: Pattern) -> tuple[str | int, ...]:
    """Texts and numbers of groups."""
    return _parts(text, pattern.written)


@lru_cache(maxsize=256)
def _parts(text: str, written: str) -> tuple[str | int, ...]:
    pattern = parse(written)
    out: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] == "$":
            number, at = _group(text, at + 1, pattern)
            out.append(number)
            continue
        at += text[at] == "\\"
        if at == len(text):
            raise _wrong(text, "ends with `\\`")
        out.append(text[at])
        at += 1
    return tuple(out)


def _group(text: str, at: int, pattern: Pattern) -> tuple[int, int]:
    named = _NAME.match(text, at)
    if named:
        if named[1] not in pattern.names:
            raise _wrong(text, f"speaks of a group `{named[1]}` that `{pattern.written}` has not")
        return pattern.names[named[1]], named.end()
    if not _is_digit(text[at : at + 1]):
        raise _wrong(text, "has a `$` that no group follows; a dollar itself is `\\$`")
    number, at = int(text[at]), at + 1
    if number > pattern.groups:
        raise _wrong(text, f"speaks of a group {number} that `{pattern.written}` has not")
    # A further digit belongs to the number as long as there are so many groups.
    while _is_digit(text[at : at + 1]) and number * 10 + int(text[at]) <= pattern.groups:
        number, at = number * 10 + int(text[at]), at + 1
    return number, at


def _is_digit(char: str) -> bool:
    return char.isascii() and char.isdigit()


def _wrong(text: str, what: str) -> CapabilityError:
    return CapabilityError(
        f"the replacement `{text}` {what}; Spark fails at the first row that matches",
        hint="write $1 for the first group, $0 for the whole match",
    )
