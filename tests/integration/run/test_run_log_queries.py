"""The queries that docs/reference/run_log.md shows give what it says, on three engines."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.onboard.scaffold import write_scaffold

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "run_log.md"


def _snippets(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_scaffold(tmp_path / "shop")
    for _ in range(2):
        with DataProcessor("shop/contract.yaml", engine="duckdb", environ=dict(os.environ)) as processor:
            processor.run()
    return tmp_path


def _result(code: str) -> Any:
    found: dict[str, Any] = {}
    exec(code, found)
    return found["result"]


def test_failed_rules_with_duckdb(shop: Path) -> None:
    duckdb_query, _ = _snippets("python")
    failed = {name: (count, ratio) for _, name, count, ratio in _result(duckdb_query)}
    assert failed["email_has_a_domain"] == (2, pytest.approx(1 / 7))
    assert failed["email is required"] == (2, pytest.approx(1 / 7))


def test_runs_by_day_with_polars(shop: Path) -> None:
    _, polars_query = _snippets("python")
    [row] = _result(polars_query).to_dicts()
    assert (row["dataset"], row["status"], row["runs"], row["rows_read"]) == ("customers", "succeeded", 2, 14)


@pytest.mark.spark
def test_lost_rows_with_spark_sql(shop: Path, spark_session: Any) -> None:
    [query] = _snippets("sql")
    rows = spark_session.sql(query.replace("`shop/", f"`{shop}/shop/")).collect()
    assert [(row["dataset"], row["step"], row["rows_in"], row["lost"]) for row in rows] == [
        ("customers", "split", 7, 4)
    ] * 2
