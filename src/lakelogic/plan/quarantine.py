"""From the rejected rows of a stage to the rows of the quarantine: as read, with every reason."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lakelogic.plan.checks import has_failed, mask_name, place_of
from lakelogic.plan.expressions import (
    alias,
    as_text,
    case,
    cast,
    column,
    field,
    function,
    is_null,
    placeholder,
    text,
)
from lakelogic.plan.lineage import PROCESSED_AT, RUN_ID, VERSION
from lakelogic.plan.model import RECORD_COLUMN, REJECTED_COLUMN, SOURCE_COLUMN, Check, Column
from lakelogic.plan.stage_builder import Output, table
from lakelogic.plan.types import family, named, string_type

ERRORS, CATEGORIES, RULES, ID = "_lakelogic_errors", "_lakelogic_categories", "_lakelogic_rules", "_lakelogic_id"
REJECTED_RELATION = "rejected"
# How much of a value a message shows; the whole of it stands in its column.
SHOWN_CHARACTERS = 80


def quarantine_rows(
    checks: Sequence[Check], raw: Sequence[Column], version: str, personal: frozenset[str]
) -> tuple[exp.Query, tuple[Column, ...]]:
    """The query over relation `rejected` that gives the quarantine's rows, and its columns."""
    rejected = column(REJECTED_COLUMN)
    failing = [check for check in checks if check.severity == "error"]
    outputs = [Output(Column(c.name, c.type), field(rejected.copy(), "raw", c.name)) for c in raw]
    outputs.append(Output(Column(RECORD_COLUMN, string_type()), field(rejected.copy(), "record")))
    outputs += [_array(ERRORS, failing, lambda check: _message(check, raw, personal))]
    outputs += [_array(CATEGORIES, failing, lambda check: text(check.category), distinct=True)]
    outputs += [_array(RULES, failing, lambda check: text(check.name), distinct=True)]
    outputs.append(Output(Column(ID, string_type()), _stable_id(rejected)))
    outputs += _lineage(rejected, version)
    query = exp.select(*[alias(o.expression, o.column.name) for o in outputs]).from_(table(REJECTED_RELATION))
    return query, tuple(o.column for o in outputs)


def _lineage(rejected: exp.Expr, version: str) -> list[Output]:
    timestamp = named("timestamp")
    return [
        Output(Column(RUN_ID, string_type()), placeholder("run_id")),
        Output(Column(SOURCE_COLUMN, string_type()), field(rejected.copy(), "source")),
        Output(Column(PROCESSED_AT, timestamp), cast(placeholder("processed_at"), timestamp)),
        Output(Column(VERSION, string_type()), text(version)),
    ]


def _array(name: str, checks: Sequence[Check], value, *, distinct: bool = False) -> Output:  # type: ignore[no-untyped-def]
    type_ = named("array<string>")
    items = []
    for check in checks:
        mask = field(column(REJECTED_COLUMN), mask_field(place_of(check)[0]))
        items.append(case([(has_failed(check, mask), value(check))]))
    array: exp.Expr = exp.ArrayCompact(this=exp.Array(expressions=items or [text("")]))
    if distinct:
        array = exp.ArraySort(this=exp.ArrayDistinct(this=array))
    return Output(Column(name, type_), array)


def _message(check: Check, raw: Sequence[Column], personal: frozenset[str]) -> exp.Expr:
    found = next((c for c in raw if c.name == check.column), None)
    if check.kind == "malformed":
        why = field(column(REJECTED_COLUMN), "malformed")
        return function("CONCAT", text(check.message + ": "), why)
    if not check.shows_value or found is None or found.name in personal or family(found.type) == "complex":
        return text(check.message)
    value = exp.Substring(
        this=as_text(field(column(REJECTED_COLUMN), "raw", found.name)),
        start=exp.Literal.number("1"),
        length=exp.Literal.number(str(SHOWN_CHARACTERS)),
    )
    before, _, after = check.message.partition(f"{check.column} is not ")
    named = function("CONCAT", text(f"{before}{check.column} = '"), value, text(f"' is not {after}"))
    # A value that a step produced was never read; then there is nothing to show.
    return case([(is_null(value.copy()), text(check.message))], named)


def mask_field(index: int) -> str:
    """The name of a mask inside the rejected struct."""
    return mask_name(index).removeprefix("_lakelogic_")


def _stable_id(rejected: exp.Expr) -> exp.Expr:
    """The content's hash; equal rows of one file are told apart by a number."""
    id_ = field(rejected.copy(), "id")
    order = exp.Order(expressions=[exp.Ordered(this=id_.copy(), nulls_first=False)])
    nth = exp.Window(this=exp.RowNumber(), partition_by=[id_.copy()], order=order, over="OVER")
    return function("CONCAT", id_, text("-"), as_text(nth))


