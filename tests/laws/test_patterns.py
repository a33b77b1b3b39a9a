"""A regular expression finds on every engine what it finds in Java, or is refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp
from tests.laws.patterns import SUBJECTS, make_pattern

from lakelogic.core.errors import CapabilityError
from lakelogic.core.keys import derive_keys
from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.session import Session
from lakelogic.engine.local.java_regex.rows import compiled, regex_extract, regex_replace, regex_split, regex_test
from lakelogic.engine.polars.queries import Rows, run_query

PATTERNS = 3 * int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40"))
# What SQL says, and the function in Python that is Java's: Spark's values are compared with it below.
_WAYS: tuple[tuple[str, Callable[[str, str], Any]], ...] = (
    ("s RLIKE {}", regex_test),
    ("regexp_replace(s, {}, '<$0>')", lambda text, pattern: regex_replace(text, pattern, "<$0>")),
    ("regexp_extract(s, {}, 0)", lambda text, pattern: regex_extract(text, pattern, 0)),
    ("split(s, {})", lambda text, pattern: regex_split(text, pattern, -1)),
)


def _patterns(seed: str, count: int) -> Iterator[str]:
    """Patterns that are not refused."""
    random = Random(seed)
    while count:
        pattern = make_pattern(random)
        try:
            compiled(pattern)
        except CapabilityError:
            continue
        if pattern:
            count -= 1
            yield pattern


def _query(patterns: list[str], sql: str) -> exp.Expr:
    quoted = [exp.Literal.string(pattern).sql("databricks") for pattern in patterns]
    columns = [f"{sql.format(text)} AS x{number}" for number, text in enumerate(quoted)]
    return sqlglot.parse_one(f"SELECT {', '.join(columns)} FROM given", dialect="databricks")


def _on_duckdb(tree: exp.Expr) -> list[list[Any]]:
    session = Session(derive_keys("secret"))
    session.connection.register("given", pa.table({"s": SUBJECTS}))
    try:
        table = session.query(Relations(session).sql(tree)).to_arrow_table()
    finally:
        session.close()
    return [column.to_pylist() for column in table.columns]


def _on_polars(tree: exp.Expr) -> list[list[Any]]:
    given = Rows(pl.LazyFrame({"s": SUBJECTS}), {"s": pl.String()})
    return [column.to_list() for column in run_query(tree, {"given": given}, {}).frame.collect().get_columns()]


@pytest.mark.parametrize(("sql", "java"), _WAYS, ids=[sql.split("(")[0].strip() for sql, _ in _WAYS])
@pytest.mark.parametrize("run", [_on_duckdb, _on_polars])
def test_an_engine_without_java_finds_what_java_finds(
    run: Callable[[exp.Expr], list[list[Any]]], sql: str, java: Callable[[str, str], Any]
) -> None:
    patterns = list(_patterns(sql, PATTERNS // 6))
    wanted = {pattern: [java(text, pattern) for text in SUBJECTS] for pattern in patterns}
    found = dict(zip(patterns, run(_query(patterns, sql)), strict=True))
    assert {pattern: found[pattern] for pattern in patterns if found[pattern] != wanted[pattern]} == {}


@pytest.mark.spark
def test_what_java_finds_is_what_spark_gives(spark_session: Any) -> None:
    pairs = [(text, pattern) for pattern in _patterns("spark", PATTERNS // 2) for text in SUBJECTS]
    frame = spark_session.createDataFrame(pairs, "s string, p string")
    given = frame.selectExpr(*[f"{sql.format('p')} AS x{number}" for number, (sql, _) in enumerate(_WAYS)]).collect()
    wrong = [
        (pattern, text, sql, row[number])
        for (text, pattern), row in zip(pairs, given, strict=True)
        for number, (sql, java) in enumerate(_WAYS)
        if row[number] != java(text, pattern)
    ]
    assert wrong == []
