"""Which ways of writing need Spark: without it, tables are written by adopting whole files."""

from __future__ import annotations

from collections.abc import Iterator

from lakelogic.plan.history_limits import find_history_limits
from lakelogic.plan.model import Plan
from lakelogic.plan.writes import WriteScd2


def find_write_refusals(plan: Plan, engine: str) -> Iterator[str]:
    """What this plan's strategy needs that an engine of this process has not."""
    if isinstance(plan.write, WriteScd2):
        for limit in find_history_limits(plan.write, plan.output):
            yield f"the {engine} engine cannot {limit}; use engine: spark"
