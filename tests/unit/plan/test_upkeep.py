"""When a table needs upkeep, told from its files alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakelogic.plan.upkeep import DataFile, Optimized, judge_layout, judge_log

NOW = datetime(2026, 3, 2, tzinfo=UTC)
MB = 1024 * 1024


def files(*sizes: int, partition: tuple[str, ...] = (), age_h: float = 1) -> list[DataFile]:
    return [DataFile(partition, size, NOW - timedelta(hours=age_h)) for size in sizes]


def judge(found: list[DataFile], last: Optimized | None = None, **more: Any) -> Any:
    rules = {"when": "always", "sort_by": (), "target_bytes": 128 * MB, "now": NOW, **more}
    return judge_layout(found, last, **rules)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (files(), "not needed"),
        (files(MB, MB, MB), "not needed"),
        (files(MB, MB, MB, MB), "needed"),
        (files(*[100 * MB] * 50), "not needed"),
        (files(MB, MB, partition=("a",)) + files(MB, MB, partition=("b",)), "not needed"),
    ],
)
def test_small_files_of_one_partition_are_the_evidence(found: list[DataFile], state: str) -> None:
    assert judge(found).state == state


@pytest.mark.parametrize(
    ("when", "hours", "state"),
    [
        ("always", 0, "needed"), ("hourly", 0.5, "not due"), ("hourly", 1, "needed"), ("nightly", 19, "not due"),
        ("nightly", 24, "needed"), ("weekly", 24, "not due"), ("weekly", 168, "needed"), ("never", 999, "off"),
    ],
)  # fmt: skip
def test_optimize_keeps_its_time(when: str, hours: float, state: str) -> None:
    last = Optimized(NOW - timedelta(hours=hours))
    assert judge(files(MB, MB, MB, MB), last, when=when).state == state


def test_sorting_is_for_partitions_with_enough_new_rows() -> None:
    old = files(100 * MB, partition=("a",), age_h=30) + files(100 * MB, partition=("b",), age_h=30)
    new = files(MB, partition=("a",)) + files(20 * MB, partition=("b",))
    last = Optimized(NOW - timedelta(hours=20), ("x",))
    found = judge(old + new, last, sort_by=("x",))
    assert (found.state, found.partitions) == ("needed", (("b",),))
    assert judge(old, last, sort_by=("x",)).state == "not needed"
    assert judge(old, last, sort_by=("x", "y")).evidence == "2 files, never sorted by x, y"


def test_a_log_needs_a_checkpoint_or_is_too_old() -> None:
    assert [judge_log(*numbers).state for numbers in ((9, 0), (10, 0), (0, 1))] == ["not needed", "needed", "needed"]
