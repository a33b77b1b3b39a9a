"""Queries that stay short: DuckDB writes a macro's argument out wherever the macro names it, with all that is inside.

Calls inside of calls would so grow by powers. Where one grows too much, its arguments are computed first, as the fields
of one value, and the macro is told the fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp, parse_one

from lakelogic.engine.duckdb.nodes import WAITING, call, text
from lakelogic.engine.duckdb.session import find_macro

MOST_NODES = 3000  # to bind them takes a tenth of a second; below that a list for each row would cost more
_COLUMN = 3  # the nodes of a name, of its relation too
_GIVEN = "given"


@dataclass(slots=True)
class _Size:
    """How many nodes an expression is when it is written out, beside those of its parameters."""

    nodes: int = 1
    uses: Counter[str] = field(default_factory=Counter)

    def add(self, other: _Size, times: int = 1) -> None:
        self.nodes += other.nodes * times
        for name, count in other.uses.items():
            self.uses[name] += count * times


def bounded(tree: exp.Expr) -> exp.Expr:
    """The same query with calls that would not grow beyond measure."""
    return _bounded(tree)[0]


def written_out(tree: exp.Expr) -> int:
    """How many nodes DuckDB makes of a tree that is bounded already."""
    return _bounded(tree.copy())[1]


def _bounded(tree: exp.Expr) -> tuple[exp.Expr, int]:
    """A tree of a thousand columns is as deep: no function of Python could go down there by calling itself."""
    sizes: dict[int, int] = {}
    for node in reversed(list(tree.walk())):  # what is inside first
        size, grows = _grown(node, sizes)
        if not grows:
            sizes[id(node)] = size
            continue
        made, inside = _told_fields(node.copy()), sum(sizes[id(part)] for part in node.expressions)
        sizes[id(made)] = inside + size
        if node is tree:
            tree = made
        else:
            node.replace(made)
    return tree, sizes[id(tree)]


def _grown(node: exp.Expr, sizes: Mapping[int, int]) -> tuple[int, bool]:
    """The nodes of an expression; where it grows too much, those of the macro that is told fields."""
    macro = _macro(node.name.lower()) if isinstance(node, exp.Anonymous) else None
    if macro is None:
        return 1 + sum(sizes[id(child)] * _times(node, child) for child in node.iter_expressions()), False
    names, body = macro
    given = [sizes[id(argument)] for argument in node.expressions]
    size = body.nodes + sum(body.uses[name] * each for name, each in zip(names, given, strict=False))
    grows = max(body.uses.values(), default=0) > 1 and max(given, default=0) > _COLUMN
    if size <= MOST_NODES or not grows or node.name in WAITING:
        return size, False
    return body.nodes + body.uses.total() * _COLUMN, True


def _times(node: exp.Expr, child: exp.Expr) -> int:
    """How often DuckDB itself writes out a part of an expression."""
    if node.args.get("this") is not child:
        return 1
    return 2 if isinstance(node, exp.Nullif) else len(node.args["ifs"]) if isinstance(node, exp.Case) else 1


def _told_fields(node: exp.Expr) -> exp.Expr:
    """Constants stay: some functions of DuckDB take nothing else in their place."""
    apart = {f"a{at}": part for at, part in enumerate(node.expressions) if not isinstance(part, exp.Literal)}
    fields = [exp.PropertyEQ(this=exp.to_identifier(name), expression=part) for name, part in apart.items()]
    names = {id(part): name for name, part in apart.items()}
    arguments = [
        call("struct_extract", exp.column(_GIVEN), text(names[id(part)])) if id(part) in names else part
        for part in node.expressions
    ]
    one = exp.Array(expressions=[exp.Struct(expressions=fields)])
    asked = exp.Lambda(this=call(node.name, *arguments), expressions=[exp.to_identifier(_GIVEN)])
    return exp.Bracket(this=call("list_transform", one, asked), expressions=[exp.Literal.number(1)], offset=1)


@lru_cache(maxsize=512)
def _macro(name: str) -> tuple[tuple[str, ...], _Size] | None:
    """The parameters of a macro, and the size of its body."""
    found = find_macro(name)
    if found is None:
        return None
    head, body = found
    names = tuple(part.split(":=")[0].strip() for part in head.partition("(")[2].rstrip(")").split(","))
    return names, _size(parse_one(body, dialect="duckdb"), frozenset(names))


def _size(node: exp.Expr, names: frozenset[str]) -> _Size:
    if isinstance(node, exp.Column) and not node.table and node.name in names:
        return _Size(0, Counter({node.name: 1}))
    macro = _macro(node.name.lower()) if isinstance(node, exp.Anonymous) else None
    if macro is None:
        size = _Size()
        for child in node.iter_expressions():
            size.add(_size(child, names), _times(node, child))
        return size
    inner, body = macro
    size = _Size(body.nodes)
    for name, argument in zip(inner, node.expressions, strict=False):
        size.add(_size(argument, names), body.uses[name])
    return size
