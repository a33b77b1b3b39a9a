"""Looking at the tree of one query without looking into the queries inside of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from lakelogic.engine.polars.aggregates import is_aggregate


def own_nodes(roots: Sequence[exp.Expr], *kinds: Any) -> list[exp.Expr]:
    """The nodes of these kinds; a query inside is given if it is of the kind, but not entered."""
    return [
        node
        for root in roots
        for node in root.walk(prune=lambda inner: isinstance(inner, exp.Query))
        if isinstance(node, kinds)
    ]


def outer_aggregates(roots: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Aggregates that no other aggregate holds."""
    return [node for node in own_nodes(roots, exp.Func, exp.Filter) if _is_outer_aggregate(node)]


def has_aggregate(*roots: exp.Expr) -> bool:
    return bool(outer_aggregates(roots))


def _is_outer_aggregate(node: exp.Expr) -> bool:
    if not is_aggregate(node) or isinstance(node.parent, exp.Filter) or _is_windowed(node):
        return False
    # The function of a window is no aggregate of the group; what it is asked about may be one.
    return not any(is_aggregate(parent) and not _is_windowed(parent) for parent in _parents(node))


def _is_windowed(node: exp.Expr) -> bool:
    """Whether a window says over which rows the function goes."""
    around = node.parent
    while isinstance(around, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        node, around = around, around.parent
    return isinstance(around, exp.Window) and around.this is node


def _parents(node: exp.Expr) -> list[exp.Expr]:
    found, at = [], node.parent
    while at is not None and not isinstance(at, exp.Query):
        found.append(at)
        at = at.parent
    return found


def put(node: exp.Expr, name: str) -> None:
    """A column in the place of a node; where the node is an output without a name, it keeps its own."""
    made: exp.Expr = exp.column(name, quoted=True)
    if isinstance(node.parent, exp.Select) and not isinstance(node, exp.Alias):
        made = exp.alias_(made, node.alias_or_name or node.sql("databricks"), quoted=True)
    node.replace(made)
