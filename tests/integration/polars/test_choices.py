"""A choice of a list or a struct is computed for the rows that make it, and every row keeps its place."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl
import pytest
import sqlglot

from lakelogic.engine.polars.queries import run_query
from lakelogic.engine.polars.rows import Rows

FRAME = pl.DataFrame({"id": [1, 2, None, 4], "xs": [[1, 2], [3], None, []], "s": ["a", "b", None, "d"]})
CHOICES = {
    "CASE WHEN id > 1 THEN ARRAY(s, 'k') END": [None, ["b", "k"], None, ["d", "k"]],
    "CASE WHEN id > 1 THEN NAMED_STRUCT('a', s) END": [None, {"a": "b"}, None, {"a": "d"}],
    "CASE WHEN id > 100 THEN ARRAY(s) END": [None] * 4,
    "CASE WHEN TRUE THEN ARRAY(s) END": [["a"], ["b"], [None], ["d"]],
    "CASE WHEN NULL THEN ARRAY(s) END": [None] * 4,
    "CASE WHEN id > 1 THEN ARRAY('k') END": [None, ["k"], None, ["k"]],
    "TRANSFORM(xs, x -> CASE WHEN x > 1 THEN ARRAY(x) END)": [[None, [2]], [[3]], None, []],
}


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
@pytest.mark.parametrize("sql", CHOICES)
def test_rows_keep_their_places(sql: str, engine: Literal["streaming", "in-memory"]) -> None:
    tree = sqlglot.parse_one(f"SELECT {sql} AS y FROM t", dialect="databricks")
    rows: Any = run_query(tree, {"t": Rows(FRAME.lazy(), dict(FRAME.schema))}, {}).frame.collect(engine=engine)
    assert rows["y"].to_list() == CHOICES[sql]


def test_no_row_at_all_is_no_error() -> None:
    tree = sqlglot.parse_one(
        "SELECT CASE WHEN id > 1 THEN ARRAY(s) END AS y FROM t WHERE id > 100", dialect="databricks"
    )
    assert run_query(tree, {"t": Rows(FRAME.lazy(), dict(FRAME.schema))}, {}).frame.collect().height == 0
