"""One contract, one result: hundreds of small contracts by chance give the same on every engine, or are refused."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.laws.batches import REFUSED, Small, make_small, outcome

AT_ONCE = 25
FEW = 8  # what Spark needs for a plan grows faster than the plan
# Eight make two hundred contracts; `make laws` asks for two thousand, every eighth of them on Spark.
BATCHES = int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40")) // 5


def _smalls(seed: int) -> list[Small]:
    random = Random(f"batch {seed}")
    return [make_small(random) for _ in range(AT_ONCE)]


def _differences(smalls: Sequence[Small], engines: Sequence[str], folder: Path, spark: Any = None) -> list[str]:
    """What is not the same, and for which expressions; an ending for all is looked for in ever smaller halves."""
    sessions = {"spark": spark}
    found = [outcome(smalls, engine, folder / engine, spark=sessions.get(engine)) for engine in engines]
    ended = [each for each in found if isinstance(each, str)]
    if ended and len(smalls) > 1:
        halves = (smalls[: len(smalls) // 2], smalls[len(smalls) // 2 :])
        return [told for n, half in enumerate(halves) for told in _differences(half, engines, folder / str(n), spark)]
    if ended:
        same = REFUSED in ended or len(set(map(str, found))) == 1
        return [] if same else [f"{smalls[0].rule} | {smalls[0].derived}\n{dict(zip(engines, found, strict=True))}"]
    first = found[0]
    assert isinstance(first, dict)
    return [
        f"{small.rule} | {small.derived}\n{engines[0]} {first[number]}\n{engine} {other[number]}"
        for engine, other in zip(engines[1:], found[1:], strict=True)
        for number, small in enumerate(smalls)
        if isinstance(other, dict) and other[number] != first[number]
    ]


@pytest.mark.parametrize("seed", range(BATCHES))
def test_small_contracts_give_the_same_without_a_jvm(seed: int, tmp_path: Path) -> None:
    differences = _differences(_smalls(seed), ("duckdb", "polars"), tmp_path)
    assert not differences, "\n\n".join(differences)


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(0, BATCHES, 8))
def test_small_contracts_give_on_spark_what_they_give_without(seed: int, tmp_path: Path, spark_session: Any) -> None:
    few = _smalls(seed)[: AT_ONCE if BATCHES > FEW else FEW]
    differences = _differences(few, ("duckdb", "spark"), tmp_path, spark_session)
    assert not differences, "\n\n".join(differences)
