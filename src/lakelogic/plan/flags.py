"""Rows that failed a rule and are kept: why, in one text."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.checks import has_failed, mask_name, place_of
from lakelogic.plan.expressions import case, cast, column, function, text
from lakelogic.plan.model import FLAG_COLUMN, FLAG_SEVERITY
from lakelogic.plan.stage_builder import StageBuilder
from lakelogic.plan.types import string_type


def flag_reason(builder: StageBuilder) -> exp.Expr:
    """The messages of the rules that a kept row failed, in this stage and before; NULL where there is none."""
    flagged = [check for check in builder.book.checks if check.severity == FLAG_SEVERITY]
    said: list[exp.Expr] = [
        case([(has_failed(check, column(mask_name(place_of(check)[0]))), text(check.message))]) for check in flagged
    ]
    if FLAG_COLUMN in builder.relation.hidden:
        said.insert(0, column(FLAG_COLUMN))
    if not said:
        return cast(exp.null(), string_type())
    return function("NULLIF", function("CONCAT_WS", text("; "), *said), text(""))
