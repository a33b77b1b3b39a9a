"""One contract, one result: whole contracts by chance give the same tables, reasons and numbers on every engine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.laws.whole_contracts import WholeContracts

from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows
from lakelogic.testing.rows import plain

# `make laws` asks for ten times as many.
EXAMPLES = int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40"))
WITHOUT_SPARK, WITH_SPARK = EXAMPLES // 2, EXAMPLES // 10
REFUSED = "refused"
_OF_THE_RUN = {"_lakelogic_run_id"}


def _outcome(folder: Path, engine: str, spark: Any = None) -> dict[str, Any] | str:
    """All that a run says and leaves; or how it ended."""
    clock = FixedClock(datetime.fromisoformat("2026-03-28T12:00:00+00:00"))
    try:
        with DataProcessor(folder / f"{engine}.yaml", engine, spark, settings=Settings(), clock=clock) as processor:
            result = processor.run()
    except CapabilityError:
        return REFUSED
    except LakeLogicError as error:
        return f"failed: {error.problem.code} {error.problem.message}"
    tables = {name: _table(folder / engine / name) for name in ("out", "out_quarantine")}
    return {"counts": str(result.counts), "rules": {rule.name: rule.failed for rule in result.rules}, **tables}


def _table(path: Path) -> Mapping[str, Any] | None:
    """The types of a table's columns and its rows, in an order of their own."""
    if not (path / "_delta_log").exists():
        return None
    rows = ({n: plain(v) for n, v in row.items() if n not in _OF_THE_RUN} for row in read_rows(str(path)).rows)
    return {
        "columns": {field.name: str(field.type) for field in DeltaTable(str(path)).schema().fields},
        "rows": sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows),
    }


def _assert_equal(seed: int, engines: Sequence[str], folder: Path, spark: Any = None) -> None:
    WholeContracts(Random(f"whole {seed}")).write(folder, tuple(engines))
    found = {engine: _outcome(folder, engine, spark if engine == "spark" else None) for engine in engines}
    told = {engine: outcome for engine, outcome in found.items() if outcome != REFUSED}
    first = next(iter(told.values()), None)
    for engine, outcome in told.items():
        assert outcome == first, f"{next(iter(told))} and {engine} differ: {folder / f'{engine}.yaml'}"


@pytest.mark.parametrize("seed", range(WITHOUT_SPARK))
def test_a_contract_by_chance_gives_the_same_without_a_jvm(seed: int, tmp_path: Path) -> None:
    _assert_equal(seed, ("duckdb", "polars"), tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(1000, 1000 + WITH_SPARK))
def test_a_contract_by_chance_gives_on_spark_what_it_gives_without(
    seed: int, tmp_path: Path, spark_session: Any
) -> None:
    _assert_equal(seed, ("spark", "duckdb", "polars"), tmp_path, spark_session)
