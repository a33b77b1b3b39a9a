"""Try-semantics: no value of one row can stop a job, and no failed attempt becomes a silent NULL.

Every operation that may raise under ANSI rules is replaced by its NULL-giving form; beside it stands a condition that
is true for the rows where the original would have raised. Branches that SQL would not have evaluated (the rest of an
OR, a CASE arm that was not taken) are not counted: each condition is guarded by the path that leads to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark

from lakelogic.plan.expressions import (
    all_of,
    any_of,
    case,
    function,
    is_not_null,
    is_null,
    number,
    text,
    try_cast,
    wrap,
)
from lakelogic.plan.sql import SqlProblem
from lakelogic.plan.types import family, is_decimal, is_whole, named, widens

_SAFE_CALLS: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.Div: exp.SafeDivide, exp.Add: exp.SafeAdd, exp.Sub: exp.SafeSubtract, exp.Mul: exp.SafeMultiply,
}  # fmt: skip
_TRY_NAMES = {"to_number": "TRY_TO_NUMBER", "to_binary": "TRY_TO_BINARY", "parse_json": "TRY_PARSE_JSON",
              "url_decode": "TRY_URL_DECODE", "make_timestamp": "TRY_MAKE_TIMESTAMP", "to_date": "TRY_TO_DATE",
              "to_timestamp": "TRY_TO_TIMESTAMP", "aes_decrypt": "TRY_AES_DECRYPT", "parse_url": "TRY_PARSE_URL",
              "make_interval": "TRY_MAKE_INTERVAL", "validate_utf8": "TRY_VALIDATE_UTF8"}  # fmt: skip
# These raise for some inputs and have no NULL-giving form.
_NO_TRY = {"conv", "decode", "date_from_unix_date", "timestamp_millis", "next_day", "elt"}
_CAST_CALLS = {"bigint", "smallint", "tinyint", "double", "float", "boolean", "timestamp", "decimal"}
_NEVER_RAISE = frozenset((
    exp.And, exp.Or, exp.Coalesce, exp.Case, exp.If, exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Concat,
    exp.Substring, exp.Nullif, exp.Greatest, exp.Least, exp.RegexpLike, exp.StartsWith, exp.EndsWith, exp.Round,
    exp.Year, exp.Month, exp.Day, exp.Array, exp.ArraySize,
))  # fmt: skip
# Arguments that Spark would cast by itself, and raise on a text that is no date: the cast is spelled out.
_DATES: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Year: ("this",), exp.Quarter: ("this",), exp.Month: ("this",), exp.Day: ("this",), exp.DayOfMonth: ("this",),
    exp.DayOfWeek: ("this",), exp.DayOfYear: ("this",), exp.WeekOfYear: ("this",), exp.LastDay: ("this",),
    exp.AddMonths: ("this",), exp.TsOrDsAdd: ("this",), exp.DateAdd: ("this",), exp.DateSub: ("this",),
    exp.DateDiff: ("this", "expression"), exp.DateTrunc: ("this",),
}  # fmt: skip
_INSTANTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Hour: ("this",), exp.Minute: ("this",), exp.Second: ("this",), exp.MonthsBetween: ("this", "expression"),
    exp.TimestampTrunc: ("this",), exp.TimeToStr: ("this",), exp.Extract: ("expression",),
    exp.TimestampAdd: ("this",), exp.TimestampDiff: ("this", "expression"),
}  # fmt: skip


@dataclass(slots=True)
class Attempt:
    """An expression that cannot raise, and when the original would have."""

    expression: exp.Expr
    failures: list[exp.Expr] = field(default_factory=list)

    @property
    def failure(self) -> exp.Expr | None:
        return any_of(self.failures) if self.failures else None


def attempt(typed: exp.Expr) -> Attempt:
    """Rewrite a typed row expression into try-semantics."""
    failures: list[exp.Expr] = []
    rewritten = _rewrite(typed.copy(), (), failures, inside_lambda=False)
    return Attempt(rewritten, failures)


def _rewrite(
    node: exp.Expr, guards: tuple[exp.Expr, ...], failures: list[exp.Expr], *, inside_lambda: bool
) -> exp.Expr:
    if isinstance(node, (exp.AggFunc, exp.Window, exp.Query)):
        return node
    _spell_out_casts(node)
    match node:
        case exp.Lambda():
            inside_lambda = True
            _children(node, guards, failures, inside_lambda)
        case exp.And() | exp.Or():
            _logic(node, guards, failures, inside_lambda)
        case exp.Case():
            _case(node, guards, failures, inside_lambda)
        case exp.If() if not isinstance(node.parent, exp.Case):
            _if(node, guards, failures, inside_lambda)
        case exp.Coalesce():
            _coalesce(node, guards, failures, inside_lambda)
        case _:
            _children(node, guards, failures, inside_lambda)
    safe, operands = _safe_form(node)
    if safe is None:
        return node
    if not inside_lambda:
        seen = [is_not_null(operand.copy()) for operand in operands if not isinstance(operand, exp.Literal)]
        failures.append(all_of([*guards, *seen, _missed(safe)]))
    return safe


def _spell_out_casts(node: exp.Expr) -> None:
    for kinds, wanted in ((_DATES, "date"), (_INSTANTS, "timestamp")):
        for key in kinds.get(type(node), ()):
            value = node.args.get(key)
            if value is not None and family(value.unnest().type) == "text":
                made = exp.Cast(this=value.copy(), to=named(wanted))
                made.type = named(wanted)
                node.set(key, made)


def _missed(safe: exp.Expr) -> exp.Expr:
    """True where the safe form gave up, for rows whose operands are all there."""
    if isinstance(safe, exp.Bracket):
        # An element may be NULL by itself; only a place outside the array is a failure.
        return exp.LT(this=exp.ArraySize(this=safe.this.copy()), expression=wrap(safe.expressions[0].copy()))
    return is_null(safe.copy())


def _children(node: exp.Expr, guards: tuple[exp.Expr, ...], failures: list[exp.Expr], inside_lambda: bool) -> None:
    for child in list(node.iter_expressions()):
        if isinstance(child, (exp.DataType, exp.Identifier)):
            continue
        replacement = _rewrite(child, guards, failures, inside_lambda=inside_lambda)
        if replacement is not child:
            child.replace(replacement)


def _step(child: exp.Expr, guards: tuple[exp.Expr, ...], failures: list[exp.Expr], inside_lambda: bool) -> exp.Expr:
    replacement = _rewrite(child, guards, failures, inside_lambda=inside_lambda)
    if replacement is not child:
        child.replace(replacement)
    return replacement


def _logic(node: exp.Expr, guards: tuple[exp.Expr, ...], failures: list[exp.Expr], inside_lambda: bool) -> None:
    left = _step(node.this, guards, failures, inside_lambda)
    stops = exp.false() if isinstance(node, exp.And) else exp.true()
    goes_on = exp.Not(this=exp.Is(this=wrap(left.copy()), expression=stops))
    _step(node.expression, (*guards, goes_on), failures, inside_lambda)


def _case(node: exp.Case, guards: tuple[exp.Expr, ...], failures: list[exp.Expr], inside_lambda: bool) -> None:
    subject = node.this
    if subject is not None:
        subject = _step(subject, guards, failures, inside_lambda)
    path = guards
    for branch in node.args["ifs"]:
        condition = _step(branch.this, path, failures, inside_lambda)
        taken = exp.EQ(this=subject.copy(), expression=condition.copy()) if subject is not None else condition.copy()
        _step(branch.args["true"], (*path, taken), failures, inside_lambda)
        path = (*path, exp.Not(this=exp.Is(this=wrap(taken.copy()), expression=exp.true())))
    if node.args.get("default") is not None:
        _step(node.args["default"], path, failures, inside_lambda)


def _if(node: exp.If, guards: tuple[exp.Expr, ...], failures: list[exp.Expr], inside_lambda: bool) -> None:
    condition = _step(node.this, guards, failures, inside_lambda)
    _step(node.args["true"], (*guards, condition.copy()), failures, inside_lambda)
    if node.args.get("false") is not None:
        other = exp.Not(this=exp.Is(this=wrap(condition.copy()), expression=exp.true()))
        _step(node.args["false"], (*guards, other), failures, inside_lambda)


def _coalesce(node: exp.Coalesce, guards: tuple[exp.Expr, ...], failures: list[exp.Expr], inside_lambda: bool) -> None:
    path = guards
    for child in [node.this, *node.expressions]:
        value = _step(child, path, failures, inside_lambda)
        path = (*path, is_null(value.copy()))


def _safe_form(node: exp.Expr) -> tuple[exp.Expr | None, list[exp.Expr]]:
    """The form that gives NULL instead of raising, and the operands that must be there for that to be a failure."""
    match node:
        case exp.TryCast():
            return None, []  # the author asked for NULL
        case exp.Cast():
            source = node.this.type
            if source is not None and family(source) != "unknown" and widens(source, node.to):
                return None, []
            return _typed(try_cast(node.this.copy(), node.to), node), [node.this]
        case exp.Div() | exp.Add() | exp.Sub() | exp.Mul():
            return _safe_arithmetic(node)
        case exp.Mod() | exp.IntDiv():
            if _is_nonzero(node.expression):
                return None, []
            return _typed(_safe_quotient(node), node), [node.this, node.expression]
        case exp.Neg() if is_whole(node.this.unnest().type):
            return _typed(exp.SafeSubtract(this=number(0), expression=node.this.copy()), node), [node.this]
        case exp.Abs() if is_whole(node.this.type):
            flipped = exp.SafeSubtract(this=number(0), expression=node.this.copy())
            below = exp.LT(this=node.this.copy(), expression=number(0))
            return _typed(case([(below, flipped)], node.this.copy()), node), [node.this]
        case exp.Bracket():
            return _safe_element(node)
        case exp.TsOrDsToDate() | exp.StrToTime() | exp.StrToDate() | exp.TimeStrToTime():
            return _safe_parse(node)
        case exp.Anonymous() | exp.Func():
            return _safe_call(node)
        case _:
            return None, []


def _typed(safe: exp.Expr, like: exp.Expr) -> exp.Expr:
    safe.type = like.type
    return safe


def _safe_arithmetic(node: exp.Expr) -> tuple[exp.Expr | None, list[exp.Expr]]:
    sides = [node.this, node.expression]
    kinds = [family(side.unnest().type) for side in sides]
    if not set(kinds) <= {"number", "unknown"} or any(isinstance(side, exp.Interval) for side in sides):
        return None, []
    exact = [is_whole(side.unnest().type) or is_decimal(side.unnest().type) for side in sides]
    if not isinstance(node, exp.Div) and not all(exact):
        return None, []  # floating point does not raise
    if (
        isinstance(node, exp.Div)
        and _is_nonzero(node.expression)
        and not any(is_decimal(s.unnest().type) for s in sides)
    ):
        return None, []
    safe = _SAFE_CALLS[type(node)](this=node.this.copy(), expression=node.expression.copy())
    return _typed(safe, node), sides


def _safe_quotient(node: exp.Mod | exp.IntDiv) -> exp.Expr:
    divisor = exp.Nullif(this=node.expression.unnest().copy(), expression=number(0))
    safe = exp.paren(type(node)(this=node.this.copy(), expression=divisor), copy=False)
    if isinstance(node, exp.Mod) or node.this.type is None or not node.this.type.is_type("bigint"):
        return safe
    # The least number has no counterpart: Spark raises, and has no other form of DIV.
    by_minus_one = exp.EQ(this=wrap(node.expression.copy()), expression=number(-1))
    flipped = exp.SafeSubtract(this=number(0), expression=node.this.copy())
    return case([(by_minus_one, flipped)], safe)


def _is_nonzero(node: exp.Expr) -> bool:
    inner = node.unnest()
    return isinstance(inner, exp.Literal) and not inner.is_string and float(inner.name) != 0


def _safe_element(node: exp.Bracket) -> tuple[exp.Expr | None, list[exp.Expr]]:
    base = node.this.type
    if base is None or base.this not in {exp.DataType.Type.ARRAY, exp.DataType.Type.LIST} or node.args.get("safe"):
        return None, []
    index = node.expressions[0]
    if not node.args.get("offset"):
        plain = isinstance(index, exp.Literal) and not index.is_string
        index = number(int(index.name) + 1) if plain else exp.paren(exp.Add(this=index.copy(), expression=number(1)))
    # The index must be written out by name: `offset` counts from one, as TRY_ELEMENT_AT does.
    safe = exp.Bracket(this=node.this.copy(), expressions=[index.copy()], offset=1, safe=True)
    return _typed(safe, node), [node.this, *node.expressions]


def _safe_parse(node: exp.Expr) -> tuple[exp.Expr | None, list[exp.Expr]]:
    if family(node.this.type) in {"date", "timestamp"}:
        return None, []
    wanted = "date" if isinstance(node, (exp.TsOrDsToDate, exp.StrToDate)) else "timestamp"
    target = named(wanted)
    if node.args.get("format") is None:
        return _typed(try_cast(node.this.copy(), target), node), [node.this]
    pattern = Spark().generator().format_time(node)
    if pattern is None:
        raise SqlProblem("LL225", f"`{node.sql('databricks')}` needs its format as a text in quotes")
    parsed = function("TRY_TO_TIMESTAMP", node.this.copy(), text(pattern.strip("'")))
    safe = parsed if wanted == "timestamp" else exp.Cast(this=parsed, to=target)
    return _typed(safe, node), [node.this]


def _safe_call(node: exp.Expr) -> tuple[exp.Expr | None, list[exp.Expr]]:
    name, arguments = _call_of(node)
    if name in _NO_TRY:
        raise SqlProblem("LL226", f"`{name}()` stops the whole run on a bad value and has no safe form")
    if name == "make_date" and len(arguments) == 3:
        parts = [exp.Cast(this=part.copy(), to=named("string")) for part in arguments]
        joined = function("CONCAT", parts[0], text("-"), parts[1], text("-"), parts[2])
        return try_cast(joined, named("date")), arguments
    if name in _CAST_CALLS and len(arguments) == 1:
        return try_cast(arguments[0].copy(), named(name)), arguments
    if name == "pmod":
        divisor = exp.Nullif(this=arguments[1].copy(), expression=number(0))
        return function("PMOD", arguments[0].copy(), divisor), arguments
    if name in _TRY_NAMES:
        return function(_TRY_NAMES[name], *[argument.copy() for argument in arguments]), arguments
    return None, []


def _call_of(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """A call by the name and arguments that Spark will see, whatever node the parser made of it."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower(), list(node.expressions)
    if type(node) in _NEVER_RAISE:
        return "", []  # to write each of them out, with all that is inside, is most of the work
    name, opened, rest = node.sql("databricks").partition("(")
    if not opened or name.lower() not in {*_NO_TRY, *_TRY_NAMES}:
        return "", []
    return name.lower(), list(parse_one(f"LAKELOGIC_CALL({rest}", dialect="databricks").expressions)
