"""What authors' queries may be made of: shapes that engines would take differently are spelled out, or refused."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.sql import SqlProblem, shorten
from lakelogic.plan.types import family, named

_LOGIC = (exp.And, exp.Or, exp.Paren)
_FILTERS = (exp.Where, exp.Having, exp.Join, exp.Qualify)

_BEFORE_WINDOWS: dict[type[exp.Expr], str] = {
    exp.Where: "WHERE", exp.Group: "GROUP BY", exp.Having: "HAVING", exp.Join: "a join", exp.AggFunc: "an aggregate",
}  # fmt: skip


def refuse_shapes(query: exp.Query) -> None:
    """Shapes that cannot be followed, or that Spark does not have."""
    _refuse_distinct_windows(query)
    for pivot in query.find_all(exp.Pivot):
        step = "unpivot" if pivot.args.get("unpivot") else "pivot"
        raise SqlProblem("LL217", f"`{step.upper()}` in a query is not followed", f"use the step `{step}` instead")
    for node in query.find_all(exp.Any, exp.All):
        if isinstance(node.this, exp.Query):
            written = shorten(node.sql("databricks"))
            raise SqlProblem(
                "LL216", f"Spark SQL has no `{written}`", "use IN, EXISTS, or a MIN or MAX of the subquery"
            )


def _refuse_distinct_windows(query: exp.Query) -> None:
    for node in query.find_all(exp.Window):
        if isinstance(node.this, exp.AggFunc) and isinstance(node.this.this, exp.Distinct):
            written = shorten(node.sql("databricks"))
            raise SqlProblem("LL217", f"Spark SQL has no DISTINCT in windows: `{written}`", "count in a step before")


def refuse_early_windows(query: exp.Query) -> None:
    """Windows where there are no rows yet for them to look at; an alias in such a place may stand for one."""
    for node in query.find_all(exp.Window):
        place = node.find_ancestor(exp.Select, *_BEFORE_WINDOWS)
        if place is not None and not isinstance(place, exp.Select):
            clause = _BEFORE_WINDOWS.get(type(place), "an aggregate")
            written = shorten(node.sql("databricks").replace("`", ""))
            raise SqlProblem("LL217", f"Spark SQL has no windows in {clause}: `{written}`", "use QUALIFY or a subquery")


def refuse_outputs(query: exp.Query) -> None:
    """Outputs that are more than one column under no name of their own."""
    for node in query.find_all(exp.Aliases):
        written = shorten(node.sql("databricks"))
        raise SqlProblem("LL217", f"`{written}` makes several columns", "use LATERAL VIEW, or the step `explode`")


def refuse_sums(query: exp.Query) -> None:
    """Sums and averages of what is no number."""
    for node in query.find_all(exp.Sum, exp.Avg):
        operand = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
        if family(operand.unnest().type) in {"boolean", "date", "timestamp", "binary", "complex"}:
            written = shorten(node.sql("databricks").replace("`", ""))
            raise SqlProblem("LL222", f"`{written}` adds up what is no number", "count_if() counts conditions")


def spell_out_unknown(query: exp.Query) -> None:
    """`x IN (SELECT ...)` as a value is never unknown in Spark: it is FALSE there, with NOT and without it.

    In a filter it makes no difference, and Spark's optimizer knows the filter as it stands.
    """
    for node in list(query.find_all(exp.In)):
        if node.args.get("query") is None:
            continue
        asked = _with_not(node)
        last = asked
        while isinstance(last.parent, (*_LOGIC, exp.Not)):
            last = last.parent
        if isinstance(last.parent, _FILTERS):
            continue
        if any(isinstance(parent, exp.Not) for parent in _between(asked, last)):
            written = shorten(last.sql("databricks"))
            raise SqlProblem("LL217", f"`{written}` as a value", "write NOT IN, and AND and OR around it")
        known = exp.Coalesce(this=asked.copy(), expressions=[exp.false()])
        known.type = named("boolean")
        asked.replace(known)


def _with_not(node: exp.Expr) -> exp.Expr:
    """The test together with the NOT right before it."""
    at: exp.Expr = node
    while isinstance(at.parent, exp.Paren):
        at = at.parent
    return at.parent if isinstance(at.parent, exp.Not) else node


def _between(inner: exp.Expr, outer: exp.Expr) -> list[exp.Expr]:
    found, at = [], inner
    while at is not outer and at.parent is not None:
        at = at.parent
        found.append(at)
    return found
