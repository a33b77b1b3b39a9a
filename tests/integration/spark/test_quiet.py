"""What PySpark writes of an error by itself holds values of rows, and does not reach the terminal."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core.errors import RunError
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor

CONTRACT = """
version: "1.0.0"
dataset: totals
source: { path: input.csv }
model:
  fields: [{ name: k, type: int }, { name: s, type: string, pii: true }]
transformations:
  - { sql: "SELECT k, SUM(CAST(s AS INT)) AS n FROM source GROUP BY k", phase: post }
materialization: { strategy: overwrite, target_path: out }
"""


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.mark.spark
def test_an_error_that_spark_raises_is_told_by_us_alone(tmp_path: Path, spark_session: Any) -> None:
    (tmp_path / "contract.yaml").write_text(CONTRACT, encoding="utf-8")
    (tmp_path / "input.csv").write_text("k,s\n1,5\n1,topsecret\n", encoding="utf-8")
    heard, talker = _Heard(), logging.getLogger("SQLQueryContextLogger")
    talker.addHandler(heard)
    try:
        with (
            DataProcessor(tmp_path / "contract.yaml", "spark", spark_session, settings=Settings()) as processor,
            pytest.raises(RunError) as told,
        ):
            processor.run()
        assert "topsecret" not in str(told.value)
        assert heard.texts == []
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            spark_session.sql("SELECT CAST('theirs' AS INT)").collect()
        assert any("theirs" in text for text in heard.texts)  # what others do in this session is not ours to hide
    finally:
        talker.removeHandler(heard)
