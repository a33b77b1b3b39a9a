"""Expressions keep the value that Spark gave. Only those that agree are listed: see docs/reference/engines.md."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot

from lakelogic.core.errors import CapabilityError
from lakelogic.core.keys import derive_keys
from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.session import Session

_LINES = (Path(__file__).parents[2] / "data" / "spark_values.txt").read_text(encoding="utf-8").splitlines()
_VALUES = [tuple(line.split("  =>  ")) for line in _LINES if line and not line.startswith("#")]
_WORDS = {"datetime": datetime, "Decimal": Decimal, "nan": float("nan"), "inf": float("inf"), "Row": dict}


@pytest.fixture(scope="module")
def relations() -> Iterator[Relations]:
    session = Session(derive_keys("secret"))
    yield Relations(session)
    session.close()


def value_of(relations: Relations, expression: str) -> Any:
    sql = relations.sql(sqlglot.parse_one(f"SELECT {expression}", dialect="databricks"))
    table = relations.session.query(sql).to_arrow_table()
    found = table.column(0).to_pylist()[0]
    return found.replace(tzinfo=None) if isinstance(found, datetime.datetime) else found


@pytest.mark.parametrize(("expression", "wanted"), _VALUES)
def test_an_expression_has_sparks_value(relations: Relations, expression: str, wanted: str) -> None:
    found, spark = value_of(relations, expression), eval(wanted, _WORDS)
    assert found == spark or repr(found) == repr(spark)


@pytest.mark.parametrize(
    "expression",
    ["xxhash64('a')", "crc32('a')", "soundex('a')", "'a' RLIKE '(?U)a'", "'a' RLIKE '(?<=a*)b'", "'a' RLIKE '('",
     "'a' RLIKE '\\\\p{IsLatin}'", "regexp_extract('a', 'a', 2)", "regexp_replace('a', 'a', '$1')",
     "'a' LIKE 'a\\\\b'", "levenshtein('a', 'b', 2)", "date_format(DATE'2026-01-01', 'G')",
     "to_utc_timestamp(TIMESTAMP'2026-01-01', 'CET')",
     "percentile_approx(1, 0.5)", "some_new_function(1)"],
)  # fmt: skip
def test_what_cannot_be_equal_is_refused_by_name(relations: Relations, expression: str) -> None:
    with pytest.raises(CapabilityError, match=r"DuckDB engine cannot|without Spark|no group|replacement"):
        relations.sql(sqlglot.parse_one(f"SELECT {expression}", dialect="databricks"))


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("abc\n", "^abc$", True),
        ("abc\n\n", "^abc$", False),
        ("a\rb", "a.b", False),
        ("x\u00e9", r"^x\w$", False),
    ],
)
def test_a_pattern_means_what_it_means_in_java(relations: Relations, text: str, pattern: str, matches: bool) -> None:
    relations.session.connection.register("given", pa.table({"v": [text]}))
    tree = sqlglot.exp.select(
        sqlglot.exp.RegexpLike(this=sqlglot.exp.column("v"), expression=sqlglot.exp.Literal.string(pattern))
    ).from_("given")
    assert relations.session.run(relations.sql(tree)).fetchall()[0][0] is matches
