"""Try-semantics: what may raise gives NULL, and only rows that would have reached it are failures."""

from __future__ import annotations

import pytest

from lakelogic.plan.attempt import Attempt, attempt
from lakelogic.plan.model import Column
from lakelogic.plan.relation import Relation, resolve
from lakelogic.plan.sql import SqlProblem, parse_expression
from lakelogic.plan.types import parse_type
from lakelogic.plan.typing import annotate, check_types

_TYPES = {"a": "int", "b": "int", "x": "double", "s": "string", "d": "decimal(10,2)", "tags": "array<string>"}


def tried(sql: str) -> Attempt:
    columns = tuple(Column(name, parse_type(type_)) for name, type_ in _TYPES.items())  # type: ignore[arg-type]
    relation = Relation("source", columns)
    return attempt(check_types(annotate(resolve(parse_expression(sql), relation), relation)))


def shown(sql: str) -> tuple[str, str]:
    made = tried(sql)
    failure = made.failure.sql("databricks").replace("`", "") if made.failure is not None else ""
    return made.expression.sql("databricks").replace("`", ""), failure


@pytest.mark.parametrize(
    "sql",
    [
        "a > 1",
        "x / 2 > 1",
        "x + 1 > x * 2",
        "a / 2 > 1",
        "a % 2 = 0",
        "LOWER(s) = 'a'",
        "CAST(a AS BIGINT) > 1",
        "CAST(a AS STRING) = '1'",
        "CAST(a AS DOUBLE) > 1",
        "TRY_CAST(s AS INT) > 1",
        "s LIKE 'a%'",
    ],
)
def test_what_cannot_raise_stays_and_fails_no_row(sql: str) -> None:
    assert tried(sql).failure is None


def test_a_cast_tries_and_fails_rows_that_have_a_value() -> None:
    expression, failure = shown("CAST(s AS INT) > 0")
    assert expression == "TRY_CAST(s AS INT) > 0"
    assert failure == "(NOT s IS NULL) AND (TRY_CAST(s AS INT) IS NULL)"


def test_a_division_fails_rows_whose_operands_are_there() -> None:
    expression, failure = shown("a / b > 1")
    assert "TRY_DIVIDE(a, b)" in expression
    assert failure == "(NOT a IS NULL) AND (NOT b IS NULL) AND (TRY_DIVIDE(a, b) IS NULL)"


@pytest.mark.parametrize("sql", ["a + b > 0", "a - b > 0", "a * b > 0", "d * d > 0", "-a > 0", "ABS(a) > 0"])
def test_overflow_of_exact_numbers_is_a_failure(sql: str) -> None:
    assert tried(sql).failure is not None


def test_or_guards_its_right_side_by_its_left() -> None:
    _, failure = shown("b = 0 OR a / b > 1")
    assert failure.startswith("(NOT (b = 0) IS TRUE) AND")


def test_and_guards_its_right_side_by_its_left() -> None:
    _, failure = shown("b <> 0 AND a / b > 1")
    assert failure.startswith("(NOT (b <> 0) IS FALSE) AND")


def test_the_left_side_is_not_guarded() -> None:
    _, failure = shown("a / b > 1 OR b = 0")
    assert "IS TRUE" not in failure


def test_case_guards_each_arm_by_the_path_that_leads_to_it() -> None:
    _, failure = shown("CASE WHEN b = 0 THEN TRUE WHEN a = 1 THEN a / b > 1 ELSE b / a > 1 END")
    first, second = failure.split(" OR ")
    assert "NOT (b = 0) IS TRUE" in first and "(a = 1)" in first
    assert "NOT (b = 0) IS TRUE" in second and "NOT (a = 1) IS TRUE" in second


def test_coalesce_guards_each_value_by_those_before() -> None:
    _, failure = shown("COALESCE(s, CAST(CAST(s AS INT) AS STRING)) = 'x'")
    assert failure.startswith("(s IS NULL) AND")


def test_if_guards_both_arms() -> None:
    _, failure = shown("IF(b = 0, TRUE, a / b > 1)")
    assert "NOT (b = 0) IS TRUE" in failure


def test_an_index_outside_an_array_is_a_failure_but_a_null_element_is_not() -> None:
    expression, failure = shown("tags[1] = 'x'")
    assert "TRY_ELEMENT_AT" in expression.upper()
    assert "SIZE(tags) < 2" in failure.upper().replace("TAGS", "tags")


@pytest.mark.parametrize("call", ["conv(s, 10, 16)", "next_day(s, 'MO')", "elt(a, s, s)", "date_from_unix_date(a)"])
def test_a_function_without_a_safe_form_is_refused(call: str) -> None:
    with pytest.raises(SqlProblem) as caught:
        tried(f"{call} IS NOT NULL")
    assert caught.value.code == "LL226"


@pytest.mark.parametrize(
    ("sql", "safe"),
    [
        ("YEAR(s) > 2000", "TRY_CAST(s AS DATE)"),
        ("HOUR(s) > 1", "TRY_CAST(s AS TIMESTAMP)"),
        ("DATE_ADD(s, 1) > DATE '2026-01-01'", "TRY_CAST(s AS DATE)"),
        ("DATEDIFF(s, s) > 1", "TRY_CAST(s AS DATE)"),
        ("LAST_DAY(s) IS NULL", "TRY_CAST(s AS DATE)"),
        ("MONTHS_BETWEEN(s, s) > 1", "TRY_CAST(s AS TIMESTAMP)"),
        ("DATE_FORMAT(s, 'yyyy') = '2026'", "TRY_CAST(s AS TIMESTAMP)"),
        ("BIGINT(s) > 1", "TRY_CAST(s AS BIGINT)"),
        ("TO_NUMBER(s, '999') > 1", "TRY_TO_NUMBER(s, '999')"),
        ("TO_DATE(s) IS NULL", "TRY_CAST(s AS DATE)"),
        ("PMOD(a, b) > 1", "PMOD(a, NULLIF(b, 0))"),
    ],
)
def test_a_call_that_raises_on_a_bad_text_or_a_zero_tries(sql: str, safe: str) -> None:
    expression, failure = shown(sql)
    assert safe in expression
    assert "IS NULL" in failure
