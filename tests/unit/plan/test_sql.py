"""The author's SQL is a plain question: everything else is refused with a code and a hint."""

from __future__ import annotations

import pytest

from lakelogic.plan.sql import SqlProblem, parse_expression, parse_query


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("a > 0; b > 0", "LL202"),
        ("", "LL202"),
        ("a >", "LL201"),
        ("a = 'open", "LL201"),
        ("a AS b", "LL211"),
        ("SELECT a FROM source", "LL212"),
        ("a IN (SELECT b FROM source)", "LL213"),
        ("EXISTS (SELECT 1)", "LL213"),
        ("a > rand()", "LL205"),
        ("a = uuid()", "LL205"),
        ("a > monotonically_increasing_id()", "LL205"),
        ("raise_error('x')", "LL206"),
        ("_lakelogic_run_id = 'x'", "LL204"),
        ("_LAKELOGIC_source = 'x'", "LL204"),
    ],
)
def test_an_expression_that_is_no_plain_condition_is_refused(sql: str, code: str) -> None:
    with pytest.raises(SqlProblem) as caught:
        parse_expression(sql)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("DROP TABLE source", "LL203"),
        ("INSERT INTO x SELECT * FROM source", "LL203"),
        ("DELETE FROM source", "LL203"),
        ("MERGE INTO x USING source ON a = b WHEN MATCHED THEN DELETE", "LL203"),
        ("CREATE TABLE x AS SELECT * FROM source", "LL203"),
        ("SET x = 1", "LL203"),
        ("SELECT * FROM source; DROP TABLE x", "LL202"),
        ("SELECT rand() AS r FROM source", "LL205"),
        ("SELECT _lakelogic_source FROM source", "LL204"),
    ],
)
def test_a_step_that_is_no_select_is_refused(sql: str, code: str) -> None:
    with pytest.raises(SqlProblem) as caught:
        parse_query(sql)
    assert caught.value.code == code


def test_columns_without_from_are_added_to_all_others() -> None:
    query = parse_query("LOWER(a) AS a, b + 1 AS c")
    assert query.sql("databricks") == "SELECT *, LOWER(a) AS a, b + 1 AS c FROM source"


@pytest.mark.parametrize("sql", ["now()", "current_timestamp()", "CURRENT_TIMESTAMP", "localtimestamp()"])
def test_the_engines_clock_is_replaced_by_that_of_the_run(sql: str) -> None:
    assert parse_expression(f"a < {sql}").sql("databricks") == "a < CAST(:now AS TIMESTAMP)"


def test_the_engines_date_is_replaced_by_that_of_the_run() -> None:
    assert parse_expression("a = current_date()").sql("databricks") == "a = CAST(:today AS DATE)"


def test_parsed_sql_is_a_copy_that_may_be_changed() -> None:
    parse_expression("a > 1").set("expression", None)
    assert parse_expression("a > 1").sql() == "a > 1"
