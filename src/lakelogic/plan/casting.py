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
* JSON text to an array, map or struct: each part by this table; one part that fails, fails the value
"""

from __future__ import annotations

from dataclasses import dataclass

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
from lakelogic.plan.nested import from_parts, from_text, goes_into, is_nested
from lakelogic.plan.stage_builder import Output
from lakelogic.plan.types import family, is_floating, is_whole, same_type, string_type, type_name, widens


@dataclass(frozen=True, slots=True)
class CastRequest:
    """A column that is to get another type."""

    source: Column
    wanted: exp.DataType
    name: str | None = None  # of the typed column; the source's own by default
    pattern: str | None = None
    default: exp.Expr | None = None
    personal: bool = False
    required: bool = False
    comment: str | None = None

    @property
    def stored(self) -> exp.DataType:
        return string_type() if self.wanted.this == exp.DataType.Type.JSON else self.wanted

    @property
    def target(self) -> Column:
        source = self.source
        comment = self.comment or source.comment
        return Column(self.name or source.name, self.stored, not self.required, comment, source.masking)


def cast_output(request: CastRequest) -> Output:
    """The typed column, made from the column as it stands."""
    raw = column(request.source.name)
    value = _value(request, raw)
    if request.default is not None:
        value = case([(is_null(raw.copy()), cast(request.default, request.stored))], value)
    return Output(request.target, value)


def cast_failure(book: CheckBook, request: CastRequest, before: exp.Expr) -> Failure | None:
    """The check that catches values that did not make it: `before` is what stood there, the typed column what stands.

    It belongs into a later projection than the cast: side by side, each value would be cast twice.
    """
    failed = _failed(request, before, column(request.target.name))
    if failed is None:
        return None
    name = type_name(request.wanted)
    article = f"an {name}" if name.startswith(("int", "array")) else f"a {name}"
    source = request.source.name
    return book.add(
        failed,
        name=f"{source} is {article}",
        message=f"Cast failed: {source} is not {article}",
        category="type",
        kind="cast",
        column=source,
        wanted_type=name,
        shows_value=not request.personal,
    )


def _value(request: CastRequest, raw: exp.Expr) -> exp.Expr:
    source, stored = request.source, request.stored
    if request.wanted.this == exp.DataType.Type.JSON or same_type(source.type, stored):
        return raw
    if _is_parsed(request):
        parsed = function("TRY_TO_TIMESTAMP", raw, text(request.pattern or ""))
        return parsed if family(stored) == "timestamp" else cast(parsed, stored)
    if is_nested(stored) and family(source.type) == "text":
        return from_text(raw, stored, _Leaf())
    if is_nested(stored) and goes_into(source.type, stored):
        return from_parts(raw, source.type, stored, _Leaf())
    if widens(source.type, stored) and not is_floating(stored):
        return cast(raw, stored)
    return try_cast(raw, stored)


def _is_parsed(request: CastRequest) -> bool:
    dated = family(request.stored) in {"date", "timestamp"}
    return request.pattern is not None and dated and family(request.source.type) == "text"


def _failed(request: CastRequest, before: exp.Expr, typed: exp.Expr) -> exp.Expr | None:
    source, stored = request.source, request.stored
    if request.wanted.this == exp.DataType.Type.JSON:
        return _lost(before, function("TRY_PARSE_JSON", before.copy()))
    floating = is_floating(stored)
    if not floating and not _is_parsed(request) and widens(source.type, stored):
        return None
    failures = [] if same_type(source.type, stored) else [_lost(before, typed)]
    if floating:
        failures.append(_not_finite(typed))
    if is_whole(stored) and family(source.type) == "number" and not is_whole(source.type):
        # 4.7 would be cut to 4.
        failures.append(exp.NEQ(this=cast(typed.copy(), source.type), expression=before.copy()))
    return any_of(failures)


class _Leaf:
    """A part of a nested value is cast like a column."""

    def value(self, found: exp.Expr, have: exp.DataType, wanted: exp.DataType) -> exp.Expr:
        return _value(CastRequest(Column("part", have), wanted), found)

    def failed(self, found: exp.Expr, have: exp.DataType, wanted: exp.DataType) -> exp.Expr | None:
        return _failed(CastRequest(Column("part", have), wanted), found, self.value(found.copy(), have, wanted))


def _lost(before: exp.Expr, value: exp.Expr) -> exp.Expr:
    return all_of([is_not_null(before.copy()), is_null(value.copy())])


def _not_finite(value: exp.Expr) -> exp.Expr:
    """NaN or infinity: the difference of such a value and itself is not zero."""
    difference = exp.paren(exp.Sub(this=value.copy(), expression=value.copy()))
    return exp.NEQ(this=difference, expression=exp.Literal.number("0"))
