"""Row rules and the limits of fields, compiled to conditions under which a row fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from sqlglot import exp

from lakelogic.contract import row_rules as r
from lakelogic.contract.model import ModelField
from lakelogic.contract.row_rules import RowRule
from lakelogic.plan.checks import Failure
from lakelogic.plan.expressions import all_of, any_of, cast, column, is_null, negate, number, text, wrap
from lakelogic.plan.model import Column
from lakelogic.plan.references import not_in_link, outside_life
from lakelogic.plan.relation import referenced
from lakelogic.plan.sql import SqlProblem, peek_expression
from lakelogic.plan.steps.columns import literal
from lakelogic.plan.types import family
from lakelogic.plan.workbench import Workbench


def rule_columns(rule: RowRule, dialect: str) -> frozenset[str]:
    """The columns that a rule speaks of, to find out whether they are there before the post steps."""
    match rule:
        case r.SqlRule():
            try:
                return referenced(peek_expression(rule.sql, rule.dialect or dialect))
            except SqlProblem:
                return frozenset()
        case r.NotNull():
            return frozenset(rule.fields)
        case r.AcceptedValues() | r.RegexMatch() | r.Range() | r.ReferentialIntegrity():
            return frozenset({rule.field})
        case r.LifecycleWindow():
            return frozenset({rule.event_ts, rule.event_key})
        case _:
            assert_never(rule)


def compile_rule(rule: RowRule, bench: Workbench) -> list[Failure]:
    """The checks that one rule makes; mistakes go to the bench."""
    failures: list[Failure] = []
    with bench.reporting(f"{rule.path}.{rule.kind}"):
        failures += _compile(rule, bench)
    return failures


def _compile(rule: RowRule, bench: Workbench) -> list[Failure]:
    match rule:
        case r.SqlRule():
            return _sql_rule(rule, bench)
        case r.NotNull():
            found = [bench.require(name) for name in rule.fields]
            return [_add(rule, bench, is_null(column(c.name)), f"{c.name} is required") for c in found]
        case r.AcceptedValues():
            found_one = bench.require(rule.field)
            words = ", ".join(str(value) for value in rule.values)
            failed = _with_null(_not_in(found_one, rule.values), column(rule.field), rule, bench)
            return [_add(rule, bench, failed, f"{rule.field} is one of {words}")]
        case r.RegexMatch():
            bench.require(rule.field)
            failed = negate(exp.RegexpLike(this=column(rule.field), expression=text(rule.pattern)))
            return [
                _add(
                    rule,
                    bench,
                    _with_null(failed, column(rule.field), rule, bench),
                    f"{rule.field} matches {rule.pattern}",
                )
            ]
        case r.Range():
            found_one = bench.require(rule.field)
            failed, words = _out_of_range(found_one, rule.min, rule.max, rule.inclusive)
            return [_add(rule, bench, _with_null(failed, column(rule.field), rule, bench), words)]
        case r.ReferentialIntegrity():
            failed = _with_null(not_in_link(rule, bench), column(rule.field), rule, bench)
            return [_add(rule, bench, failed, f"{rule.field} is in {rule.reference}.{rule.key}")]
        case r.LifecycleWindow():
            words = f"{rule.event_ts} is within the lifecycle of {rule.event_key}"
            failed = outside_life(rule, bench)
            for name in (rule.event_key, rule.event_ts):
                failed = _with_null(failed, column(name), rule, bench)
            return [_add(rule, bench, failed, words)]
        case _:
            assert_never(rule)


def _sql_rule(rule: r.SqlRule, bench: Workbench) -> list[Failure]:
    # Without declared fields nobody knows the columns before the source is seen.
    compiled = bench.condition(rule.sql, dialect=rule.dialect, strict=bool(bench.contract.fields))
    words = rule.sql.strip()
    strict = _on_null(rule, bench) == "fail"
    failed = negate(compiled.expression)
    if strict:
        failed = exp.Not(this=exp.Is(this=wrap(compiled.expression.copy()), expression=exp.true()))
    failures = []
    if compiled.failure is not None:
        # A row on which the rule cannot be computed is judged by that alone.
        failed = all_of([negate(compiled.failure), failed])
        failures.append(
            bench.builder.book.add(
                compiled.failure.copy(),
                name=rule.name or words,
                message=f"Rule error: {words}",
                category="rule_error",
                kind="rule_error",
                severity=rule.severity,
            )
        )
    return [_add(rule, bench, failed, words), *failures]


def _on_null(rule: RowRule, bench: Workbench) -> str:
    return rule.on_null or bench.contract.quality.on_null


def _with_null(failed: exp.Expr, value: exp.Expr, rule: RowRule, bench: Workbench) -> exp.Expr:
    return any_of([is_null(value), failed]) if _on_null(rule, bench) == "fail" else failed


def _add(rule: RowRule, bench: Workbench, failed: exp.Expr, words: str) -> Failure:
    return bench.builder.book.add(
        failed,
        name=rule.name or words,
        message=f"Rule failed: {words}",
        category=rule.category,
        kind="rule",
        severity=rule.severity,
    )


def field_failures(field: ModelField, bench: Workbench, *, absent_unless: exp.Expr | None) -> Iterator[Failure]:
    """The checks that a field's own limits make; `absent_unless` keeps a failed cast from counting as absence."""
    found = bench.relation.find(field.name)
    if found is None:
        return
    value = column(field.name)

    def add(failed: exp.Expr, words: str, category: str = "validity") -> Failure:
        return bench.builder.book.add(
            failed, name=f"{words}", message=f"Rule failed: {words}", category=category, kind="rule", column=field.name
        )

    if field.required and bench.contract.quality.enforce_required:
        absent = is_null(value.copy())
        failed = absent if absent_unless is None else all_of([absent, negate(absent_unless)])
        yield bench.builder.book.add(
            failed,
            name=f"{field.name} is required",
            message=f"Rule failed: {field.name} is required",
            category="completeness",
            kind="required",
            column=field.name,
        )
    if field.accepted_values:
        words = ", ".join(str(v) for v in field.accepted_values)
        yield add(_not_in(found, field.accepted_values), f"{field.name} is one of {words}")
    if field.min is not None or field.max is not None:
        failed, words = _out_of_range(found, field.min, field.max, True)
        yield add(failed, words)
    if field.pattern is not None:
        failed = negate(exp.RegexpLike(this=value.copy(), expression=text(field.pattern)))
        yield add(failed, f"{field.name} matches {field.pattern}")
    if field.min_length is not None:
        failed = exp.LT(this=exp.Length(this=value.copy()), expression=number(field.min_length))
        yield add(failed, f"{field.name} has at least {field.min_length} characters")
    if field.max_length is not None:
        failed = exp.GT(this=exp.Length(this=value.copy()), expression=number(field.max_length))
        yield add(failed, f"{field.name} has at most {field.max_length} characters")
    if field.foreign_key is not None:
        rule = r.ReferentialIntegrity(
            field=field.name, reference=field.foreign_key.reference, key=field.foreign_key.key, category="consistency"
        )
        yield _add(rule, bench, not_in_link(rule, bench), f"{field.name} is in {rule.reference}.{rule.key}")


def _not_in(found: Column, values: tuple[object, ...]) -> exp.Expr:
    items = [_as(found, value) for value in values]
    return negate(exp.In(this=column(found.name), expressions=items))


def _as(found: Column, value: object) -> exp.Expr:
    """A value of the contract in the type of the column that it is compared with."""
    kind = family(found.type)
    if kind == "text":
        return text(str(value).lower() if isinstance(value, bool) else str(value))
    if kind in {"date", "timestamp"}:
        return cast(text(str(value)), found.type)
    if kind == "number" and isinstance(value, str):
        raise SqlProblem("LL221", f"`{value}` is text, but `{found.name}` is a number", "write it without quotes")
    return literal(value)


def _out_of_range(found: Column, low: object, high: object, inclusive: bool) -> tuple[exp.Expr, str]:
    below, above = (exp.LT, exp.GT) if inclusive else (exp.LTE, exp.GTE)
    signs = (">=", "<=") if inclusive else (">", "<")
    conditions: list[exp.Expr] = []
    words = []
    if low is not None:
        conditions.append(below(this=column(found.name), expression=_as(found, low)))
        words.append(f"{found.name} {signs[0]} {low}")
    if high is not None:
        conditions.append(above(this=column(found.name), expression=_as(found, high)))
        words.append(f"{found.name} {signs[1]} {high}")
    if family(found.type) not in {"number", "date", "timestamp", "unknown"}:
        raise SqlProblem(
            "LL222",
            f"limits need a number or a date, but `{found.name}` is {family(found.type)}",
            f"declare `{found.name}` in model.fields with a number or date type; what is not declared is text",
        )
    return any_of(conditions), " and ".join(words)
