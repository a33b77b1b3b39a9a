"""Trees of the plan as Spark would read them from their text."""

from __future__ import annotations

from functools import lru_cache

import sqlglot
from sqlglot import exp

_NOTHING = exp.Literal.number(1)


def read_again(tree: exp.Expr) -> exp.Expr:
    """The tree that the text of a tree gives. What Spark runs is the text; read again, every function has its proper
    node, also where the plan built a call by name only.

    Columns that a SELECT only passes on are most of a plan and would come out as they went in: they are left out.
    """
    if not isinstance(tree, exp.Select):
        return _parsed(tree)
    outputs = tree.expressions
    made = [node for node in outputs if not _is_passed_on(node)]
    if len(made) == len(outputs):
        return _parsed(tree)
    rest = exp.Select(expressions=[node.copy() for node in made or [_NOTHING]])
    for part, value in tree.args.items():
        if part != "expressions" and value is not None:
            rest.set(part, [v.copy() for v in value] if isinstance(value, list) else _copied(value))
    fresh = _parsed(rest)
    read = iter(fresh.expressions)
    fresh.set("expressions", [node.copy() if _is_passed_on(node) else next(read) for node in outputs])
    return fresh


def _parsed(tree: exp.Expr) -> exp.Expr:
    return _tree_of(tree.sql("databricks")).copy()


# A run reads most queries twice: to find out what the engine cannot do, and to carry them out.
@lru_cache(maxsize=128)
def _tree_of(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="databricks")


def _copied(value: object) -> object:
    return value.copy() if isinstance(value, exp.Expr) else value


def _is_passed_on(node: exp.Expr) -> bool:
    column = node.this if isinstance(node, exp.Alias) else None
    return isinstance(column, exp.Column) and len(column.parts) == 1 and isinstance(column.this, exp.Identifier)
