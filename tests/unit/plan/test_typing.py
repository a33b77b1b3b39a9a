"""Mistakes of types are found when the contract is loaded, and harmless conversions are spelled out."""

from __future__ import annotations

import pytest
from sqlglot import exp

from lakelogic.plan.model import Column
from lakelogic.plan.relation import Relation, resolve
from lakelogic.plan.sql import SqlProblem, parse_expression
from lakelogic.plan.types import family, parse_type, type_name, widens
from lakelogic.plan.typing import annotate, check_types, require_boolean

_TYPES = {"n": "int", "s": "string", "flag": "boolean", "day": "date", "at": "timestamp"}


def typed(sql: str) -> exp.Expr:
    columns = tuple(Column(name, parse_type(type_)) for name, type_ in _TYPES.items())  # type: ignore[arg-type]
    relation = Relation("source", columns)
    checked = check_types(annotate(resolve(parse_expression(sql), relation), relation))
    require_boolean(checked, sql)
    return checked


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("s > 5", "LL221"),
        ("n = 'five'", "LL221"),
        ("flag = 2", "LL221"),
        ("n BETWEEN 'a' AND 'b'", "LL221"),
        ("s IN (1, 2)", "LL221"),
        ("day = n", "LL221"),
        ("s + 1 > 0", "LL222"),
        ("n + flag > 0", "LL222"),
        ("ABS(s) IS NULL", "LL222"),
        ("ROUND(flag) = 1", "LL222"),
        ("LOWER(n) = 'a'", "LL222"),
        ("n LIKE '1%'", "LL222"),
        ("n", "LL223"),
        ("n + 1", "LL223"),
        ("n AND flag", "LL223"),
        ("day > '2026-02-30'", "LL224"),
        ("day > 'soon'", "LL224"),
        ("nn > 0", "LL220"),
    ],
)
def test_a_mistake_of_types_is_named(sql: str, code: str) -> None:
    with pytest.raises(SqlProblem) as caught:
        typed(sql)
    assert caught.value.code == code


@pytest.mark.parametrize("sql", ["n > 5", "s = 'a'", "flag", "NOT flag", "day < at", "n IN (1, 2)", "s IS NULL"])
def test_a_sound_condition_passes(sql: str) -> None:
    assert typed(sql) is not None


@pytest.mark.parametrize(("sql", "written"), [("flag = 1", "TRUE"), ("0 = flag", "FALSE"), ("flag <> 0", "FALSE")])
def test_a_boolean_compared_with_a_number_is_spelled_out(sql: str, written: str) -> None:
    assert written in typed(sql).sql("databricks")


def test_a_date_written_as_text_is_spelled_out() -> None:
    assert typed("day >= '2026-01-01'").sql("databricks") == "`day` >= CAST('2026-01-01' AS DATE)"


def test_an_unknown_column_names_the_near_one() -> None:
    with pytest.raises(SqlProblem) as caught:
        typed("Flag = 1")
    assert caught.value.hint == "did you mean `flag`?"


@pytest.mark.parametrize(
    ("source", "target", "wider"),
    [
        ("int", "long", True),
        ("long", "int", False),
        ("int", "double", True),
        ("long", "double", False),
        ("float", "double", True),
        ("int", "string", True),
        ("date", "string", True),
        ("array<int>", "string", False),
        ("string", "int", False),
    ],
)
def test_only_casts_that_lose_nothing_widen(source: str, target: str, wider: bool) -> None:
    one, other = parse_type(source), parse_type(target)
    assert one is not None and other is not None
    assert widens(one, other) is wider


@pytest.mark.parametrize(
    ("written", "name", "kind"),
    [
        ("long", "long", "number"),
        ("DECIMAL(12, 2)", "decimal(12,2)", "number"),
        ("datetime", "timestamp", "timestamp"),
        ("array<long>", "array<long>", "complex"),
        ("struct<a:int,long:string>", "struct<a:int,long:string>", "complex"),
        ("json", "json", "text"),
    ],
)
def test_types_are_read_in_the_words_of_contracts(written: str, name: str, kind: str) -> None:
    parsed = parse_type(written)
    assert parsed is not None
    assert (type_name(parsed), family(parsed)) == (name, kind)


@pytest.mark.parametrize("written", ["integr", "interval"])
def test_what_is_no_type_is_not_read(written: str) -> None:
    assert parse_type(written) is None
