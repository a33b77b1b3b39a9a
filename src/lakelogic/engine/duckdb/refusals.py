"""What of a plan this engine cannot do, found before any row moves."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from lakelogic.engine.duckdb.render import find_refusals
from lakelogic.engine.local.options import FORMATS
from lakelogic.engine.local.strategies import find_write_refusals
from lakelogic.plan.model import Plan


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
        yield from find_refusals(tree)


def _trees(plan: Plan) -> Iterator[exp.Expr]:
    for stage in plan.stages:
        yield from (segment.query for segment in stage.segments)
        yield from (observation.aggregate for observation in stage.observations)
        if stage.quarantine is not None:
            yield stage.quarantine
    yield from (check.value for check in plan.dataset_checks)
    yield from (link.filter for link in plan.links if link.filter is not None)
