"""One contract, one result, exactly once: tables that change over several batches are the same on every engine.

After each batch the rows and types of target and quarantine, the counts and the ledger are compared: of engines alone,
and of engines that take turns on one table. A rerun changes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.laws.changes_runs import compare

# `make laws` asks for ten times as many.
EXAMPLES = int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40"))
WITHOUT_SPARK, WITH_SPARK = EXAMPLES // 20, EXAMPLES // 40


@pytest.mark.parametrize("seed", range(WITHOUT_SPARK))
def test_engines_without_a_jvm_may_take_turns_on_a_table(seed: int, tmp_path: Path) -> None:
    compare(seed, ("duckdb", "polars"), tmp_path / "estate")


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(2023, 2023 + WITH_SPARK))
def test_spark_may_take_turns_with_the_others(seed: int, tmp_path: Path, spark_session: Any) -> None:
    compare(seed, ("spark", "duckdb", "polars"), tmp_path / "estate", spark_session)
