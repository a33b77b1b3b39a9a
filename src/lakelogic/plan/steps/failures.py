"""Queries over whole tables: a row that cannot be computed ends the run, on engines whose operators give NULL too.

Spark raises by itself. DuckDB and Polars get the query with every operator that may raise in its NULL-giving form, and
beside it the condition under which Spark would have raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from lakelogic.plan.attempt import attempt
from lakelogic.plan.expressions import all_of, conjuncts, function, wrap
from lakelogic.plan.model import SURE_FUNCTION
from lakelogic.plan.sql import SqlProblem

_CLAUSES = ("having", "qualify", "order")
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)


def stop_on_failures(query: exp.Query) -> exp.Query:
    """The query as engines other than Spark must run it."""
    checked = query.copy()
    for select in reversed(list(checked.find_all(exp.Select))):  # inner ones first: outer ones make copies of them
        _check_select(select)
    return checked


def _check_select(select: exp.Select) -> None:
    keys = _safe_keys(select)
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None:
            join.set("on", _conjunction(join.args["on"], [], keys_apart=True))
    where = select.args.get("where")
    if where is not None or keys:
        tests = where.this if where is not None else exp.true()
        select.set("where", exp.Where(this=_conjunction(tests, keys, keys_apart=False)))
    clauses = [select.args[part] for part in _CLAUSES if select.args.get(part) is not None]
    for root in [*select.expressions, *clauses]:
        _check_inside(root)
    for node in select.expressions:
        _replace(node.this if isinstance(node, exp.Alias) else node)
    for clause in clauses:
        for node in clause.expressions if isinstance(clause, exp.Order) else [clause]:
            _replace(node.this)


def _safe_keys(select: exp.Select) -> list[exp.Expr]:
    """Keys cannot fail where they are grouped by, and must stay equal to the outputs that show them."""
    failures: list[exp.Expr] = []
    group = select.args.get("group")
    for key in list(_leaves(group.expressions)) if group is not None else []:
        tried = _attempt(key)
        if tried is None:
            continue
        failures.append(tried[0])
        parts = [*select.expressions, group, *[select.args[p] for p in _CLAUSES if select.args.get(p) is not None]]
        for node in [n for part in parts for n in part.find_all(type(key)) if n == key]:
            node.replace(tried[1].copy())
    return failures


def _leaves(nodes: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    for node in nodes:
        if isinstance(node, _SETS):
            yield from _leaves(node.expressions or ([node.this] if isinstance(node, exp.Paren) else []))
        else:
            yield node


def _check_inside(root: exp.Expr) -> None:
    """What aggregates and windows look at is computed for rows; what is around them, of their results."""
    nodes = list(root.walk(prune=lambda node: isinstance(node, exp.Query)))
    for node in reversed(nodes):
        if isinstance(node, exp.Window):
            order = node.args.get("order")
            keys = [item.this for item in order.expressions] if order is not None else []
            for part in [*(node.args.get("partition_by") or []), *keys]:
                _replace(part)
        elif isinstance(node, exp.Filter):
            _replace(node.expression.this)
        elif isinstance(node, exp.AggFunc):
            inner = node.this
            parts = inner.expressions if isinstance(inner, exp.Distinct) else [inner]
            for part in [*parts, *node.expressions, node.args.get("expression")]:
                if isinstance(part, exp.Expr):
                    _replace(part)


def _replace(node: exp.Expr) -> None:
    tried = _attempt(node)
    if tried is not None:
        node.replace(_sure(*tried))


def _attempt(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """When a value cannot be computed, and the value itself; None where it always can."""
    if isinstance(node, (exp.Query, exp.Column, exp.Literal, exp.Star)):
        return None
    try:
        tried = attempt(node)
    except SqlProblem:
        return None  # of a function that has no other form, and that no other engine has
    return (wrap(tried.failure), tried.expression) if tried.failure is not None else None


def _sure(failure: exp.Expr, value: exp.Expr) -> exp.Expr:
    made = function(SURE_FUNCTION, failure, value)
    made.type = value.type
    return made


def _conjunction(tests: exp.Expr, failures: Sequence[exp.Expr], *, keys_apart: bool) -> exp.Expr:
    """Each condition apart, so that engines still see keys to join by; behind those that failed none is asked."""
    passed: list[exp.Expr] = []  # true where the conditions so far let the row pass, or do not know
    made: list[exp.Expr] = []
    for test in conjuncts(tests):
        tried = _attempt(test)
        safe = test if tried is None else tried[1]
        if tried is None:
            made.append(test)
        elif keys_apart and isinstance(test, (exp.EQ, exp.NullSafeEQ)):
            made.append(_with_sure_sides(test))
        else:
            made.append(_sure(all_of([*passed, tried[0]]), tried[1].copy()))
        passed.append(exp.Not(this=exp.Is(this=wrap(safe.copy()), expression=exp.false())))
    made += [_sure(all_of([*passed, failure]), exp.true()) for failure in failures]
    return all_of([each.copy() for each in made])


def _with_sure_sides(test: exp.Expr) -> exp.Expr:
    """Keys of a join are computed for all rows of their side, before rows meet."""
    kept = test.copy()
    for side in (kept.this, kept.expression):
        _replace(side)
    return kept
