"""The types of decimal arithmetic by Spark's rules, so that no result loses digits on its way to a table."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from lakelogic.plan.types import family, is_decimal, is_floating, is_whole, named

_Tree = TypeVar("_Tree", bound=exp.Expr)
MAX_PRECISION = 38
_KEPT_SCALE = 6  # digits after the point that survive when a result is too wide
_DIGITS = {
    exp.DataType.Type.TINYINT: 3,
    exp.DataType.Type.SMALLINT: 5,
    exp.DataType.Type.INT: 10,
    exp.DataType.Type.BIGINT: 20,
}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_SAME = (exp.Neg, exp.Abs, exp.Min, exp.Max, exp.Nullif)
_CHOICES = (exp.Coalesce, exp.Case, exp.If, exp.Greatest, exp.Least)
_ROUNDED = (exp.Round, exp.Ceil, exp.Floor)


def type_decimals(tree: _Tree) -> _Tree:
    """Correct the types of all nodes that calculate with decimals, from the leaves up."""
    for node in reversed(list(tree.walk(bfs=True))):
        found = _type_of(node)
        if found is not None:
            node.type = found
    return tree


def wider_decimal(left: exp.DataType, right: exp.DataType) -> exp.DataType:
    """The decimal that holds the values of both, which are decimals or whole numbers."""
    sizes = [_size(type_) if is_decimal(type_) else (_DIGITS[type_.this], 0) for type_ in (left, right)]
    scale = max(size[1] for size in sizes)
    return _decimal(max(size[0] - size[1] for size in sizes) + scale, scale)


def _type_of(node: exp.Expr) -> exp.DataType | None:
    if isinstance(node, (exp.Alias, exp.Paren, exp.Window, exp.Filter, exp.IgnoreNulls)):
        inner: exp.DataType | None = node.this.type
        return inner
    if isinstance(node, exp.Literal):
        return _literal(node)
    if isinstance(node, _ARITHMETIC):
        return _arithmetic(node)
    if isinstance(node, _SAME) and is_decimal(node.this.type):
        return _decimal(*_size(node.this.type))
    if isinstance(node, (exp.Sum, exp.Avg)) and is_decimal(_aggregated(node)):
        precision, scale = _size(_aggregated(node))
        return _decimal(precision + 10, scale) if isinstance(node, exp.Sum) else _decimal(precision + 4, scale + 4)
    if isinstance(node, _CHOICES):
        return _widest(node)
    if isinstance(node, _ROUNDED) and is_decimal(node.this.type):
        return _rounded(node)
    return None


def _aggregated(node: exp.Expr) -> exp.DataType:
    operand = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    return operand.type if operand is not None and operand.type is not None else named("unknown")


def _literal(node: exp.Literal) -> exp.DataType | None:
    """A number with a point and without an exponent is a decimal; a whole one is as long as it must be."""
    if node.is_string:
        return None
    if node.name.isdigit() and int(node.name) < 1 << 63:
        return named("bigint") if int(node.name) >= 1 << 31 else None
    size = _operand(node)
    return _decimal(*size) if size is not None else None


def _rounded(node: exp.Expr) -> exp.DataType:
    """One more digit before the point, as 9.9 may become 10."""
    precision, scale = _size(node.this.type)
    given = node.args.get("decimals")
    if given is None and isinstance(node, (exp.Ceil, exp.Floor)):
        return _decimal(precision - scale + 1, 0) if scale else _decimal(precision, 0)
    text = given.sql() if given is not None else "0"
    if not text.removeprefix("-").isdigit():
        return named("unknown")
    digits = int(text)
    if digits < 0:
        return _decimal(max(precision - scale + 1, 1 - digits), 0)
    kept = min(scale, digits)
    return _decimal(min(precision - scale + 1 + kept, MAX_PRECISION), kept)


def _arithmetic(node: exp.Expr) -> exp.DataType | None:
    sides = [node.this, node.expression]
    if not any(is_decimal(side.type) for side in sides):
        return _not_decimal(node, sides)
    sizes = [_operand(side) for side in sides]
    if sizes[0] is None or sizes[1] is None:
        return named("double" if any(is_floating(side.type) for side in sides) else "unknown")
    (p1, s1), (p2, s2) = sizes[0], sizes[1]
    match node:
        case exp.Add() | exp.Sub():
            scale = max(s1, s2)
            return _decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case exp.Mul():
            return _decimal(p1 + p2 + 1, s1 + s2)
        case exp.Div():
            scale = max(_KEPT_SCALE, s1 + p2 + 1)
            return _decimal(p1 - s1 + s2 + scale, scale)
        case _:
            return _decimal(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


def _operand(node: exp.Expr) -> tuple[int, int] | None:
    inner = node.unnest()
    if isinstance(inner, exp.Literal) and not inner.is_string:
        before, _, after = inner.name.partition(".")
        if not (before + after).isdigit():
            return None
        return max(len(before.lstrip("0")) + len(after), len(after), 1), len(after)
    if is_decimal(node.type):
        assert node.type is not None
        return _size(node.type)
    return (_DIGITS[node.type.this], 0) if node.type is not None and is_whole(node.type) else None


def _chosen(node: exp.Expr) -> tuple[int, int] | None:
    """Only in arithmetic a whole number that is written out has as many digits as it is written with."""
    whole = node.type is not None and is_whole(node.type)
    return (_DIGITS[node.type.this], 0) if whole and node.type is not None else _operand(node)


def _widest(node: exp.Expr) -> exp.DataType | None:
    """The decimal that holds every choice; None where a choice is no decimal and no whole number."""
    values = [value for value in _values(node) if not isinstance(value, exp.Null)]
    if not any(is_decimal(value.type) for value in values):
        return _not_decimal(node, values)
    sizes = [_chosen(value) for value in values]
    if any(is_floating(value.type) for value in values):
        return named("double")
    if any(size is None for size in sizes):
        # Beside a rounded decimal, whose digits nobody knows yet, the others' digits are no bound.
        return named("unknown") if any(family(value.type) == "unknown" for value in values) else None
    scale = max(size[1] for size in sizes if size)
    return _decimal(max(size[0] - size[1] for size in sizes if size) + scale, scale)


def _not_decimal(node: exp.Expr, parts: list[exp.Expr]) -> exp.DataType | None:
    """A decimal beside a double is a double; whoever thought otherwise further down has been corrected."""
    floating = is_decimal(node.type) and any(is_floating(part.type) for part in parts)
    return named("double") if floating else None


def _values(node: exp.Expr) -> list[exp.Expr]:
    match node:
        case exp.Case():
            arms = [arm.args["true"] for arm in node.args["ifs"]]
            return [*arms, *([node.args["default"]] if node.args.get("default") else [])]
        case exp.If():
            return [node.args["true"], *([node.args["false"]] if node.args.get("false") else [])]
        case _:
            return [node.this, *node.expressions]


def _size(type_: exp.DataType) -> tuple[int, int]:
    sizes = [int(part.name) for part in type_.expressions]
    precision, scale = [*sizes, 0][:2] if sizes else (10, 0)
    return precision, scale


def _decimal(precision: int, scale: int) -> exp.DataType:
    if precision > MAX_PRECISION:
        kept = max(MAX_PRECISION - (precision - scale), min(scale, _KEPT_SCALE))
        precision, scale = MAX_PRECISION, kept
    return named(f"decimal({precision},{scale})")
