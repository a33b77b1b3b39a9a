"""JSON in and out: the digits and the order that Spark writes."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
from sqlglot import exp

from lakelogic.engine.local.json_lines import Members, dump, escape_pairs, parse
from lakelogic.engine.local.json_parts import json_parts, shape
from lakelogic.engine.local.numbers import java_number
from lakelogic.engine.local.variants import variant_get
from lakelogic.engine.polars.texts import constant_text, text_of
from lakelogic.engine.polars.types import of_plan
from lakelogic.engine.polars.values import Compile, Handler, Value, call, refused
from lakelogic.plan.nested import PARTS

_EXACT = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.String, pl.Boolean, pl.Date)


def _get(node: exp.Expr, value_of: Compile) -> Value:
    path = node.expression
    if not isinstance(path, exp.JSONPath):
        raise refused(node)
    steps = [_step(part, node) for part in path.expressions if not isinstance(part, exp.JSONPathRoot)]
    return call(lambda text: _found(text, steps), [text_of(node.this, value_of)], pl.String(), value_of.guard)


def _step(part: exp.Expr, node: exp.Expr) -> str | int:
    if isinstance(part, exp.JSONPathKey) and isinstance(part.this, str):
        return part.this
    if isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int) and part.this >= 0:
        return part.this
    raise refused(node)


def _found(text: str, steps: list[str | int]) -> str | None:
    value = parse(text)
    for step in steps:
        value = _inside(value, step)
        if value is None:
            return None
    if isinstance(value, str) and not _is_number(value):
        return str(value)
    return None if value is None else escape_pairs(dump(_normal(value)))


def _inside(value: object, step: str | int) -> object:
    if isinstance(step, str):
        return next((member for key, member in value if key == step), None) if isinstance(value, Members) else None
    plain = isinstance(value, list) and not isinstance(value, Members)
    return value[step] if plain and step < len(value) else None  # type: ignore[index, arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, str) and type(value) is not str  # the digits as they were written


def _normal(value: object) -> object:
    """Spark reads a number with a point or an exponent as a double, and writes it as one."""
    match value:
        case Members():
            return Members((key, _normal(member)) for key, member in value)
        case list():
            return [_normal(item) for item in value]
        case _ if _is_number(value) and any(sign in str(value) for sign in ".eE"):
            return type(value)(java_number(repr(float(str(value)))))  # type: ignore[call-arg]
        case _:
            return value


def _to_json(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node.this)
    if not value.type.is_nested() or not _is_exact(value.type):
        raise refused(f"to_json() of {value.type}")
    return call(lambda found: dump(_plain(found)), [value], pl.String(), value_of.guard)


def _is_exact(type_: Any) -> bool:
    match type_:
        case pl.List():
            return _is_exact(type_.inner)
        case pl.Struct():
            return all(_is_exact(field.dtype) for field in type_.fields)
        case _:
            return isinstance(type_, _EXACT)


def _plain(value: object) -> object:
    """A member of a struct that is NULL is left out; an item of an array is not."""
    match value:
        case dict():
            return Members((key, _plain(member)) for key, member in value.items() if member is not None)
        case list():
            return [_plain(item) for item in value]
        case date():
            return value.isoformat()
        case _:
            return value


def _parsed(text: str) -> str | None:
    return text if text.strip(" \t\r\n") == "null" or parse(text) is not None else None


def _try_parse(node: exp.Expr, value_of: Compile) -> Value:
    return call(_parsed, [text_of(node.expressions[0], value_of)], pl.String(), value_of.guard)


def _json_parts(node: exp.Expr, value_of: Compile) -> Value:
    raw, written = node.expressions
    type_ = constant_text(written, node)
    gives = of_plan(shape(type_))
    made = call(lambda text: json_parts(text, type_), [text_of(raw, value_of)], pl.String(), value_of.guard)
    return Value(made.expr.str.json_decode(gives), gives)


def _variant(node: exp.Expr, value_of: Compile) -> Value:
    value, path, wanted = node.expressions
    steps = constant_text(path, node)
    if wanted.name.lower() != "string":
        raise refused(node)
    return call(lambda text: variant_get(text, steps), [text_of(value, value_of)], pl.String(), value_of.guard)


HANDLERS: dict[type[exp.Expr], Handler] = {exp.JSONExtractScalar: _get, exp.JSONFormat: _to_json}
NAMED: dict[str, Handler] = {"TRY_PARSE_JSON": _try_parse, PARTS: _json_parts, "TRY_VARIANT_GET": _variant}
