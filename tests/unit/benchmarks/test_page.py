"""The page of benchmarks says what was measured: figures, bars that are held and missed, and nothing else."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[3]
BENCHMARKS = REPO / "benchmarks"


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module("page")
    sys.path.remove(str(BENCHMARKS))
    for name in ("page", "bars", "plots", "scaling"):
        sys.modules.pop(name, None)


def _part(numbers: Any, *, quick: bool = False) -> dict[str, Any]:
    return {"command": "python benchmarks/x.py", "took_s": 3.0, "measured_at": "2026-01-01 10:00", "quick": quick,
            "numbers": numbers}  # fmt: skip


def _load(*entries: tuple[str, str, float], rows: int, memory: int) -> dict[str, Any]:
    results = [{"source": source, "name": name, "median_s": seconds, "seconds": [seconds]}
               for source, name, seconds in entries]  # fmt: skip
    return {"rows": rows, "results": results, "driver_memory_mib": memory}


def _local(engine: str, name: str, seconds: float) -> dict[str, Any]:
    return {"engine": engine, "name": name, "median_s": seconds, "seconds": [seconds], "memory_mib": 300}


def _peer(name: str, engine: str, seconds: float, *, agrees: bool = True, rows: bool = True) -> dict[str, Any]:
    return {"peer": name, "engine": engine, "median_s": seconds, "version": "1.2.3", "row_verdicts": rows,
            "writes": "Delta", "agrees": agrees}  # fmt: skip


RESULTS = {
    "machine": {"cores": 2, "pyspark": "4.2.0"},
    "parts": {
        "same_rows": _part({**_load(("parquet", "typed copy", 4), ("parquet", "checked load", 5),
                                    ("parquet", "hand-written", 20), rows=1000, memory=100),
                            "local": [_local("duckdb", "typed copy", 1), _local("duckdb", "checked load", 2.5)]}),
        "checked_load": _part(_load(("parquet", "typed copy", 10), ("parquet", "checked load", 12),
                                    ("parquet", "hand-written", 20), ("csv", "typed copy", 10),
                                    ("csv", "checked load", 11), ("csv", "hand-written", 30),
                                    rows=10_000, memory=105)),
        "local": _part({"rows": 5000, "source": "parquet", "results": [_local("duckdb", "typed copy", 0.1),
                                                  _local("duckdb", "hand-written", 0.2),
                                                  _local("duckdb", "checked load", 0.25),
                                                  _local("polars", "hand-written", 2),
                                                  _local("polars", "checked load", 4)]}),
        "peers": _part([_peer("dqx", "spark", 40), _peer("pandera", "polars", 1.5, agrees=False),
                        _peer("soda", "duckdb", 9, rows=False),
                        {"peer": "great_expectations", "did_not_run": "no wheel"}]),
        "validate": _part([{"contracts": 1000, "median_s": 3.5}], quick=True),
    },
}  # fmt: skip


def _rows(text: str) -> dict[str, list[str]]:
    """Lines of the page's tables by their first cell."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {cells[0]: cells for cells in lines}


def test_bars_are_judged_by_the_numbers(page: Any) -> None:
    rows = _rows(page.render(RESULTS, {}))
    assert rows["checked load from Parquet against a typed copy"][2:4] == ["1.20x", "held"]
    assert rows["checked load from Parquet against hand-written PySpark"][2:4] == ["0.60x", "**missed**"]
    assert rows["checked load from CSV against hand-written PySpark"][2:4] == ["0.37x", "held"]
    assert rows["checked load on DuckDB against a script by hand"][2:4] == ["1.25x, 300 MiB against 300 MiB", "held"]
    assert rows["checked load on Polars against a script by hand"][3] == "**missed**"
    assert rows["driver process memory as rows grow"][2:4] == [
        "100 MiB at 1,000 rows, 105 MiB at 10,000",
        "held",
    ]


def test_what_was_not_measured_at_full_size_is_not_judged(page: Any) -> None:
    rows = _rows(page.render(RESULTS, {}))
    assert rows["`lakelogic validate` on 1,000 contracts"][2] == "not measured"
    assert rows["merge of a batch against a hand-written Delta MERGE"][2] == "not measured"


def test_a_faster_peer_is_named(page: Any) -> None:
    """By what we took for the peers' rows; the local loads of another size say nothing here."""
    row = _rows(page.render(RESULTS, {}))["checked load against each peer, each on its best engine"]
    assert row[2:4] == ["ours 2.5 s on DuckDB; faster: Pandera (Polars) 1.5 s", "**missed**"]


def test_a_peer_with_another_answer_or_none_is_said_so(page: Any) -> None:
    rows = _rows(page.render(RESULTS, {}))
    assert rows["Pandera 1.2.3"][-1] == "**other than ours**"
    assert rows["DQX 1.2.3"][-1] == "the same as ours"
    assert rows["Soda 1.2.3"][3] == "how many, not which"
    assert rows["Great Expectations"][-1] == "did not run: no wheel"


def test_a_missed_bar_is_explained(page: Any) -> None:
    explained = {"checked load on Polars against a script by hand": "It waits."}
    assert "by hand** (2.00x, 300 MiB against 300 MiB): It waits." in page.render(RESULTS, explained)


def test_a_day_takes_what_its_rows_and_its_runs_take(page: Any) -> None:
    scaling = importlib.import_module("scaling")
    cost = scaling.Costs(row_s=1e-5, file_s=0.0, contract_s=1.0, commit_s=1.0, log_s=0.0, validate_s=0.001)
    rows = scaling.simulate(scaling.Day(terabytes=1.31, contracts=10, cores=10, lanes=10, runs=1), cost)
    assert rows.work_s == pytest.approx(1e5)  # ten billion rows
    assert rows.seconds >= 1e4
    waiting = scaling.simulate(scaling.Day(terabytes=0, contracts=1000, cores=10, lanes=10, runs=1), cost)
    assert waiting.seconds == pytest.approx(200)  # a thousand runs of two seconds, ten at once


def test_the_page_in_the_repository_is_what_was_measured(page: Any) -> None:
    results = json.loads((BENCHMARKS / "results.json").read_text(encoding="utf-8"))
    profiles = json.loads((BENCHMARKS / "profiles.json").read_text(encoding="utf-8"))
    assert (REPO / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page.render(results, profiles)
