"""JSON text of a given shape, with a text in the place of every value: what is left is to cast these."""

from __future__ import annotations

import json
from functools import lru_cache

from sqlglot import exp

from lakelogic.engine.local.json_lines import Members, as_text, parse
from lakelogic.plan.nested import fields

_TYPE = exp.DataType.Type


class _MisfitError(ValueError):
    """A value of another shape."""


def json_parts(text: str, type_: str) -> str | None:
    """The text as JSON of exactly this shape; None where it is no JSON, null, or of another shape."""
    value = parse(text)
    if value is None:
        return None
    try:
        return json.dumps(_fitted(value, shape(type_)), ensure_ascii=False)
    except _MisfitError:
        return None


@lru_cache(maxsize=256)
def shape(type_: str) -> exp.DataType:
    return exp.DataType.build(type_, dialect="databricks")


def _fitted(value: object, wanted: exp.DataType) -> object:
    if value is None:
        return None
    match wanted.this:
        case _TYPE.ARRAY | _TYPE.LIST:
            if not isinstance(value, list) or isinstance(value, Members):
                raise _MisfitError
            return [_fitted(item, wanted.expressions[0]) for item in value]
        case _TYPE.STRUCT:
            there = _members(value)
            return {name: _fitted(there.get(name), type_) for name, type_ in fields(wanted).items()}
        case _TYPE.MAP:
            there = _members(value)
            if len(there) != len(value):  # type: ignore[arg-type]
                raise _MisfitError  # a key that comes twice
            return {key: _fitted(member, wanted.expressions[1]) for key, member in there.items()}
        case _:
            return as_text(value)


def _members(value: object) -> dict[str, object]:
    """The members of an object; of a name that comes twice, the last, as on Spark."""
    if not isinstance(value, Members):
        raise _MisfitError
    return dict(value)
