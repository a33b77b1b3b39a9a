"""Steps that change which rows there are, row by row; the rows keep their history."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.contract import transformations as t
from lakelogic.plan.expressions import (
    alias,
    any_of,
    as_text,
    case,
    cast,
    column,
    function,
    is_null,
    null_of,
    number,
    text,
)  # fmt: skip
from lakelogic.plan.model import Column
from lakelogic.plan.ordering import order_terms, parse_term, row_number, tie_breakers
from lakelogic.plan.sql import SqlProblem, shorten
from lakelogic.plan.stage_builder import Output, keep, table
from lakelogic.plan.types import family, named, string_type, type_name
from lakelogic.plan.workbench import Workbench

RANK_COLUMN = "_lakelogic_rank"
ELEMENT_COLUMN = "_lakelogic_element"


def compile_filter(step: t.Filter, bench: Workbench) -> None:
    compiled = bench.condition(step.sql)
    label = f"filter {shorten(step.sql)}"
    kept = [keep(c) for c in bench.relation.columns]
    failures = bench.step_failure(compiled, label)
    if failures:
        # First mark the rows on which the condition raises, then filter: marked rows are never dropped.
        bench.builder.project(f"check {label}", kept, failures=failures)
    bench.builder.project(label, kept, where=compiled.expression, effect="removes")


def compile_deduplicate(step: t.Deduplicate, bench: Workbench) -> None:
    keys = [bench.require(name) for name in step.on]
    relation = bench.relation
    flip = step.keep == "last"
    used = [*step.on, *[parse_term(term)[0] for term in step.order_by]]
    order = [*order_terms(step.order_by, relation, flip=flip), *tie_breakers(relation.columns, but=used)]
    order = order or [exp.Ordered(this=column(keys[0].name), nulls_first=False)]
    failed = bench.builder.failed()
    partition: list[exp.Expr] = [failed.copy(), *[column(key.name) for key in keys]]
    rank = alias(row_number(partition, order), RANK_COLUMN)
    ranked = exp.select(exp.Star(), rank).from_(table(relation.name)).subquery("ranked")
    # Rows without a key are strangers to each other, not duplicates.
    nobody = any_of([_is_blank(key) for key in keys])
    first = exp.EQ(this=column(RANK_COLUMN), expression=number(1))
    bench.builder.project(
        f"deduplicate by {', '.join(step.on)}",
        [keep(c) for c in relation.columns],
        where=any_of([nobody, first]),
        source=ranked,
        effect="removes",
    )


def _is_blank(key: Column) -> exp.Expr:
    if family(key.type) != "text":
        return is_null(column(key.name))
    blank = exp.EQ(this=function("TRIM", column(key.name)), expression=text(""))
    return any_of([is_null(column(key.name)), blank])


def compile_explode(step: t.Explode, bench: Workbench) -> None:
    found = bench.require(step.field)
    if family(found.type) == "text":
        raise SqlProblem("LL222", f"`explode` needs an array, but `{step.field}` is text", "`split` it first")
    if found.type.this not in {exp.DataType.Type.ARRAY, exp.DataType.Type.UNKNOWN}:
        raise SqlProblem("LL222", f"`explode` needs an array, but `{step.field}` is {type_name(found.type)}")
    element = found.type.expressions[0] if found.type.expressions else string_type()
    output = Column(step.output or step.field, element)
    _multiply(bench, f"explode {step.field}", column(step.field), output, drop=step.field)


def compile_date_range(step: t.DateRangeExplode, bench: Workbench) -> None:
    for name in (step.start, step.end):
        if family(bench.require(name).type) not in {"date", "timestamp", "unknown"}:
            raise SqlProblem("LL222", f"`date_range_explode` needs dates, but `{name}` is not")
    seconds = int(step.interval.total_seconds())
    whole_days = seconds % 86400 == 0
    type_ = named("date" if whole_days else "timestamp")
    unit = ("DAY", seconds // 86400) if whole_days else ("SECOND", seconds)
    interval = exp.Interval(this=text(str(unit[1])), unit=exp.var(unit[0]))
    start, end = cast(column(step.start), type_), cast(column(step.end), type_)
    # A range that runs backwards has no days; a SEQUENCE with a positive step would raise.
    backwards = exp.GT(this=start.copy(), expression=end.copy())
    array_type = exp.DataType(this=exp.DataType.Type.ARRAY, expressions=[type_.copy()], nested=True)
    days = case([(backwards, null_of(array_type))], function("SEQUENCE", start, end, interval))
    _multiply(bench, f"one row per {step.output} from {step.start} to {step.end}", days, Column(step.output, type_))


def compile_unpivot(step: t.Unpivot, bench: Workbench) -> None:
    found = [bench.require(name) for name in step.columns]
    kinds = {c.type.sql("databricks") for c in found}
    type_ = found[0].type if len(kinds) == 1 else string_type()
    pairs = []
    for c in found:
        value = column(c.name) if len(kinds) == 1 else as_text(column(c.name))
        pairs.append(exp.Struct(expressions=[alias(text(c.name), "name"), alias(value, "value")]))
    array = exp.Array(expressions=pairs)
    relation = bench.relation
    others = [c for c in relation.columns if c.name not in step.columns]
    element = exp.column(ELEMENT_COLUMN, quoted=True)
    outputs = [
        *[keep(c) for c in others],
        Output(Column(step.name, string_type()), exp.Dot(this=element, expression=exp.to_identifier("name"))),
        Output(Column(step.value, type_), exp.Dot(this=element.copy(), expression=exp.to_identifier("value"))),
    ]
    bench.builder.project(f"unpivot {', '.join(step.columns)}", outputs, source=_exploded(bench, array), effect="adds")


def _multiply(bench: Workbench, label: str, array: exp.Expr, output: Column, *, drop: str | None = None) -> None:
    """One row per element; a row without elements stays once, with NULL, so that no row is lost."""
    kept = [keep(c) for c in bench.relation.columns if c.name not in {drop, output.name}]
    made = Output(output, column(ELEMENT_COLUMN))
    bench.builder.project(label, [*kept, made], source=_exploded(bench, array), effect="adds")


def _exploded(bench: Workbench, array: exp.Expr) -> exp.Expr:
    # A failed row is not multiplied: it belongs in the quarantine once.
    failed = bench.builder.failed()
    single = exp.Anonymous(this="SLICE", expressions=[array.copy(), number(1), number(1)])
    guarded = array if isinstance(failed, exp.Boolean) else case([(failed, single)], array.copy())
    exploded = alias(function("EXPLODE_OUTER", guarded), ELEMENT_COLUMN)
    return exp.select(exp.Star(), exploded).from_(table(bench.relation.name)).subquery("exploded")
