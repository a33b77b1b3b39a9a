"""Casts of arrays, maps and structs, part by part: one part that does not fit fails the value, and so its row.

Spark's own FROM_JSON and TRY_CAST put NULL in the place of such a part, and nobody would ever hear of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from sqlglot import exp

from lakelogic.plan.expressions import any_of, case, column, function, is_not_null, null_of, text
from lakelogic.plan.types import string_type

# An engine gives, for a text and a type: the text as a JSON value of that shape, NULL where it is none of it.
PARTS = "LAKELOGIC_JSON_PARTS"
# And for a value and a lambda: what the lambda makes of the value, which is computed once.
WITH = "LAKELOGIC_WITH"
_ARRAYS = {exp.DataType.Type.ARRAY, exp.DataType.Type.LIST}


class Leaf(Protocol):
    """How a part that has no parts becomes what it should be."""

    def value(self, found: exp.Expr, have: exp.DataType, wanted: exp.DataType) -> exp.Expr: ...

    def failed(self, found: exp.Expr, have: exp.DataType, wanted: exp.DataType) -> exp.Expr | None: ...


def from_text(raw: exp.Expr, wanted: exp.DataType, leaf: Leaf) -> exp.Expr:
    """A JSON text as a value of a nested type, NULL where any part of it does not fit."""
    texts = text_tree(wanted)
    parts = function(PARTS, raw, text(texts.sql("databricks")))
    name = _name(0)
    body = from_parts(column(name), texts, wanted, leaf, depth=1)
    # The parts get a name: written out in place, the text would be parsed for each of them.
    return function(WITH, parts, _lambda(name, body))


def over_one_item(node: exp.Expr) -> exp.Expr:
    """The same for engines that can name a value only as the item of an array."""
    value, made = node.expressions
    listed = exp.Transform(this=exp.Array(expressions=[value.copy()]), expression=made.copy())
    return function("GET", listed, exp.Literal.number(0))


def from_parts(value: exp.Expr, have: exp.DataType, wanted: exp.DataType, leaf: Leaf, depth: int = 0) -> exp.Expr:
    """A nested value as another type of the same shape, NULL where any part of it does not fit. Fields go by name."""
    failed = _failed(value, have, wanted, leaf, depth)
    typed = nested_value(value, have, wanted, leaf, depth)
    if failed is None:
        return typed
    fits = exp.Not(this=exp.Coalesce(this=failed, expressions=[exp.false()]))
    return case([(fits, typed)])


def goes_into(have: exp.DataType, wanted: exp.DataType) -> bool:
    """Whether two types have the same shape, so that a value can go over part by part."""
    if not is_nested(have) or not is_nested(wanted):
        return not is_nested(have) and not is_nested(wanted)
    if _kind(have) != _kind(wanted):
        return False
    if _kind(have) == "struct":
        there = fields(have)
        pairs = [(there[name], type_) for name, type_ in fields(wanted).items() if name in there]
        return bool(pairs) and all(goes_into(old, new) for old, new in pairs)
    return all(goes_into(old, new) for old, new in zip(have.expressions, wanted.expressions, strict=True))


def is_nested(type_: exp.DataType) -> bool:
    return type_.this in exp.DataType.NESTED_TYPES


def fields(type_: exp.DataType) -> dict[str, exp.DataType]:
    """The fields of a struct with their types."""
    return {definition.this.name: definition.args["kind"] for definition in type_.expressions}


def text_tree(type_: exp.DataType) -> exp.DataType:
    """The same shape with texts in it; keys of maps are texts in JSON."""
    if not is_nested(type_):
        return string_type()
    fresh = type_.copy()
    if _kind(type_) == "struct":
        for definition in fresh.expressions:
            definition.set("kind", text_tree(definition.args["kind"]))
    else:
        fresh.set("expressions", [text_tree(inner) for inner in fresh.expressions])
    return fresh


def nested_value(value: exp.Expr, have: exp.DataType, wanted: exp.DataType, leaf: Leaf, depth: int = 0) -> exp.Expr:
    """A nested value with every part as the other type has it; the shapes are the same."""
    if not is_nested(wanted):
        return leaf.value(value, have, wanted)
    match _kind(wanted):
        case "struct":
            made = [_field(value, have, field, type_, leaf, depth) for field, type_ in fields(wanted).items()]
            return case([(is_not_null(value.copy()), exp.Struct(expressions=made))])
        case "map":
            sides = [_each(items, have.expressions[n], wanted.expressions[n], leaf, depth)
                     for n, items in enumerate(_sides(value))]  # fmt: skip
            return case([(is_not_null(value.copy()), function("MAP_FROM_ARRAYS", *sides))])
        case _:
            return _each(value.copy(), have.expressions[0], wanted.expressions[0], leaf, depth)


def _field(
    value: exp.Expr, have: exp.DataType, name: str, wanted: exp.DataType, leaf: Leaf, depth: int
) -> exp.PropertyEQ:
    found = fields(have).get(name)
    part = null_of(wanted) if found is None else nested_value(_part(value, name), found, wanted, leaf, depth)
    return exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=part)


def _failed(value: exp.Expr, have: exp.DataType, wanted: exp.DataType, leaf: Leaf, depth: int) -> exp.Expr | None:
    """True where a part does not fit; unknown, too, means that all do."""
    if not is_nested(wanted):
        return leaf.failed(value.copy(), have, wanted)
    tests = list(_tests(value, have, wanted, leaf, depth))
    return any_of(tests) if tests else None


def _tests(value: exp.Expr, have: exp.DataType, wanted: exp.DataType, leaf: Leaf, depth: int) -> Iterator[exp.Expr]:
    if _kind(wanted) == "struct":
        there = fields(have)
        for field, type_ in fields(wanted).items():
            test = _failed(_part(value, field), there[field], type_, leaf, depth) if field in there else None
            if test is not None:
                yield test
        return
    lists = _sides(value) if _kind(wanted) == "map" else [value.copy()]
    name = _name(depth)
    for items, old, new in zip(lists, have.expressions, wanted.expressions, strict=True):
        test = _failed(column(name), old, new, leaf, depth + 1)
        if test is not None:
            yield function("EXISTS", items, _lambda(name, test))
    if _kind(wanted) == "map":
        # A key that comes twice, or two that are one in their new type: Spark would end the run.
        keys = _each(_sides(value)[0], have.expressions[0], wanted.expressions[0], leaf, depth)
        once = function("SIZE", function("ARRAY_DISTINCT", keys))
        yield exp.NEQ(this=once, expression=function("SIZE", keys.copy()))


def _sides(value: exp.Expr) -> list[exp.Expr]:
    return [function("MAP_KEYS", value.copy()), function("MAP_VALUES", value.copy())]


def _each(items: exp.Expr, have: exp.DataType, wanted: exp.DataType, leaf: Leaf, depth: int) -> exp.Expr:
    """What the items of an array become."""
    name = _name(depth)
    made = nested_value(column(name), have, wanted, leaf, depth + 1)
    return items if made == column(name) else exp.Transform(this=items, expression=_lambda(name, made))


def _part(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Bracket(this=value.copy(), expressions=[text(name)])


def _kind(type_: exp.DataType) -> str:
    if type_.this in _ARRAYS:
        return "array"
    return "map" if type_.this == exp.DataType.Type.MAP else "struct"


def _lambda(name: str, body: exp.Expr) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(name, quoted=True)])


def _name(depth: int) -> str:
    """Lambdas stand in one another, each with a name of its own."""
    return f"_lakelogic_part{depth}"
