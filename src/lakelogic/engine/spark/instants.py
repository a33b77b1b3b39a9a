"""The time of the run, kept out of generated code.

Spark writes a timestamp into the Java text that it generates, so that each run would have code of its own, compiled
and warmed up anew. An item of an array is fetched by reference: the text stays the same from run to run.
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from lakelogic.plan.expressions import function

_Tree = TypeVar("_Tree", bound=exp.Expr)


def by_reference(query: _Tree) -> _Tree:
    """Fetch the timestamps that stand alone as output columns from arrays of one item."""
    if not isinstance(query, exp.Select) or query.args.get("group") or query.args.get("distinct"):
        return query
    changed = query.copy()
    for node in changed.selects:
        value = node.unalias()
        if isinstance(value, exp.Cast) and isinstance(value.this, exp.Literal) and value.to.is_type("timestamptz"):
            value.replace(function("GET", exp.Array(expressions=[value.copy()]), _zero()))
    return changed


def _zero() -> exp.Expr:
    # The optimizer folds what it knows beforehand; it knows nothing about the number of a task.
    return exp.BitwiseAnd(this=function("SPARK_PARTITION_ID"), expression=exp.Literal.number(0))
