"""What a step reads and makes, known without compiling it: decides where casts stand and which columns are read."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from lakelogic.contract import transformations as t
from lakelogic.contract.transformations import Transformation
from lakelogic.plan.ordering import parse_term
from lakelogic.plan.sql import SqlProblem, peek_expression, peek_query


def made_columns(step: Transformation, dialect: str) -> frozenset[str]:  # noqa: C901 - one line per kind
    """Columns that a step makes or rewrites; columns that merely pass through are not among them."""
    match step:
        case t.SqlStep():
            return _selected(step.sql, step.dialect or dialect)
        case t.Rename():
            return frozenset(step.mapping.values())
        case t.Cast():
            return frozenset(step.types)
        case t.Trim() | t.Lower() | t.Upper():
            return frozenset(step.fields)
        case t.Derive() | t.WindowStep():
            return frozenset(step.columns)
        case t.CoalesceStep() | t.JsonExtract() | t.Bucket() | t.DateDiff() | t.Lookup():
            return frozenset({step.field})
        case t.MapValues() | t.Split() | t.Explode():
            return frozenset({step.output or step.field})
        case t.DateRangeExplode():
            return frozenset({step.output})
        case t.Unpivot():
            return frozenset({step.name, step.value})
        case t.Join():
            return frozenset(f"{step.prefix}{name}" for name in step.fields)
        case t.Rollup():
            return frozenset(step.aggregations)
        case t.Pivot():
            return frozenset(str(value) for value in step.values)
        case t.Select() | t.Drop() | t.Filter() | t.Deduplicate() | t.Union():
            return frozenset()


def _selected(sql: str, dialect: str) -> frozenset[str]:
    try:
        query = peek_query(sql, dialect)
    except SqlProblem:
        return frozenset()
    made = set()
    for node in query.selects:
        inner = node.unalias()
        passes = isinstance(inner, exp.Column) and inner.name == node.alias_or_name
        if not node.is_star and not passes:
            made.add(node.alias_or_name)
    return frozenset(made)


def read_columns(step: Transformation, dialect: str) -> frozenset[str]:
    """Every name that a step may read from the source; too many does no harm."""
    return frozenset(_read(step, dialect))


def _read(step: Transformation, dialect: str) -> Iterator[str]:  # noqa: C901 - one line per kind
    match step:
        case t.SqlStep():
            yield from _names(step.sql, step.dialect or dialect, query=True)
        case t.Filter():
            yield from _names(step.sql, dialect)
        case t.Derive() | t.WindowStep():
            for sql in step.columns.values():
                yield from _names(sql, dialect)
            if isinstance(step, t.WindowStep):
                yield from (*step.partition_by, *_ordered(step.order_by))
        case t.Rename():
            yield from step.mapping
        case t.Select() | t.Drop() | t.Unpivot():
            yield from step.columns
        case t.Cast():
            yield from step.types
        case t.Trim() | t.Lower() | t.Upper():
            yield from step.fields
        case t.CoalesceStep():
            yield from step.sources
        case t.MapValues() | t.Split() | t.Explode():
            yield step.field
        case t.JsonExtract() | t.Bucket():
            yield step.source
        case t.DateDiff():
            yield from (step.from_, step.to)
        case t.DateRangeExplode():
            yield from (step.start, step.end)
        case t.Lookup():
            yield step.on
        case t.Join():
            yield from _names(step.on, dialect) if isinstance(step.on, str) else step.on
        case t.Deduplicate():
            yield from (*step.on, *_ordered(step.order_by))
        case t.Rollup():
            yield from (*step.group_by, *step.keys)
            for sql in step.aggregations.values():
                yield from _names(sql, dialect)
        case t.Pivot():
            yield from (step.on, *step.group_by)
            yield from _names(step.aggregate, dialect)
        case t.Union():
            yield from ()


def _ordered(terms: tuple[str, ...]) -> list[str]:
    return [parse_term(term)[0] for term in terms]


def _names(sql: str, dialect: str, *, query: bool = False) -> Iterator[str]:
    try:
        tree: exp.Expr = peek_query(sql, dialect) if query else peek_expression(sql, dialect)
    except SqlProblem:
        return
    for node in tree.find_all(exp.Column):
        yield from (part.name for part in node.parts)


def selects_star(step: Transformation, dialect: str) -> bool:
    """Whether a step lets columns pass that it does not name."""
    if not isinstance(step, t.SqlStep):
        return not isinstance(step, (t.Select, t.Rollup, t.Pivot))
    try:
        return any(node.is_star for node in peek_query(step.sql, step.dialect or dialect).selects)
    except SqlProblem:
        return True
