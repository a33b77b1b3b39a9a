"""The types a field may have, checked and spelled one way."""

from __future__ import annotations

import re

from lakelogic.contract.mistakes import suggest

_SIMPLE = (
    "string", "int", "long", "float", "double", "boolean", "date", "timestamp", "timestamp_ntz", "binary",
    "json", "short", "byte",
)  # fmt: skip
_ALIASES = {"integer": "int", "bigint": "long", "bool": "boolean", "smallint": "short", "tinyint": "byte"}
_NAMES = (*_SIMPLE, "decimal(12,2)", "array<string>", "map<string,string>", "struct<name:string>")
_TOKEN = re.compile(r"\s*(decimal\s*\(\s*\d+\s*,\s*\d+\s*\)|[A-Za-z_]\w*|[<>:,])")


class FieldTypeError(ValueError):
    """A type that the grammar does not know."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def parse_field_type(text: str) -> str:
    """Check a type and return its one spelling: `Array< Integer >` becomes `array<int>`."""
    tokens = _tokens(text)
    spelled = _type(tokens)
    if tokens:
        raise FieldTypeError(f"`{text}` is not a type", f"leave out what follows `{spelled}`")
    return spelled


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if not match:
            raise FieldTypeError(f"`{text}` is not a type", suggest(text, _NAMES))
        tokens.append(match[1])
        at = match.end()
    return tokens


def _type(tokens: list[str]) -> str:
    if not tokens:
        raise FieldTypeError("a type is missing", suggest("", _NAMES))
    word = tokens.pop(0)
    lower = re.sub(r"\s", "", word.lower())
    match lower:
        case "array":
            inner = _bracketed(tokens, 1)
            return f"array<{inner[0]}>"
        case "map":
            key, value = _bracketed(tokens, 2)
            return f"map<{key},{value}>"
        case "struct":
            return _struct(tokens)
        case "decimal":
            raise FieldTypeError("`decimal` needs its digits", "write precision and scale: `decimal(12,2)`")
    if lower.startswith("decimal("):
        return _decimal(lower)
    lower = _ALIASES.get(lower, lower)
    if lower not in _SIMPLE:
        raise FieldTypeError(f"`{word}` is not a type", suggest(word, _NAMES))
    return lower


def _decimal(text: str) -> str:
    precision, scale = (int(part) for part in text[len("decimal(") : -1].split(","))
    if not 1 <= precision <= 38 or scale > precision:
        hint = "precision goes from 1 to 38, scale from 0 to precision"
        raise FieldTypeError(f"`{text}` is not a type", hint)
    return f"decimal({precision},{scale})"


def _bracketed(tokens: list[str], count: int) -> list[str]:
    parts = []
    for number in range(count):
        _expect(tokens, "<" if number == 0 else ",")
        parts.append(_type(tokens))
    _expect(tokens, ">")
    return parts


def _struct(tokens: list[str]) -> str:
    parts: list[str] = []
    opening = "<"
    while not parts or (tokens and tokens[0] == ","):
        _expect(tokens, opening)
        name = tokens.pop(0) if tokens else ""
        if not re.fullmatch(r"\w+", name):
            raise FieldTypeError("a struct's field needs a name", "write `struct<name:string,age:int>`")
        _expect(tokens, ":")
        parts.append(f"{name}:{_type(tokens)}")
        opening = ","
    _expect(tokens, ">")
    return f"struct<{','.join(parts)}>"


def _expect(tokens: list[str], wanted: str) -> None:
    if not tokens or tokens.pop(0) != wanted:
        hint = "write `array<string>`, `map<string,int>` or `struct<name:string,age:int>`"
        raise FieldTypeError(f"a `{wanted}` is missing in the type", hint)
