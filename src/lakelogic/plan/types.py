"""The types that a contract may name, and how they compare."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from sqlglot import exp
from sqlglot.errors import SqlglotError

Family = Literal["text", "number", "boolean", "date", "timestamp", "binary", "complex", "unknown"]

TYPE_NAMES = (
    "string", "int", "long", "float", "double", "decimal(p,s)", "boolean", "date", "timestamp", "timestamp_ntz",
    "binary", "array<..>", "map<..>", "struct<..>", "json",
)  # fmt: skip
_ALIASES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint", "bool": "boolean",
            "str": "string", "datetime": "timestamp", "text": "string", "number": "double",
            "decimal": "decimal(38,18)"}  # fmt: skip
_ALLOWED = {
    exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR,
    exp.DataType.Type.TINYINT, exp.DataType.Type.SMALLINT, exp.DataType.Type.INT, exp.DataType.Type.BIGINT,
    exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE, exp.DataType.Type.DECIMAL, exp.DataType.Type.BOOLEAN,
    exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ,
    exp.DataType.Type.TIMESTAMPLTZ, exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY, exp.DataType.Type.ARRAY,
    exp.DataType.Type.MAP, exp.DataType.Type.STRUCT, exp.DataType.Type.JSON,
}  # fmt: skip
# A word before a colon is a field's name, which stays as it is written, and so does a decimal with its size.
_WORD = re.compile(r"\b\w+\b(?!\s*[:(])")
_NAME = re.compile(r"\b\w+\b(?!`?:)")
_WORDS = {"bigint": "long", "smallint": "short", "tinyint": "byte"}
_TEXT = exp.DataType.TEXT_TYPES | {exp.DataType.Type.JSON}
_TIMESTAMPS = {
    exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPNTZ,
    exp.DataType.Type.TIMESTAMPLTZ, exp.DataType.Type.DATETIME,
}  # fmt: skip
_COMPLEX = {exp.DataType.Type.ARRAY, exp.DataType.Type.MAP, exp.DataType.Type.STRUCT, exp.DataType.Type.LIST}
_UNKNOWN = {exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL}
_WHOLE = {
    exp.DataType.Type.TINYINT: 1,
    exp.DataType.Type.SMALLINT: 2,
    exp.DataType.Type.INT: 4,
    exp.DataType.Type.BIGINT: 8,
}
_FLOATING = {exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE}


@lru_cache(maxsize=512)
def _built(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="databricks")


def named(name: str) -> exp.DataType:
    """A type by its Spark name; parsed once, because a plan names the same few types thousands of times."""
    return _built(name).copy()


@lru_cache(maxsize=2048)
def _type_sql(type_: exp.DataType) -> str:
    return type_.sql("databricks")


def parse_type(text: str) -> exp.DataType | None:
    """Read a contract type such as `decimal(12,2)`; None when it is not one of ours."""
    found = _parsed(text.strip())
    return found.copy() if found is not None else None


@lru_cache(maxsize=512)
def _parsed(name: str) -> exp.DataType | None:
    try:
        parsed = named(_WORD.sub(_spelled, name))
    except SqlglotError:
        return None
    kinds = [node.this for node in parsed.find_all(exp.DataType)]
    known = set(kinds) <= _ALLOWED and exp.DataType.Type.JSON not in kinds[1:]
    return parsed if known else None


def _spelled(word: re.Match[str]) -> str:
    """Spark's spelling for ours, inside nested types too."""
    name = word[0].lower()
    return _ALIASES.get(name, word[0])


def type_name(type_: exp.DataType) -> str:
    """The word a contract author would use for a type."""
    text = type_.sql("databricks").replace(", ", ",").replace(": ", ":")
    return _NAME.sub(lambda word: _WORDS.get(word[0].lower(), word[0].lower()), text)


def string_type() -> exp.DataType:
    return named("string")


def family(type_: exp.DataType | None) -> Family:
    """The kind of values a type holds; types of one family compare with each other."""
    if type_ is None or type_.this in _UNKNOWN:
        return "unknown"
    if type_.this in _TEXT:
        return "text"
    if type_.this in exp.DataType.NUMERIC_TYPES:
        return "number"
    if type_.this == exp.DataType.Type.BOOLEAN:
        return "boolean"
    if type_.this == exp.DataType.Type.DATE:
        return "date"
    if type_.this in _TIMESTAMPS:
        return "timestamp"
    if type_.this in _COMPLEX:
        return "complex"
    if type_.this in {exp.DataType.Type.BINARY, exp.DataType.Type.VARBINARY}:
        return "binary"
    return "unknown"


def is_whole(type_: exp.DataType | None) -> bool:
    return type_ is not None and type_.this in _WHOLE


def is_floating(type_: exp.DataType | None) -> bool:
    return type_ is not None and type_.this in _FLOATING


def is_decimal(type_: exp.DataType | None) -> bool:
    return type_ is not None and type_.this == exp.DataType.Type.DECIMAL


def same_type(left: exp.DataType, right: exp.DataType) -> bool:
    return left == right


def widens(source: exp.DataType, target: exp.DataType) -> bool:
    """True when every value of `source` is a value of `target`, so that a cast cannot fail."""
    if same_type(source, target):
        return True
    if family(target) == "text" and target.this in {exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR}:
        return family(source) not in {"complex", "binary", "unknown"} and not target.expressions
    if is_whole(source) and is_whole(target):
        return _WHOLE[source.this] <= _WHOLE[target.this]
    if source.this == exp.DataType.Type.FLOAT and target.this == exp.DataType.Type.DOUBLE:
        return True
    return is_whole(source) and source.this != exp.DataType.Type.BIGINT and target.this == exp.DataType.Type.DOUBLE
