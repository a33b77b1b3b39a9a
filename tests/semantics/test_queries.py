"""Queries give the rows and the types that Spark gave for them, on every engine, or are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.semantics.queries import FILE, Query, ask_spark, compute, plan, read_queries, views

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.plan.sql import SqlProblem

QUERIES = read_queries()
REFUSED = (FILE.parent / "spark_refuses.txt").read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.sql)
def test_a_query_gives_what_spark_gives(query: Query, engine: str) -> None:
    if engine in query.refused:
        with pytest.raises(CapabilityError):
            compute(query.sql, engine)
    elif query.columns == "error":
        with pytest.raises(RunError):
            compute(query.sql, engine)
    else:
        found = compute(query.sql, engine)
        assert found.columns == query.columns
        assert found.rows == query.rows


@pytest.mark.parametrize("sql", REFUSED)
def test_what_spark_refuses_is_refused_at_load_time(sql: str) -> None:
    with pytest.raises(SqlProblem, match="Spark SQL has no"):
        plan(sql)


@pytest.mark.spark
def test_spark_refuses_them(spark_session: Any) -> None:
    from pyspark.errors import AnalysisException

    with views(spark_session):
        for sql in REFUSED:
            with pytest.raises(AnalysisException):
                spark_session.sql(sql)


@pytest.mark.spark
def test_spark_gives_the_same_for_the_text_and_for_its_plan(spark_session: Any) -> None:
    differ = []
    with views(spark_session):
        for query in QUERIES[::8]:
            if query.columns == "error":
                continue
            given = ask_spark(query.sql, spark_session), compute(query.sql, "spark", spark_session)
            differ += [query.sql for found in given if (found.columns, found.rows) != (query.columns, query.rows)]
    assert differ == []
