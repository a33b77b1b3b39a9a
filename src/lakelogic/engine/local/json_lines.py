"""JSON into fields of text: numbers keep the digits they were written with, nested values become one line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

NOT_JSON = "not valid JSON"
_BLANK = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
_CONTROL = re.compile(r"\\u00[01][0-9a-f]")
_SCALAR_NAMES = {"true", "false", "null"}


class Number(str):
    """A number in the characters it was written with."""


class Members(list[tuple[str, object]]):
    """The members of an object, all of them, in their order."""


def _refuse(name: str) -> object:
    raise ValueError(name)


_decoder = json.JSONDecoder(object_pairs_hook=Members, parse_float=Number, parse_int=Number, parse_constant=_refuse)


def split_object(text: str) -> dict[str, str | None] | None:
    """The members of an object as texts, or None where the text is not one JSON object."""
    try:
        value, end = _value(text, _skip(text, 0))
    except (ValueError, IndexError, RecursionError):
        return None
    if not isinstance(value, Members) or _skip(text, end) != len(text):
        return None
    return {key: as_text(member) for key, member in value}


def split_document(text: str) -> list[str] | None:
    """The records of a document: an array's elements, one object, or objects one after the other."""
    start = _skip(text, 0)
    if text.startswith("[", start):
        value = parse(text)
        return [as_text(item) or "null" for item in value] if isinstance(value, list) else None
    try:
        return [as_text(value) or "null" for value in _in_a_row(text)]
    except (ValueError, IndexError, RecursionError):
        return None


def object_keys(text: str) -> Iterator[str]:
    """The keys of all whole objects in a text that may be cut off; a broken line hides none after it."""
    at = text.find("{")
    while at >= 0:
        try:
            record, at = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("\n", at)
            if at < 0:
                return
        else:
            yield from (key for key, _ in record)
        at = text.find("{", at)


def _in_a_row(text: str) -> Iterator[object]:
    at = _skip(text, 0)
    while at < len(text):
        value, end = _value(text, at)
        yield value
        at = _skip(text, end)
        if at < len(text):
            at = _next_record(text, end, at)


def _next_record(text: str, end: int, at: int) -> int:
    """Records follow each other after a comma or on a new line."""
    if text[at] == ",":
        return _skip(text, at + 1)
    if text[at] == "{" and "\n" in text[end:at]:
        return at
    raise ValueError(at)


def parse(text: str) -> object:
    """The value of a JSON text; None where it is not JSON."""
    try:
        value, end = _value(text, _skip(text, 0))
    except (ValueError, IndexError, RecursionError):
        return None
    return value if _skip(text, end) == len(text) else None


def _value(text: str, at: int) -> tuple[object, int]:
    if text[at] in '{["':
        value, end = _decoder.raw_decode(text, at)
        return value, end
    scalar = _SCALAR.match(text, at)
    if scalar is None:
        raise ValueError(at)
    word = scalar[0]
    named = {"true": True, "false": False, "null": None}
    return (named[word] if word in _SCALAR_NAMES else Number(word)), scalar.end()


def as_text(value: object) -> str | None:
    """A value of a field as text: a text as it is, everything else as JSON; null is None."""
    if value is None:
        return None
    if isinstance(value, str) and not isinstance(value, Number):
        return value.encode("utf-8", "replace").decode()
    return escape_pairs(dump(value))


def escape_pairs(text: str) -> str:
    """The text of a nested value as Spark cuts it out of JSON: characters beyond 16 bits stand there as two escapes."""
    return text if text.isascii() else _BEYOND.sub(_as_pair, text)


def _as_pair(found: re.Match[str]) -> str:
    high, low = divmod(ord(found[0]) - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04X}\\u{0xDC00 + low:04X}"


def dump(value: object) -> str:
    """A value as one line, in the form that Spark writes."""
    match value:
        case Number():
            return "0" if value == "-0" else str(value)
        case str():
            quoted = json.dumps(value.encode("utf-8", "replace").decode(), ensure_ascii=False)
            return _CONTROL.sub(lambda found: "\\u" + found[0][2:].upper(), quoted)
        case Members():
            return "{" + ",".join(f"{dump(key)}:{dump(member)}" for key, member in value) + "}"
        case list():
            return "[" + ",".join(dump(item) for item in value) + "]"
        case _:
            return json.dumps(value)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
