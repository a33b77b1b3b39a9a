"""Small builders for the SQL trees that the plan is made of. All names are quoted; casts try."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from sqlglot import exp

from lakelogic.plan.types import string_type


def column(name: str, table: str | None = None) -> exp.Column:
    # Built by hand: a plan has thousands of columns, and sqlglot's own builder looks at much more.
    found = exp.Column(this=exp.Identifier(this=name, quoted=True))
    if table is not None:
        found.set("table", exp.Identifier(this=table, quoted=True))
    return found


def field(base: exp.Expr, *names: str) -> exp.Expr:
    """`base.a.b` for a struct."""
    return reduce(lambda left, name: exp.Dot(this=left, expression=exp.to_identifier(name, quoted=True)), names, base)


def alias(expression: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(expression, name, quoted=True)


def text(value: str) -> exp.Literal:
    return exp.Literal.string(value)


def number(value: int | float) -> exp.Expr:
    return exp.convert(value)


def null() -> exp.Null:
    return exp.null()


def null_of(type_: exp.DataType) -> exp.Expr:
    """A NULL that has a type; an untyped one has none on Spark."""
    return exp.Cast(this=exp.null(), to=type_.copy())


def cast(expression: exp.Expr, type_: exp.DataType) -> exp.Expr:
    return exp.Cast(this=expression, to=type_.copy())


def try_cast(expression: exp.Expr, type_: exp.DataType) -> exp.Expr:
    # `safe` makes Spark's generator write TRY_CAST; without it the same node is written as CAST.
    return exp.TryCast(this=expression, to=type_.copy(), safe=True)


def as_text(expression: exp.Expr) -> exp.Expr:
    return cast(expression, string_type())


def function(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def placeholder(name: str) -> exp.Placeholder:
    return exp.Placeholder(this=name)


def is_null(expression: exp.Expr) -> exp.Expr:
    return exp.Is(this=wrap(expression), expression=exp.null())


def is_not_null(expression: exp.Expr) -> exp.Expr:
    return exp.Not(this=is_null(expression))


def negate(expression: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.paren(expression, copy=False))


def wrap(expression: exp.Expr) -> exp.Expr:
    """Parentheses around anything that is not a single word, so that no operator can take it apart."""
    simple = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Null, exp.Boolean, exp.Cast, exp.Dot, exp.Placeholder)
    # AND and OR are functions, too, to the parser.
    single = isinstance(expression, simple) and not isinstance(expression, exp.Connector)
    return expression if single else exp.paren(expression, copy=False)


def _apart(conditions: Iterable[exp.Expr]) -> list[exp.Expr]:
    given = list(conditions)
    alone = len(given) == 1 and isinstance(given[0], exp.Connector)
    return given if alone else [wrap(condition) for condition in given]


def all_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    parts = _apart(conditions)
    return reduce(lambda left, right: exp.And(this=left, expression=right), parts) if parts else exp.true()


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that must all hold."""
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        yield from conjuncts(inner.this)
        yield from conjuncts(inner.expression)
    else:
        yield inner


def any_of(conditions: Iterable[exp.Expr]) -> exp.Expr:
    parts = _apart(conditions)
    return reduce(lambda left, right: exp.Or(this=left, expression=right), parts) if parts else exp.false()


def case(branches: Iterable[tuple[exp.Expr, exp.Expr]], default: exp.Expr | None = None) -> exp.Case:
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=ifs, default=default)


def bit(position: int) -> exp.Expr:
    return exp.Literal.number(str(1 << position))


def bitwise_or(values: Iterable[exp.Expr]) -> exp.Expr:
    """Joined as a balanced tree: a chain of 60 would nest 60 deep in the generated code."""
    parts = [wrap(value) for value in values]
    if not parts:
        return exp.Literal.number("0")
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [
            exp.paren(exp.BitwiseOr(this=pair[0], expression=pair[1]), copy=False) if len(pair) == 2 else pair[0]
            for pair in pairs
        ]
    return parts[0]


def bind(query: exp.Expr, values: dict[str, exp.Expr]) -> exp.Expr:
    """Replace named placeholders; the rest of the tree is copied unchanged."""

    def replace(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Placeholder) and node.name in values:
            return values[node.name].copy()
        return node

    return query.copy().transform(replace, copy=False)
