"""Subqueries that speak of the rows around them: what Spark does not take of them, other engines would compute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from lakelogic.plan.sql import SqlProblem, shorten

_EMPTY_SIDES = {"LEFT": ("right",), "RIGHT": ("left",), "FULL": ("left", "right")}


@dataclass(frozen=True, slots=True)
class _Outer:
    """A column of a relation outside of the subquery that it stands in."""

    column: exp.Column
    subquery: exp.Expr  # the outermost of those that the relation is outside of
    levels: int


def refuse_correlations(query: exp.Query) -> None:
    """Each column of a qualified query that a subquery has from outside must be where Spark takes one."""
    for column in query.find_all(exp.Column):
        found = _outer(column) if column.table else None
        if found is not None:
            problem = _problem(found)
            if problem is not None:
                written = shorten(found.subquery.sql("databricks").replace("`", ""))
                name = column.sql("databricks").replace("`", "")
                raise SqlProblem("LL217", f"Spark SQL has no `{name}` {problem}: `{written}`", "use a join")


def _outer(column: exp.Column) -> _Outer | None:
    """None for a column of its own SELECT, or where no relation around it has its name."""
    levels, subquery, at = 0, None, column.parent
    while at is not None:
        if isinstance(at, exp.CTE):
            return None
        if isinstance(at, exp.Select) and column.table in _names(at):
            return _Outer(column, subquery, levels) if subquery is not None else None
        if isinstance(at, exp.Query) and _is_value(at):
            levels, subquery = levels + 1, at
        elif isinstance(at, exp.Query) and isinstance(at.parent, exp.Lateral):
            subquery = at
        at = at.parent
    return None


def _is_value(query: exp.Expr) -> bool:
    """Whether a query is asked for a value or a condition; otherwise it is a relation, or a part of another query."""
    return not isinstance(query.parent, (exp.From, exp.Join, exp.Lateral, exp.Query, exp.CTE, type(None)))


def _names(select: exp.Select) -> set[str]:
    origin = select.args.get("from_")
    joins = [join.this for join in select.args.get("joins") or []]
    sources = [*([origin.this] if origin is not None else []), *joins, *(select.args.get("laterals") or [])]
    return {source.alias_or_name for source in sources}


def _problem(found: _Outer) -> str | None:
    if found.levels > 1:
        return "from two queries further out"
    child: exp.Expr = found.column
    for node in _path(found.column, found.subquery):
        if isinstance(node, (exp.Values, exp.Group)):
            return f"of an outer query in {'VALUES' if isinstance(node, exp.Values) else 'GROUP BY'}"
        if _may_be_missing(child, node):
            return "of an outer query on the side of a join that may be missing"
        if isinstance(node, (exp.AggFunc, exp.Filter)) and not _is_of_groups(node, found):
            return "of an outer query in an aggregate"
        child = node
    return None if isinstance(found.subquery.parent, exp.Lateral) else _problem_of_place(found.subquery)


def _problem_of_place(subquery: exp.Expr) -> str | None:
    """Conditions may stand in more places than one value may."""
    condition = isinstance(subquery.parent, (exp.Exists, exp.In))
    for node in _path(subquery, None):
        if isinstance(node, exp.AggFunc):
            return None
        if isinstance(node, exp.Order) and isinstance(node.parent, exp.Select):
            return "of an outer query in ORDER BY"
        if isinstance(node, exp.Join) and not condition:
            return "of an outer query in the condition of a join"
        if isinstance(node, exp.Select):
            return None if condition else _problem_of_groups(subquery, node)
    return None


def _problem_of_groups(subquery: exp.Expr, around: exp.Select) -> str | None:
    output = next((node for node in around.expressions if subquery in list(node.walk())), None)
    group = around.args.get("group")
    if output is None or group is None or any(key == output.unalias() for key in group.expressions):
        return None
    return "of an outer query beside groups"


def _path(node: exp.Expr, end: exp.Expr | None) -> Iterator[exp.Expr]:
    at = node.parent
    while at is not None and at is not end:
        yield at
        at = at.parent


def _may_be_missing(child: exp.Expr, node: exp.Expr) -> bool:
    if node.args.get("this") is not child:
        return False
    if isinstance(node, exp.Join):
        return "right" in _EMPTY_SIDES.get(node.side, ())
    if isinstance(node, exp.From) and isinstance(node.parent, exp.Select):
        return any("left" in _EMPTY_SIDES.get(join.side, ()) for join in node.parent.args.get("joins") or [])
    return False


def _is_of_groups(aggregate: exp.Expr, found: _Outer) -> bool:
    """HAVING may ask a subquery about the groups around it."""
    own = any(column.table != found.column.table for column in aggregate.find_all(exp.Column))
    return not own and any(isinstance(node, exp.Having) for node in _path(found.subquery, None))
