"""One contract, one result: hundreds of small contracts by chance give the same on every engine, or are refused.

What Spark gives for the first two hundred is kept in `tests/data/spark_small_contracts.txt`, so that each run of the
tests compares all of them with Spark and asks Spark itself about a few. `make laws` asks it about two thousand.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.laws.batches import KEPT, REFUSED, Small, digest, each_outcome, kept_answers, smalls_of

FEW = 8  # what Spark needs for a plan grows faster than the plan
BATCHES = int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40")) // 5
ASKED = range(BATCHES) if BATCHES > KEPT else range(0, BATCHES, KEPT)


def _differences(smalls: list[Small], found: dict[str, dict[int, str]]) -> list[str]:
    """What engines that do not refuse it give otherwise than the first of them."""
    told = []
    for number, small in enumerate(smalls):
        answers = {engine: each[number] for engine, each in found.items() if each.get(number, REFUSED) != REFUSED}
        if len(set(answers.values())) > 1:
            lines = "\n".join(f"{engine} {answer}" for engine, answer in answers.items())
            told.append(f"{small.rule} | {small.derived}\n{lines}")
    return told


@pytest.mark.parametrize("seed", range(BATCHES))
def test_small_contracts_give_the_same_without_a_jvm(seed: int, tmp_path: Path) -> None:
    smalls = smalls_of(seed)
    found = {engine: each_outcome(smalls, engine, tmp_path / engine) for engine in ("duckdb", "polars")}
    differences = _differences(smalls, found)
    assert not differences, "\n\n".join(differences)
    if seed < KEPT:
        kept = {"spark": kept_answers(seed)}
        digests = {engine: {n: digest(told) for n, told in each.items()} for engine, each in found.items()}
        differences = _differences(smalls, {**digests, **kept})
        assert not differences, "\n\n".join(differences)


@pytest.mark.spark
@pytest.mark.parametrize("seed", ASKED)
def test_small_contracts_give_on_spark_what_they_give_without(seed: int, tmp_path: Path, spark_session: Any) -> None:
    smalls = smalls_of(seed)[: None if BATCHES > KEPT else FEW]
    found = {
        "duckdb": each_outcome(smalls, "duckdb", tmp_path / "duckdb"),
        "spark": each_outcome(smalls, "spark", tmp_path / "spark", spark=spark_session),
    }
    differences = _differences(smalls, found)
    assert not differences, "\n\n".join(differences)
    if seed < KEPT:
        kept = kept_answers(seed)
        assert {n: digest(told) for n, told in found["spark"].items()} == {n: kept[n] for n in found["spark"]}
