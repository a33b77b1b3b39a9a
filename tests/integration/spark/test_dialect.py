"""Spark runs what the author wrote: reading SQL and writing it again changes no value and no type."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.engine.spark.render import render
from lakelogic.plan.sql import parse_query

pytestmark = pytest.mark.spark

QUERIES = (
    "SELECT datediff(TIMESTAMP'2026-01-02 00:30:00', TIMESTAMP'2026-01-01 23:00:00') FROM VALUES (1) AS t(x)",
    "SELECT datediff(DAY, TIMESTAMP'2026-01-01 23:00:00', TIMESTAMP'2026-01-02 00:30:00') FROM VALUES (1) AS t(x)",
    "SELECT date_diff(HOUR, TIMESTAMP'2026-01-01 23:00:00', TIMESTAMP'2026-01-02 00:30:00') FROM VALUES (1) AS t(x)",
    "SELECT timestampdiff(MONTH, DATE'2026-01-31', DATE'2026-03-01') FROM VALUES (1) AS t(x)",
    "SELECT to_char(12454, '99G999'), to_varchar(78.12, '$99.99') FROM VALUES (1) AS t(x)",
    "SELECT listagg(c), listagg(c, ';'), string_agg(DISTINCT c) FROM VALUES ('a'), ('a') AS t(c)",
    "SELECT listagg(c) WITHIN GROUP (ORDER BY c DESC) FROM VALUES ('a'), (NULL), ('b') AS t(c)",
    "SELECT max_by(x, y), max_by(x, y, 2), min_by(x, y, 2) FROM VALUES ('a', 10), ('b', 50), ('c', 20) AS t(x, y)",
    "SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY c) FROM VALUES (0), (10) AS t(c)",
    "SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY c) FROM VALUES (0), (10) AS t(c)",
    "SELECT unix_date(DATE'1970-01-02'), parse_json('{\"a\": 1}') FROM VALUES (1) AS t(x)",
)


def _answer(spark: Any, sql: str) -> tuple[list[str], list[list[str]]]:
    """Types and values by their places: names of columns repeat the text of expressions."""
    frame = spark.sql(sql)
    types = [field.dataType.simpleString() for field in frame.schema.fields]
    return types, [[str(value) for value in row] for row in frame.collect()]


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_means_what_spark_takes_it_for(spark_session: Any, sql: str) -> None:
    assert _answer(spark_session, render(parse_query(sql))) == _answer(spark_session, sql)
