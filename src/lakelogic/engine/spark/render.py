"""Query trees as Spark SQL text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sqlglot import exp

_Tree = TypeVar("_Tree", bound=exp.Expr)


def render(tree: exp.Expr) -> str:
    """Write a tree as Spark SQL; placeholders must have been bound before."""
    left = tree.find(exp.Placeholder)
    if left is not None:
        raise ValueError(f"placeholder `{left.name}` was not bound")
    # `comments=False`: an author's comment may hold `*/` or a hint that Spark would obey.
    return tree.sql(dialect="spark", comments=False)


def rename_relations(tree: _Tree, names: Mapping[str, str]) -> _Tree:
    """Point the tree's tables at other names; columns qualified by the old name still resolve."""
    renamed = tree.copy()
    shadowed = {cte.alias for cte in renamed.find_all(exp.CTE)}
    for table in list(renamed.find_all(exp.Table)):
        if table.db or table.name in shadowed or table.name not in names:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("this", exp.to_identifier(names[table.name], quoted=True))
    return renamed


def quote(name: str) -> str:
    """A column or view name as an identifier of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    return exp.Literal.string(text).sql(dialect="spark")
