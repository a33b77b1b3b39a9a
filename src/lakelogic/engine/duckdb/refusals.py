"""What of a plan this engine cannot do, found before any row moves."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from lakelogic.engine.duckdb.nodes import refused
from lakelogic.engine.duckdb.render import find_refusals
from lakelogic.engine.local.options import FORMATS
from lakelogic.engine.local.strategies import find_write_refusals
from lakelogic.plan.model import Plan
from lakelogic.plan.types import Family, family

_ORDERED = (exp.Min, exp.Max, exp.Ordered)


def find_plan_refusals(plan: Plan) -> tuple[str, ...]:
    """One sentence for each thing; the same one only once."""
    return tuple(dict.fromkeys(_refusals(plan)))


def _refusals(plan: Plan) -> Iterator[str]:
    strategy = tuple(find_write_refusals(plan, "DuckDB"))
    yield from strategy
    if strategy:
        return  # what else is missing is of no use then
    for link in plan.links:
        if link.format is not None and link.format not in FORMATS:
            yield f"the DuckDB engine cannot read format `{link.format}` of link `{link.name}`"
    for tree in _trees(plan):
        yield from find_tree_refusals(tree)


def find_tree_refusals(tree: exp.Expr) -> Iterator[str]:
    """What one query or expression needs that the engine cannot give."""
    yield from find_refusals(tree)
    yield from _refused_by_type(tree)


def _refused_by_type(tree: exp.Expr) -> Iterator[str]:
    """Author's expressions carry the types that the plan found; DuckDB would fail or differ at the rows."""
    for node in tree.find_all(exp.Cast, exp.Sub, exp.SafeSubtract, exp.GenerateSeries, exp.Reverse, exp.Hex, *_ORDERED):
        written = node.sql("databricks")
        match node:
            case exp.Cast() if node.to.is_type(*exp.DataType.TEXT_TYPES) and _kinds(node.this) & {"complex", "binary"}:
                yield refused(f"the text of a nested or binary value: {written}").problem.message
            case exp.Sub() | exp.SafeSubtract() if _kinds(node.this, node.expression) == {"date"}:
                yield refused(f"{written} as an interval; datediff() gives a number").problem.message
            case exp.GenerateSeries() if _kinds(node.args["start"], node.args["end"]) & {"date", "timestamp"}:
                yield refused(f"{written}; the step `date_range_explode` makes a row for each day").problem.message
            case exp.Min() | exp.Max() | exp.Ordered() if _kinds(node.this) == {"complex"}:
                yield refused(f"{written}: the order of nested values").problem.message
            case exp.Hex() if _kinds(node.this) - {"text", "binary", "unknown"}:
                yield refused(written).problem.message
            case exp.Reverse() if _kinds(node.this) == {"complex"}:
                yield refused(written).problem.message


def _kinds(*nodes: exp.Expr) -> set[Family]:
    return {family(node.unnest().type) for node in nodes}


def _trees(plan: Plan) -> Iterator[exp.Expr]:
    for stage in plan.stages:
        yield from (segment.local_query for segment in stage.segments)
        yield from (observation.aggregate for observation in stage.observations)
        if stage.quarantine is not None:
            yield stage.quarantine
    yield from (check.value for check in plan.dataset_checks)
    yield from (link.filter for link in plan.links if link.filter is not None)
