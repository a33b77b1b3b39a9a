"""Types of expressions, found without an engine; mistakes that an engine would only find at run time."""

from __future__ import annotations

import datetime
from functools import lru_cache
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema

from lakelogic.plan.decimals import type_decimals
from lakelogic.plan.expressions import cast
from lakelogic.plan.model import Column
from lakelogic.plan.relation import Relation
from lakelogic.plan.sql import RESOLVE_DIALECT, SqlProblem, shorten
from lakelogic.plan.types import Family, family, named, type_name

_Query = TypeVar("_Query", bound=exp.Query)
_DIALECT = Dialect.get_or_raise(RESOLVE_DIALECT)
# Where Spark gives another type than the dialect's tables say; a year does not fit into a tinyint.
_PARTS = (exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth, exp.DayOfWeek,
          exp.DayOfYear, exp.Hour, exp.Minute, exp.Second)  # fmt: skip
_RESULTS: dict[Any, Any] = {
    **_DIALECT.EXPRESSION_METADATA,
    **{part: {"returns": exp.DataType.Type.INT} for part in _PARTS},
    exp.TimestampDiff: {"returns": exp.DataType.Type.BIGINT},
    exp.DateTrunc: {"returns": exp.DataType.Type.DATE},  # `trunc`; `date_trunc` is another node
    # A choice between integers is an integer; the dialect's tables make it a long.
    exp.Coalesce: {"annotator": lambda types, node: types._annotate_by_args(node, "this", "expressions")},
    exp.If: {"annotator": lambda types, node: types._annotate_by_args(node, "true", "false")},
}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
_TEXT_ONLY = (exp.Lower, exp.Upper, exp.Trim, exp.Like, exp.ILike, exp.RegexpLike)
_NUMBERS_ONLY = (exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Sqrt, exp.Cbrt, exp.Exp, exp.Ln, exp.Sign, exp.Pow)
_WORDS: dict[Family, str] = {"text": "text", "number": "a number", "boolean": "a boolean", "date": "a date",
                             "timestamp": "a timestamp", "binary": "binary", "complex": "a nested value"}  # fmt: skip


def annotate(expression: exp.Expr, relation: Relation) -> exp.Expr:
    """Give every node of a resolved row expression its type."""
    table = exp.From(this=exp.Table(this=exp.to_identifier("r")))
    select = exp.Select(expressions=[expression.copy()], from_=table)
    for node in select.find_all(exp.Column):
        node.set("table", exp.to_identifier("r"))
    # Lambda variables and unknown functions stay of unknown type, which every check below lets pass.
    typed = annotate_query(select, _schema(relation.columns))
    result = typed.selects[0]
    for node in list(result.find_all(exp.Column)):
        node.set("table", None)
    result.pop()
    return type_decimals(result)


def annotate_query(query: _Query, schema: Any) -> _Query:
    """Give every node of a qualified query its type."""
    typed: _Query = annotate_types(query, schema=schema, dialect=_DIALECT, expression_metadata=_RESULTS)
    return typed


@lru_cache(maxsize=256)
def _schema(columns: tuple[Column, ...]) -> MappingSchema:
    return MappingSchema({"r": {c.name: c.type for c in columns}}, dialect=_DIALECT, normalize=False)


def check_types(expression: exp.Expr) -> exp.Expr:
    """Refuse comparisons and arithmetic between families; spell out the harmless conversions."""
    # Parentheses hide the kind of what they hold; look through them.
    for node in list(expression.walk()):
        if isinstance(node, _COMPARISONS):
            _check_pair(node, node.this, node.expression)
        elif isinstance(node, exp.Between):
            _check_pair(node, node.this, node.args["low"])
            _check_pair(node, node.this, node.args["high"])
        elif isinstance(node, exp.In):
            for item in list(node.expressions):
                _check_pair(node, node.this, item)
        elif isinstance(node, _ARITHMETIC):
            _check_arithmetic(node)
        elif isinstance(node, _NUMBERS_ONLY):
            _check_number(node)
        elif isinstance(node, _TEXT_ONLY):
            _check_text(node)
        elif isinstance(node, (exp.And, exp.Or, exp.Not)):
            _check_logic(node)
    return expression


def require_boolean(expression: exp.Expr, sql: str) -> None:
    if family(expression.type) not in {"boolean", "unknown"}:
        raise SqlProblem(
            "LL223",
            f"`{shorten(sql)}` is {_WORDS[family(expression.type)]}, not a condition",
            "write a comparison, for example `amount > 0`",
        )


def _kind(node: exp.Expr) -> Family:
    return family(node.unnest().type)


def _check_pair(node: exp.Expr, left: exp.Expr, right: exp.Expr) -> None:
    kinds = (_kind(left), _kind(right))
    if kinds[0] == kinds[1] or "unknown" in kinds or set(kinds) == {"date", "timestamp"}:
        return
    for value, other in ((left, right), (right, left)):
        if _convert_literal(value, other):
            return
    raise SqlProblem(
        "LL221",
        f"`{_shown(node)}` compares {_named(left)} with {_named(right)}",
        "declare the column with the right type, or CAST one side",
    )


def _convert_literal(value: exp.Expr, other: exp.Expr) -> bool:
    """A date written as text, or a boolean written as 0 or 1: the same in every engine once spelled out."""
    kind = _kind(other)
    if isinstance(value, exp.Literal) and value.is_string and kind in {"date", "timestamp"}:
        _require_instant(value)
        type_ = other.unnest().type
        assert type_ is not None
        replacement = cast(value.copy(), type_)
        replacement.type = type_
        value.replace(replacement)
        return True
    if kind == "boolean" and isinstance(value, exp.Literal) and value.name in {"0", "1"} and not value.is_string:
        boolean = exp.Boolean(this=value.name == "1")
        boolean.type = named("boolean")
        value.replace(boolean)
        return True
    return False


def _require_instant(value: exp.Literal) -> None:
    try:
        datetime.datetime.fromisoformat(value.name.strip())
    except ValueError:
        raise SqlProblem("LL224", f"`'{value.name}'` is not a date", "write it as 'yyyy-mm-dd'") from None


def _named(node: exp.Expr) -> str:
    inner = node.unnest()
    kind = type_name(inner.type) if inner.type is not None else "unknown"
    if isinstance(inner, exp.Column):
        return f"`{inner.name}` ({kind})"
    return _WORDS.get(family(inner.type), kind)


def _check_arithmetic(node: exp.Expr) -> None:
    for side in (node.this, node.expression):
        kind = _kind(side)
        if kind in {"text", "boolean", "complex", "binary"}:
            raise SqlProblem(
                "LL222",
                f"`{_shown(node)}` calculates with {_named(side)}",
                "declare the column as a number, or CAST it",
            )


def _check_number(node: exp.Expr) -> None:
    if _kind(node.this) not in {"number", "unknown"}:
        raise SqlProblem(
            "LL222",
            f"`{_shown(node)}` needs a number, but {_named(node.this)} is not",
            "declare the column as a number, or CAST it",
        )


def _check_text(node: exp.Expr) -> None:
    kind = _kind(node.this)
    if kind not in {"text", "unknown"}:
        raise SqlProblem(
            "LL222",
            f"`{_shown(node)}` needs text, but {_named(node.this)} is not",
            f"write CAST({node.this.unnest().name or '...'} AS STRING)",
        )


def _check_logic(node: exp.Expr) -> None:
    sides = [node.this] if isinstance(node, exp.Not) else [node.this, node.expression]
    for side in sides:
        if _kind(side) not in {"boolean", "unknown"}:
            raise SqlProblem(
                "LL223",
                f"`{_shown(node)}` uses {_named(side)} as a condition",
                "write a comparison, for example `amount > 0`",
            )


def _shown(node: exp.Expr) -> str:
    """The author's words again: without the quotes that resolving added."""
    return shorten(node.sql("databricks").replace("`", ""))
