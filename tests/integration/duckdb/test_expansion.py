"""Calls inside of calls stay short queries, and have the values that they have when they are written out."""

from __future__ import annotations

import pytest
from sqlglot import exp
from tests.semantics.queries import Query, compute, read_queries

from lakelogic.engine.duckdb import expansion
from lakelogic.engine.duckdb.nodes import WAITING, call
from lakelogic.engine.duckdb.session import MACROS, find_macro

_DEEP = 8
_DECIMAL = ("ll_cast_decimal_10_2", "ll_from_text_decimal_10_2")
_PLAIN = [each for each in read_queries() if each.columns != "error" and "duckdb" not in each.refused]


def _parameters(name: str) -> list[str]:
    found = find_macro(name)
    assert found is not None
    return found[0].partition("(")[2].rstrip(")").split(",")


def _nested(name: str, place: int) -> exp.Expr:
    tree: exp.Expr = exp.column("x")
    for _ in range(_DEEP):
        arguments: list[exp.Expr] = [exp.column("y") for _ in _parameters(name)]
        arguments[place] = tree
        tree = call(name, *arguments)
    return tree


@pytest.mark.parametrize("name", sorted({*MACROS, *_DECIMAL} - WAITING))
def test_a_function_inside_of_itself_does_not_grow_by_powers(name: str) -> None:
    for place, _ in enumerate(_parameters(name)):
        made = expansion.bounded(_nested(name, place))
        assert expansion.written_out(made) < 2 * _DEEP * expansion.MOST_NODES


@pytest.mark.parametrize("sql", ["reverse(lower({}))", "substring({}, s.id, 9)", "lpad(CAST({} AS STRING), 3, s.k)"])
def test_a_deep_expression_has_its_value(sql: str) -> None:
    deep = "'ab'"
    for _ in range(_DEEP):
        deep = sql.format(deep)

    found = compute(f"SELECT s.id, {deep} AS x FROM source s JOIN other o ON s.id = o.id WHERE s.id = 1", "duckdb")

    assert found.rows == (f'[1, "{"aab" if "lpad" in sql else "ab"}"]',)


@pytest.mark.parametrize("query", _PLAIN[::25], ids=lambda query: query.sql)
def test_values_that_are_computed_first_are_the_same(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "MOST_NODES", 0)
    monkeypatch.setattr(expansion, "_COLUMN", 0)

    found = compute(query.sql, "duckdb")

    assert (found.columns, found.rows) == (query.columns, query.rows)
