"""The law of histories: what a table shows depends on what was observed, never on when it arrived.

LAKELOGIC_LAW_EXAMPLES asks for more histories than the default.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.laws.histories import END, START, alive, broken_laws, histories, oracle
from tests.laws.history_table import History

from lakelogic.engine.registry import open_engine

ENGINES = ("duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark))
EXAMPLES = max(500, 5 * int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40")))
BATCHES = 4


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    """What computes the rows of a history."""
    if request.param == "spark":
        yield request.getfixturevalue("spark_session")
        return
    opened = open_engine(request.param)
    yield opened
    opened.close()


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[random.Random]:
    """Commits fail where LAKELOGIC_FAULT says, as on a failing disk."""
    monkeypatch.setenv("LAKELOGIC_FAULT_MODE", "raise")
    yield random.Random(3)


def test_a_history_does_not_depend_on_the_order_of_arrival(
    engine: Any, tmp_path: Path, faults: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed = histories(EXAMPLES, seed=11)
    expected = oracle(observed)
    assert broken_laws(expected) == []

    at_once = History(engine, tmp_path / "at_once")
    at_once.feed(sorted(observed, key=lambda seen: seen.at))
    at_once.commit()
    assert at_once.versions() == expected

    shuffled = History(engine, tmp_path / "shuffled")
    faults.shuffle(observed)
    for number in range(BATCHES):
        # What was delivered once may come again.
        again = faults.sample(observed, len(observed) // 20)
        shuffled.feed([*observed[number::BATCHES], *again])
        _commit_with_trouble(shuffled, number, monkeypatch)
    assert shuffled.versions() == expected


def _commit_with_trouble(history: History, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop between the commits in some batches, start again, and start once more when all is done."""
    point = (None, "after_store_commit", "after_history_files", "after_history_scratch")[number]
    if point is not None:
        monkeypatch.setattr("lakelogic.core.faults._reached", Counter())
        monkeypatch.setenv("LAKELOGIC_FAULT", point)
        with pytest.raises(OSError, match=point):
            history.commit()
        monkeypatch.delenv("LAKELOGIC_FAULT")
    done = history.commit()
    again = history.commit()
    assert (again.skipped, again.version) == (True, done.version)


def test_at_any_instant_a_living_key_has_one_version() -> None:
    observed = histories(EXAMPLES, seed=12)
    versions = oracle(observed)
    for hours in range(-1, 14):
        instant = START + timedelta(hours=hours)
        shown = [v.key for v in versions if v.valid_from <= instant < v.valid_to]
        assert len(shown) == len(set(shown))
        assert set(shown) == alive(observed, instant)
    assert {v.key for v in versions if v.current} == alive(observed, END)
