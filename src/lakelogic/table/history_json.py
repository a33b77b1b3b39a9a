"""Values of a key as the JSON text that Spark's `to_json` writes, in functions that every engine has.

A surrogate key is a hash of this text, so it must be the same to the last byte, whoever computes it. Types of which
that is not known are refused (plan/history_limits.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlglot import exp

from lakelogic.plan.types import family
from lakelogic.table.spark_staged import quoted

_Type = exp.DataType.Type
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def render_json(columns: Sequence[tuple[str, exp.DataType]]) -> str:
    """An object of these columns, which are never NULL, as SQL for its text."""
    parts = []
    for number, (name, type_) in enumerate(columns):
        head = ("," if number else "{") + json.dumps(name, ensure_ascii=False) + ":"
        parts += [_literal(head), _value(quoted(name), type_)]
    return f"concat({', '.join(parts)}, '}}')"


def _value(column: str, type_: exp.DataType) -> str:
    if family(type_) == "text":
        return f"concat('\"', {_escaped(column)}, '\"')"
    if type_.this == _Type.DATE:
        return f"concat('\"', CAST({column} AS STRING), '\"')"
    if type_.this == _Type.TIMESTAMPNTZ:
        day, time = (f"date_format({column}, '{form}')" for form in ("yyyy-MM-dd", "HH:mm:ss.SSSSSS"))
        return f"concat('\"', {day}, 'T', {time}, '\"')"
    if family(type_) == "timestamp":
        return f"CAST(unix_micros({column}) AS STRING)"
    return f"CAST({column} AS STRING)"


def _escaped(column: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', **{chr(n): f"\\u{n:04X}" for n in range(32)}, **_SHORT}
    for character, written in escapes.items():
        column = f"replace({column}, {_literal(character)}, {_literal(written)})"
    return column


def _literal(text: str) -> str:
    return exp.Literal.string(text).sql("databricks")
