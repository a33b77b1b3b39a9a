"""From a contract and a slice to the plan that carries them out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakelogic.contract.contract import Contract
from lakelogic.core.slices import Slice
from lakelogic.engine.protocol import ReadSpec
from lakelogic.plan.build import build_plan
from lakelogic.plan.model import LinkRead, Plan
from lakelogic.run.able import check_plan
from lakelogic.run.reading import locate_links, path_columns, read_spec

if TYPE_CHECKING:
    # `pipeline` tells the story and calls this module; only its word for the surroundings of a run is needed here.
    from lakelogic.run.pipeline import RunContext


def make_plan(contract: Contract, context: RunContext, chosen: Slice) -> tuple[Plan, ReadSpec, tuple[LinkRead, ...]]:
    """Look at the source and the links, and choose the steps; no row moves yet."""
    context.on_phase("planning")
    engine, has_key = context.engine, context.settings.pii_key is not None
    spec = read_spec(contract, chosen, context.settings, context.window)
    facts = replace(engine.inspect(spec, chosen), in_path=path_columns(chosen))
    links = locate_links(contract, context.settings)
    if context.references is not None:
        links = tuple(context.references.keep(engine, contract.dataset, link) for link in links)
    known = {link.name: engine.inspect_link(link) for link in links}
    plan = build_plan(contract, facts, known, window=context.window, watermark=context.watermark, has_key=has_key)
    check_plan(plan, engine, has_key=has_key)
    wanted = tuple(column.name for column in plan.read)
    return plan, replace(spec, columns=wanted), _with_filters(plan, links)


def _with_filters(plan: Plan, links: tuple[LinkRead, ...]) -> tuple[LinkRead, ...]:
    filters = {link.name: link.filter for link in plan.links}
    return tuple(replace(link, filter=filters.get(link.name)) for link in links)
