"""Personal data: how a column is made unreadable in the target and in the quarantine."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.contract.model import Masking
from lakelogic.plan.expressions import as_text, case, column, function, is_null, null_of, number, text
from lakelogic.plan.model import (
    ENCRYPT_FUNCTION,
    ENCRYPT_SAME_FUNCTION,
    HMAC_FUNCTION,
    Column,
)  # fmt: skip
from lakelogic.plan.stage_builder import Output
from lakelogic.plan.types import family, string_type

REDACTED = "[REDACTED]"
NEEDS_KEY = frozenset({"encrypt", "encrypt_deterministic"})
HASHES = frozenset({"hash", "tokenize"})


def mask_output(found: Column, masking: Masking) -> Output:
    """The column as the target shows it; masked values are text, whatever the declared type."""
    given = column(found.name) if family(found.type) == "text" else as_text(column(found.name))
    type_ = found.type if masking.strategy == "nullify" else string_type()
    nullable = found.nullable or masking.strategy == "nullify"
    target = Column(found.name, type_, nullable, found.comment, masking.strategy)
    return Output(target, _masked(given, masking, type_))


def _masked(given: exp.Expr, masking: Masking, type_: exp.DataType) -> exp.Expr:
    match masking.strategy:
        case "hash":
            return function(HMAC_FUNCTION, given)
        case "encrypt":
            return function(ENCRYPT_FUNCTION, given)
        case "encrypt_deterministic":
            return function(ENCRYPT_SAME_FUNCTION, given)
        case "tokenize":
            return function("CONCAT", text("tok_"), exp.Substring(
                this=function(HMAC_FUNCTION, given), start=number(1), length=number(32)))  # fmt: skip
        case "redact":
            return case([(is_null(given), null_of(string_type()))], text(REDACTED))
        case "nullify":
            return null_of(type_)
        case "partial":
            return _partial(given, masking.keep, masking.side)


def _partial(given: exp.Expr, kept: int, side: str) -> exp.Expr:
    """Stars with the last (or first) characters; a value that short is all stars, else it would show whole."""
    length = exp.Length(this=given)
    stars = function("REPEAT", text("*"), exp.Sub(this=length.copy(), expression=number(kept)))
    start = exp.Add(this=exp.Sub(this=length.copy(), expression=number(kept)), expression=number(1))
    if side == "right":
        shown = exp.Substring(this=given.copy(), start=start, length=number(kept))
        joined = function("CONCAT", stars, shown)
    else:
        joined = function("CONCAT", exp.Substring(this=given.copy(), start=number(1), length=number(kept)), stars)
    short = exp.LTE(this=length.copy(), expression=number(kept))
    return case([(short, function("REPEAT", text("*"), length.copy()))], joined)


def hide_in_quarantine(value: exp.Expr, *, has_key: bool) -> exp.Expr:
    """A personal value as it stands in the quarantine: encrypted where there is a key, else not at all."""
    given = as_text(value)
    if has_key:
        return function(ENCRYPT_FUNCTION, given)
    return case([(is_null(given), null_of(string_type()))], text(REDACTED))
