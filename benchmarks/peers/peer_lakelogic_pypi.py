"""The package `lakelogic` of PyPI (another project) on DuckDB, its faster engine: row verdicts, two Delta tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from common import measure
from loguru import logger
from workload import contract

from lakelogic import DataProcessor

logger.remove()


def its_contract(path: str) -> str:
    """The same contract in its grammar: rules need names, sources a type, and patterns are a rule of their own."""
    text = contract(path).replace("source: {", "source: { type: landing,").replace("dataset:", 'version: "1"\ndataset:')
    heads = iter(range(1, 1000))
    text = re.sub(r"    - sql: >-\n", lambda _: f"    - name: rule_{next(heads)}\n      sql: >-\n", text)
    return re.sub(r"      sql: >-\n        (\w+) RLIKE '(.*)'\n", _pattern, text)


def _pattern(found: re.Match[str]) -> str:
    pattern = found[2].replace("\\\\", "\\")
    return f"      regex_match: {{ field: {found[1]}, pattern: '{pattern}' }}\n"


def job(path: str, out: Path) -> dict[str, Any]:
    (out / "contract.yaml").write_text(its_contract(path))
    result = DataProcessor(str(out / "contract.yaml"), engine="duckdb").run_source(path)
    result.good.write_delta(str(out / "good"))
    result.bad.write_delta(str(out / "bad"))
    return {"read": result.source_count, "good": result.good_count, "bad": result.bad_count}


if __name__ == "__main__":
    measure("lakelogic", "duckdb", job, row_verdicts=True, writes="Delta, good and bad rows")
