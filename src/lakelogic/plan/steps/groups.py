"""Steps that look at many rows at once."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.contract import transformations as t
from lakelogic.plan.expressions import alias, as_text, case, column, text
from lakelogic.plan.lineage import UPSTREAM_PREFIX, upstream_output
from lakelogic.plan.model import Column
from lakelogic.plan.ordering import order_terms
from lakelogic.plan.relation import resolve
from lakelogic.plan.sql import PARSE_DIALECTS, SqlProblem, fix_clock, parse_expression, shorten
from lakelogic.plan.stage_builder import Output, keep, replaced, table
from lakelogic.plan.steps.columns import literal
from lakelogic.plan.steps.failures import stop_on_failures
from lakelogic.plan.types import named
from lakelogic.plan.typing import annotate, check_types
from lakelogic.plan.workbench import Workbench
from lakelogic.plan.zeros import without_negative_zeros

KEYS_COLUMN = "source_keys"


def compile_window(step: t.WindowStep, bench: Workbench) -> None:
    relation = bench.relation
    # Failed rows form windows of their own, so that a broken value never changes a good row's result.
    failed = bench.builder.failed()
    own: list[exp.Expr] = [] if isinstance(failed, exp.Boolean) else [failed]
    partition = [*own, *[column(bench.require(name).name) for name in step.partition_by]]
    order = order_terms(step.order_by, relation)
    outputs = []
    for name, sql in step.columns.items():
        call = resolve(parse_expression(sql, bench.contract.dialect), relation, strict=False)
        window = exp.Window(
            this=call,
            partition_by=[part.copy() for part in partition],
            order=exp.Order(expressions=[term.copy() for term in order]) if order else None,
            over="OVER",
        )
        call.type = _type_of(call, bench)
        outputs.append(Output(Column(name, call.type), without_negative_zeros(window)))
    label = "window " + ", ".join(step.columns)
    bench.builder.project(label, replaced(relation.columns, outputs))


def compile_rollup(step: t.Rollup, bench: Workbench) -> None:
    groups = [bench.require(name) for name in step.group_by]
    carried = [name for name in bench.relation.hidden if name.startswith(UPSTREAM_PREFIX)]
    bench.barrier()
    outputs = [keep(c) for c in groups]
    for name, sql in step.aggregations.items():
        aggregate = _aggregate(sql, bench)
        outputs.append(Output(Column(name, _type_of(aggregate, bench)), aggregate))
    for name in step.keys:
        bench.require(name)
    if step.keys:
        outputs.append(Output(Column(KEYS_COLUMN, _texts()), _collected(step.keys)))
    for name in carried:
        outputs.append(Output(Column(upstream_output(name, many=True), _texts()), _sorted_set(column(name))))
    label = f"rollup by {', '.join(step.group_by) or 'nothing'}"
    _append(label, outputs, step.group_by, bench)


def compile_pivot(step: t.Pivot, bench: Workbench) -> None:
    groups = [bench.require(name) for name in step.group_by]
    bench.require(step.on)
    bench.barrier()
    outputs = [keep(c) for c in groups]
    for value in step.values:
        aggregate = _aggregate(step.aggregate, bench)
        chosen = exp.EQ(this=as_text(column(step.on)), expression=text(str(value)))
        for call in list(aggregate.find_all(exp.AggFunc)):
            # COUNT(*) has nothing to put a condition around but a constant.
            counted = literal(1) if isinstance(call.this, exp.Star) or call.this is None else call.this
            call.set("this", case([(chosen.copy(), counted.copy())]))
        outputs.append(Output(Column(str(value), _type_of(aggregate, bench)), aggregate))
    _append(f"pivot {step.on}", outputs, step.group_by, bench)


def _append(label: str, outputs: list[Output], group_by: tuple[str, ...], bench: Workbench) -> None:
    query = exp.select(*[alias(o.expression, o.column.name) for o in outputs]).from_(table(bench.relation.name))
    query = query.group_by(*[column(name) for name in group_by]) if group_by else query
    bench.builder.append(label, query, outputs, [], "changes", stop_on_failures(query))


def _aggregate(sql: str, bench: Workbench) -> exp.Expr:
    parsed = fix_clock(parse_expression(sql, PARSE_DIALECTS.get(bench.contract.dialect, bench.contract.dialect)))
    if not parsed.find(exp.AggFunc) and not parsed.find(exp.Anonymous):
        raise SqlProblem("LL237", f"`{shorten(sql)}` does not aggregate", "use SUM, COUNT, AVG, MIN, MAX, ...")
    typed = check_types(annotate(resolve(parsed, bench.relation, strict=False), bench.relation))
    return without_negative_zeros(typed)


def _type_of(expression: exp.Expr, bench: Workbench) -> exp.DataType:
    typed = annotate(expression, bench.relation)
    return typed.type if typed.type is not None else named("unknown")


def _texts() -> exp.DataType:
    return named("array<string>")


def _sorted_set(value: exp.Expr) -> exp.Expr:
    return exp.ArraySort(this=exp.ArrayUniqueAgg(this=as_text(value)))


def _collected(keys: tuple[str, ...]) -> exp.Expr:
    if len(keys) == 1:
        return _sorted_set(column(keys[0]))
    parts: list[exp.Expr] = [as_text(column(key)) for key in keys]
    joined = [part for key in parts for part in (text("|"), key)][1:]
    return _sorted_set(exp.Anonymous(this="CONCAT", expressions=joined))
