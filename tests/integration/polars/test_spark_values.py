"""Expressions keep the value that Spark gave, or are refused by name: the same list as for DuckDB."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlglot
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.polars.queries import run_query
from lakelogic.engine.polars.rows import Rows

_LINES = (Path(__file__).parents[2] / "data" / "spark_values.txt").read_text(encoding="utf-8").splitlines()
_VALUES = [tuple(line.split("  =>  ")) for line in _LINES if line and not line.startswith("#")]
_WORDS = {"datetime": datetime, "Decimal": Decimal, "nan": float("nan"), "inf": float("inf"), "Row": dict}
# Polars has no map, and no fold over an array.
_REFUSED = ("map(", "map_keys(", "aggregate(")


def value_of(expression: str) -> Any:
    rows = run_query(sqlglot.parse_one(f"SELECT {expression}", dialect="databricks"), {}, {})
    frame = rows.frame.collect()
    assert list(frame.schema.values()) == list(rows.types.values()), "the compiler promised another type"
    found = frame.to_series(0).to_list()[0]
    return found.replace(tzinfo=None) if isinstance(found, datetime.datetime) else found


@pytest.mark.parametrize(("expression", "wanted"), [v for v in _VALUES if not v[0].startswith(_REFUSED)])
def test_an_expression_has_sparks_value(expression: str, wanted: str) -> None:
    found, spark = value_of(expression), eval(wanted, _WORDS)
    assert found == spark or repr(found) == repr(spark)
    assert type(found) is type(spark)


@pytest.mark.parametrize(
    "expression",
    [*[v[0] for v in _VALUES if v[0].startswith(_REFUSED)],
     "xxhash64('a')", "crc32('a')", "soundex('a')", "'a' RLIKE '(?U)a'", "'a' RLIKE '(?<=a*)b'", "'a' RLIKE '('",
     "'a' RLIKE '\\\\p{IsLatin}'", "regexp_extract('a', 'a', 2)", "regexp_replace('a', 'a', '$1')",
     "'a' LIKE 'a\\\\b'", "levenshtein('a', 'b', 2)", "date_format(DATE'2026-01-01', 'G')",
     "to_utc_timestamp(TIMESTAMP'2026-01-01', 'CET')", "percentile_approx(1, 0.5)", "some_new_function(1)",
     "months_between(DATE'2026-01-01', DATE'2026-01-02', false)",
     "cast(array(1) AS STRING)", "DATE'2026-01-02' - DATE'2026-01-01'", "1 + 'a'", "like_all('a', 'b')",
     "(SELECT 1, 2)", "(1, 2) IN (SELECT 1, 2)"],
)  # fmt: skip
def test_what_cannot_be_equal_is_refused_by_name(expression: str) -> None:
    with pytest.raises(CapabilityError, match=r"Polars engine|without Spark|no group|replacement"):
        run_query(sqlglot.parse_one(f"SELECT {expression}", dialect="databricks"), {}, {})


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("abc\n", "^abc$", True),
        ("abc\n\n", "^abc$", False),
        ("a\rb", "a.b", False),
        ("x\u00e9", r"^x\w$", False),
        ("x\u0663", r"^x\d$", False),
        ("x\u00e9", r"^x\b", False),
        ("~", "^[~~a]$", True),
    ],
)
def test_a_pattern_means_what_it_means_in_java(text: str, pattern: str, matches: bool) -> None:
    rows = Rows(pl.LazyFrame({"v": [text]}), {"v": pl.String()})
    tree = exp.select(exp.RegexpLike(this=exp.column("v"), expression=exp.Literal.string(pattern))).from_("given")
    assert run_query(tree, {"given": rows}, {}).frame.collect().item() is matches
