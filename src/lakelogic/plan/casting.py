"""From what was read to what was declared: casts that fail a row instead of hiding a value.

One table for all engines:

* text to a whole number: digits with an optional sign; `4.7` fails, it is not rounded
* text to float or double: `NaN`, `Infinity` and what overflows to infinity fail
* text to decimal: rounded half up to the scale; too many digits before the point fail
* text to boolean: t, true, y, yes, 1 and f, false, n, no, 0 in any case
* text to date and timestamp: ISO forms, or the field's `format`; without a zone it is UTC
* a number with a fraction to a whole number fails, and so does what does not fit
* NaN and infinity fail in declared float and double columns, wherever they come from
* anything to text always works
"""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.checks import CheckBook, Failure
from lakelogic.plan.expressions import (
    all_of,
    any_of,
    case,
    cast,
    column,
    function,
    is_not_null,
    is_null,
    text,
    try_cast,
)
from lakelogic.plan.model import Column
from lakelogic.plan.stage_builder import Output
from lakelogic.plan.types import family, is_floating, is_whole, same_type, string_type, type_name, widens

_ARTICLES = {"int": "an int", "array": "an array"}


def cast_column(
    book: CheckBook,
    source: Column,
    wanted: exp.DataType,
    *,
    pattern: str | None = None,
    default: exp.Expr | None = None,
    personal: bool = False,
    required: bool = False,
    comment: str | None = None,
) -> tuple[Output, Failure | None]:
    """The typed column, and the check that catches values that did not make it."""
    stored = string_type() if wanted.this == exp.DataType.Type.JSON else wanted
    raw = column(source.name)
    value, failed = _converted(source, wanted, stored, raw, pattern)
    if default is not None:
        value = case([(is_null(raw.copy()), cast(default, stored))], value)
    target = Column(source.name, stored, nullable=not required, comment=comment or source.comment, masking=source.masking)
    if failed is None:
        return Output(target, value), None
    name = type_name(wanted)
    article = _ARTICLES.get(name.split("<")[0], f"a {name}")
    failure = book.add(
        failed,
        name=f"{source.name} is {article}",
        message=f"Cast failed: {source.name} is not {article}",
        category="type",
        kind="cast",
        column=source.name,
        wanted_type=name,
        shows_value=not personal,
    )
    return Output(target, value), failure


def _converted(
    source: Column, wanted: exp.DataType, stored: exp.DataType, raw: exp.Expr, pattern: str | None
) -> tuple[exp.Expr, exp.Expr | None]:
    kind = family(source.type)
    if wanted.this == exp.DataType.Type.JSON:
        parsed = function("TRY_PARSE_JSON", raw.copy())
        return raw, all_of([is_not_null(raw.copy()), is_null(parsed)])
    if pattern is not None and kind == "text" and family(stored) in {"date", "timestamp"}:
        parsed = function("TRY_TO_TIMESTAMP", raw.copy(), text(pattern))
        value = parsed if family(stored) == "timestamp" else cast(parsed, stored)
        return value, _lost(raw, value)
    if same_type(source.type, stored) and not is_floating(stored):
        return raw, None
    if family(stored) == "complex" and kind == "text":
        parsed = function("FROM_JSON", raw.copy(), text(stored.sql("databricks")))
        return parsed, _lost(raw, parsed)
    if widens(source.type, stored) and not is_floating(stored):
        return cast(raw, stored), None
    value = raw if same_type(source.type, stored) else try_cast(raw, stored)
    failures = [_lost(raw, value)] if value is not raw else []
    if is_floating(stored):
        failures.append(_not_finite(value))
    if is_whole(stored) and kind == "number" and not is_whole(source.type):
        # 4.7 would be cut to 4.
        failures.append(exp.NEQ(this=cast(value.copy(), source.type), expression=raw.copy()))
    return value, any_of(failures)


def _lost(raw: exp.Expr, value: exp.Expr) -> exp.Expr:
    return all_of([is_not_null(raw.copy()), is_null(value.copy())])


def _not_finite(value: exp.Expr) -> exp.Expr:
    """NaN or infinity: the difference of such a value and itself is not zero."""
    difference = exp.paren(exp.Sub(this=value.copy(), expression=value.copy()))
    return exp.NEQ(this=difference, expression=exp.Literal.number("0"))
