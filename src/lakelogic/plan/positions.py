"""The place of a change event among all others of its source, as text that sorts like the events happened.

Each part of a position is a number (`n`, the count of its digits, its digits; `m` and complements where it is
negative) or another text (`t`). A part that is absent is empty and so the oldest. Parts stand in order of
weight with a blank between them, which sorts before everything inside a part. The last part is a rank (a
delete wins over an upsert at the same place) and a digest of the row, so that no two different events tie.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lakelogic.plan.expressions import as_text, case, cast, function, is_null, number, text, try_cast
from lakelogic.plan.types import family, is_floating, named

_NUMBER = "^[+-]?[0-9]{1,90}([.][0-9]*)?$"


def join_position(parts: Sequence[exp.Expr], rank: exp.Expr, content: exp.Expr) -> exp.Expr:
    """The whole position; `content` tells apart what the parts do not."""
    joined: list[exp.Expr] = []
    for part in parts:
        joined += [sortable(part), text(" ")]
    digest = function("MD5", exp.Coalesce(this=content, expressions=[text("")]))
    return function("CONCAT", *joined, rank, digest)


def sortable(value: exp.Expr) -> exp.Expr:
    """A text so that its order is that of numbers where it is one."""
    whole = function("REGEXP_EXTRACT", value.copy(), text("^[+-]?0*([0-9]+)"), number(1))
    fraction = function("REGEXP_EXTRACT", value.copy(), text("[.]([0-9]*[1-9])"), number(1))
    length = function("LPAD", as_text(exp.Length(this=whole.copy())), number(2), text("0"))
    behind = case(
        [(exp.EQ(this=fraction.copy(), expression=text("")), text(""))], function("CONCAT", text("."), fraction)
    )
    digits = function("CONCAT", length, whole, behind)
    flipped = function("TRANSLATE", digits.copy(), text("0123456789"), text("9876543210"))
    is_number = exp.RegexpLike(this=value.copy(), expression=text(_NUMBER))
    is_negative = exp.RegexpLike(this=value.copy(), expression=text("^-[0-9.]+$"))
    return case(
        [
            (is_null(value.copy()), text("")),
            (exp.And(this=is_number.copy(), expression=is_negative), function("CONCAT", text("m"), flipped, text("~"))),
            (is_number, function("CONCAT", text("n"), digits)),
        ],
        function("CONCAT", text("t"), function("TRANSLATE", value.copy(), text(" "), text("!"))),
    )


def comparable(value: exp.Expr, type_: exp.DataType, raw: exp.Expr | None = None) -> exp.Expr:
    """A typed value as the text that `sortable` orders right; the digits as they were `raw` where they are plain ones.

    What else means a number (`.5`, `1e3`, blanks around it) is ordered by the number that it is.
    """
    if raw is not None:
        plain = exp.RegexpLike(this=raw, expression=text(_NUMBER))
        return case([(plain, raw.copy())], comparable(value, type_))
    kind = family(type_)
    if kind == "timestamp":
        return as_text(function("UNIX_MICROS", try_cast(value, named("timestamp"))))
    if kind == "date":
        return as_text(exp.DateDiff(this=value, expression=cast(text("1970-01-01"), named("date"))))
    if is_floating(type_):
        return as_text(try_cast(value, named("decimal(38,12)")))
    return value if kind == "text" else as_text(value)
