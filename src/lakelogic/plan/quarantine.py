"""From the rejected rows of a stage to the rows of the quarantine: as read, with every reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from lakelogic.plan.checks import has_failed, place_of
from lakelogic.plan.expressions import (
    alias,
    any_of,
    as_text,
    case,
    cast,
    function,
    is_null,
    placeholder,
    text,
)
from lakelogic.plan.fold import ID as ID_PART
from lakelogic.plan.fold import MALFORMED, RECORD, SOURCE, UNFOLDED_RELATION, Fold
from lakelogic.plan.lineage import PROCESSED_AT, RUN_ID, VERSION
from lakelogic.plan.model import FLAG_SEVERITY, RECORD_COLUMN, SOURCE_COLUMN, Check, Column
from lakelogic.plan.stage_builder import Output, table
from lakelogic.plan.types import family, named, string_type

ERRORS, CATEGORIES, RULES, ID = "_lakelogic_errors", "_lakelogic_categories", "_lakelogic_rules", "_lakelogic_id"
# How much of a value a message shows; the whole of it stands in its column.
SHOWN_CHARACTERS = 80


def quarantine_rows(
    checks: Sequence[Check], fold: Fold, version: str, personal: frozenset[str]
) -> tuple[exp.Query, tuple[Column, ...]]:
    """The query over relation `unfolded` that gives the quarantine's rows, and its columns."""
    # A rejected row tells every reason, also those for which alone it would have been kept.
    failing = [check for check in checks if check.severity in {"error", FLAG_SEVERITY}]
    outputs = [Output(Column(c.name, c.type), fold.raw(c.name)) for c in fold.columns]
    outputs.append(Output(Column(RECORD_COLUMN, string_type()), fold.part(RECORD)))
    outputs.append(_array(ERRORS, [([check], _message(check, fold, personal)) for check in failing], fold))
    outputs.append(_array(CATEGORIES, _sorted_words(failing, lambda check: check.category), fold))
    outputs.append(_array(RULES, _sorted_words(failing, lambda check: check.name), fold))
    outputs.append(Output(Column(ID, string_type()), _stable_id(fold.part(ID_PART))))
    outputs += _lineage(fold, version)
    query = exp.select(*[alias(o.expression, o.column.name) for o in outputs]).from_(table(UNFOLDED_RELATION))
    return query, tuple(o.column for o in outputs)


def _lineage(fold: Fold, version: str) -> list[Output]:
    timestamp = named("timestamp")
    return [
        Output(Column(RUN_ID, string_type()), placeholder("run_id")),
        Output(Column(SOURCE_COLUMN, string_type()), fold.part(SOURCE)),
        Output(Column(PROCESSED_AT, timestamp), cast(placeholder("processed_at"), timestamp)),
        Output(Column(VERSION, string_type()), text(version)),
    ]


def _sorted_words(checks: Sequence[Check], word: Callable[[Check], str]) -> list[tuple[list[Check], exp.Expr]]:
    """Each word once, in order, with the checks that say it: nothing is left to sort or compare for each row."""
    said: dict[str, list[Check]] = {}
    for check in checks:
        said.setdefault(word(check), []).append(check)
    # Engines order text by its bytes.
    return [(said[each], text(each)) for each in sorted(said, key=str.encode)]


def _array(name: str, said: Sequence[tuple[Sequence[Check], exp.Expr]], fold: Fold) -> Output:
    """What is said of the checks that the row failed, as one array."""
    items: list[exp.Expr] = []
    for checks, value in said:
        failed = any_of([has_failed(check, fold.mask(place_of(check)[0])) for check in checks])
        items.append(case([(failed, value)]))
    array = exp.ArrayCompact(this=exp.Array(expressions=items or [text("")]))
    return Output(Column(name, named("array<string>")), array)


def _message(check: Check, fold: Fold, personal: frozenset[str]) -> exp.Expr:
    found = next((c for c in fold.columns if c.name == check.column), None)
    if check.kind == "malformed":
        return function("CONCAT", text(check.message + ": "), fold.part(MALFORMED))
    if not check.shows_value or found is None or found.name in personal or family(found.type) == "complex":
        return text(check.message)
    value = exp.Substring(
        this=as_text(fold.raw(found.name)),
        start=exp.Literal.number("1"),
        length=exp.Literal.number(str(SHOWN_CHARACTERS)),
    )
    before, _, after = check.message.partition(f"{check.column} is not ")
    named_value = function("CONCAT", text(f"{before}{check.column} = '"), value, text(f"' is not {after}"))
    # A value that a step produced was never read; then there is nothing to show.
    return case([(is_null(value.copy()), text(check.message))], named_value)


def _stable_id(content: exp.Expr) -> exp.Expr:
    """The content's hash; equal rows of one file are told apart by a number."""
    order = exp.Order(expressions=[exp.Ordered(this=content.copy(), nulls_first=False)])
    nth = exp.Window(this=exp.RowNumber(), partition_by=[content.copy()], order=order, over="OVER")
    return function("CONCAT", content, text("-"), as_text(nth))
