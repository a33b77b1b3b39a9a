"""Java's regular expressions run row by row in Python, where an engine's own would differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from lakelogic.engine.local.java_regex.judge import find_unknown
from lakelogic.engine.local.java_regex.nodes import Pattern
from lakelogic.engine.local.java_regex.parse import parse, refused
from lakelogic.engine.local.java_regex.python_words import to_python, to_python_units
from lakelogic.engine.local.java_regex.replacement import parse_replacement

_BEYOND = re.compile("[\U00010000-\U0010ffff]")
_HALVES = re.compile("([\ud800-\udbff])([\udc00-\udfff])|[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A pattern that Python runs as Java would."""

    pattern: Pattern
    usual: re.Pattern[str]
    in_units: re.Pattern[str]
    in_units_here: re.Pattern[str]

    def over(self, text: str) -> tuple[re.Pattern[str], str]:
        """What to search with, and in what: texts with characters beyond U+FFFF become units as Java has them."""
        if text.isascii() or not _BEYOND.search(text):
            return self.usual, text
        return self.in_units, _BEYOND.sub(_halved, text)

    def matches(self, text: str) -> tuple[str, Iterator[re.Match[str]]]:
        """The text that was searched, and one match after the other."""
        search, searched = self.over(text)
        return searched, _matches(search, search if search is self.usual else self.in_units_here, searched)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Compiled:
    """Compile for both kinds of texts, so that what Python has not is refused before any row moves."""
    tree = parse(pattern)
    unknown = find_unknown(tree.root)
    if unknown:
        raise refused(pattern, unknown)
    try:
        here, in_units = to_python_units(tree)
        return Compiled(tree, to_python(tree), in_units, here)
    except (re.error, OverflowError, RecursionError) as error:
        raise refused(pattern, "such a construct") from error


def _halved(found: re.Match[str]) -> str:
    code = ord(found[0]) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))


def _whole(text: str) -> str:
    """Units as text; half a character that stands alone becomes `?`, as it does in Java."""
    return text if text.isascii() else _HALVES.sub(_joined, text)


def _joined(found: re.Match[str]) -> str:
    if found[1] is None:
        return "?"
    return chr(0x10000 + (ord(found[1]) - 0xD800) * 0x400 + ord(found[2]) - 0xDC00)


def _matches(search: re.Pattern[str], here: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Behind a match of nothing the next is looked for one unit further, be it the second half of a character."""
    at, inside = 0, False
    while at <= len(text):
        found = (here.match(text, at) if inside else None) or search.search(text, at)
        if found is None:
            return
        yield found
        inside = found.end() == found.start()
        at = found.end() + inside


def regex_test(text: str, pattern: str) -> bool:
    search, text = compiled(pattern).over(text)
    return search.search(text) is not None


def regex_extract(text: str, pattern: str, group: int) -> str:
    search, text = compiled(pattern).over(text)
    found = search.search(text)
    return "" if found is None else _whole(found[group] or "")


def regex_extract_all(text: str, pattern: str, group: int) -> list[str]:
    return [_whole(found[group] or "") for found in compiled(pattern).matches(text)[1]]


def regex_count(text: str, pattern: str) -> int:
    return sum(1 for _ in compiled(pattern).matches(text)[1])


def regex_place(text: str, pattern: str) -> int:
    """Where the first match starts, in units from 1; 0: nowhere."""
    search, text = compiled(pattern).over(text)
    found = search.search(text)
    return 0 if found is None else found.start() + 1


def regex_replace(text: str, pattern: str, replacement: str) -> str:
    made = compiled(pattern)
    parts = parse_replacement(replacement, made.pattern)
    text, matches = made.matches(text)
    out, at = [], 0
    for found in matches:
        out.append(text[at : found.start()])
        out += [part if isinstance(part, str) else found[part] or "" for part in parts]
        at = found.end()
    return _whole("".join([*out, text[at:]]))


def regex_split(text: str, pattern: str, limit: int) -> list[str]:
    """As Java's `split`: nothing is cut off in front by a match of nothing."""
    text, matches = compiled(pattern).matches(text)
    out: list[str] = []
    at = 0
    for found in matches:
        if limit > 0 and len(out) == limit - 1:
            break
        if found.end() == 0:
            continue
        out.append(text[at : found.start()])
        at = found.end()
    return [_whole(part) for part in [*out, text[at:]]]


def regex_substring(text: str, pattern: str) -> str | None:
    search, text = compiled(pattern).over(text)
    found = search.search(text)
    return None if found is None else _whole(found[0])
