"""What of a plan this engine cannot do, found before any row moves: the plan is compiled over empty frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.local.options import FORMATS
from lakelogic.engine.local.strategies import find_write_refusals
from lakelogic.engine.polars.expressions import MaskCalls
from lakelogic.engine.polars.queries import run_query
from lakelogic.engine.polars.relations import aligned
from lakelogic.engine.polars.rows import Rows
from lakelogic.engine.polars.types import Type, has_no_type, of_plan
from lakelogic.plan.dataset_rules import one_row
from lakelogic.plan.fold import REJECTED_RELATION, UNFOLDED_RELATION
from lakelogic.plan.model import MALFORMED_COLUMN, RECORD_COLUMN, SOURCE_COLUMN, Column, Observation, Plan, Stage

_BOUND = {"run_id": "string", "today": "date"}


def find_plan_refusals(plan: Plan, links: Mapping[str, Mapping[str, Type]], masks: MaskCalls) -> tuple[str, ...]:
    """One sentence for each thing; the same one only once."""
    return tuple(dict.fromkeys(_refusals(plan, links, masks)))


def _refusals(plan: Plan, links: Mapping[str, Mapping[str, Type]], masks: MaskCalls) -> Iterator[str]:
    strategy = tuple(find_write_refusals(plan, "Polars"))
    yield from strategy
    if strategy:
        return  # what else is missing is of no use then
    for link in plan.links:
        if link.format is not None and link.format not in FORMATS:
            yield f"the Polars engine cannot read format `{link.format}` of link `{link.name}`"
    known = {link.name: _empty(links[link.name]) for link in plan.links if link.name in links}
    accepted: tuple[Column, ...] = ()
    for number, stage in enumerate(plan.stages):
        try:
            first = _source(plan) if number == 0 else _declared(accepted)
            _compile(stage, {**known, stage.input: first}, masks)
            if number == plan.judged_stage % len(plan.stages):
                _compile_checks(plan, {"accepted": _declared(stage.output)}, masks)
        except CapabilityError as error:
            yield error.problem.message
            return
        accepted = stage.output


def _compile(stage: Stage, tables: Mapping[str, Rows], masks: MaskCalls) -> None:
    for segment in stage.segments:
        tables = {**tables, segment.name: aligned(_rows(segment.local_query, tables, masks), segment.columns)}

    last = tables[stage.segments[-1].name] if stage.segments else tables[stage.input]
    _aggregates(stage.observations, tables[stage.observed_at] if stage.observed_at else last, masks)
    if stage.unfold is None or stage.quarantine is None:
        return
    unfolded = _rows(stage.unfold, {REJECTED_RELATION: last}, masks)
    _aggregates(stage.rejected_counts, unfolded, masks)
    aligned(_rows(stage.quarantine, {UNFOLDED_RELATION: unfolded}, masks), stage.quarantine_columns)


def _rows(tree: exp.Expr, tables: Mapping[str, Rows], masks: MaskCalls) -> Rows:
    return run_query(tree.transform(_bound), tables, masks)


def _bound(node: exp.Expr) -> exp.Expr:
    """A placeholder, which gets its value when the run starts, as a NULL of its type."""
    if not isinstance(node, exp.Placeholder):
        return node
    return exp.Cast(this=exp.null(), to=exp.DataType.build(_BOUND.get(node.name, "timestamp"), dialect="databricks"))


def _aggregates(observations: Sequence[Observation], rows: Rows, masks: MaskCalls) -> None:
    if observations:
        values = [exp.alias_(each.aggregate.copy(), f"v{number}") for number, each in enumerate(observations)]
        _rows(exp.select(*values).from_("observed"), {"observed": rows}, masks)


def _compile_checks(plan: Plan, tables: Mapping[str, Rows], masks: MaskCalls) -> None:
    if plan.dataset_checks:
        _rows(one_row([check.value for check in plan.dataset_checks]), tables, masks)


def _source(plan: Plan) -> Rows:
    types = {column.name: _type(column) for column in plan.read}
    hidden = (SOURCE_COLUMN, RECORD_COLUMN, MALFORMED_COLUMN)
    return _empty({**types, **{name: pl.String() for name in hidden}})


def _declared(columns: tuple[Column, ...]) -> Rows:
    return _empty({column.name: _type(column) for column in columns})


def _type(column: Column) -> Type:
    return pl.String() if has_no_type(column) else of_plan(column.type)


def _empty(types: Mapping[str, Type]) -> Rows:
    return Rows(pl.LazyFrame(schema=dict(types)), dict(types))
