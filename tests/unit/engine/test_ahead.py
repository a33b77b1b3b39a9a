"""Results come in the order of their items, whatever the threads do."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from lakelogic.engine.local.ahead import ahead


def test_results_keep_the_order_of_the_items() -> None:
    def work(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number * number

    assert list(ahead(work, range(40))) == [number * number for number in range(40)]
    assert list(ahead(work, [])) == []


def test_a_failure_comes_where_its_result_would() -> None:
    def work(number: int) -> float:
        return 1 / (number - 5)

    seen = []
    with pytest.raises(ZeroDivisionError):
        for result in ahead(work, range(20)):
            seen.append(result)
    assert len(seen) == 5


def test_items_are_not_read_far_ahead_of_what_is_used() -> None:
    read = []

    def items() -> Iterator[int]:
        for number in range(1000):
            read.append(number)
            yield number

    results = ahead(lambda number: number, items())
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert len(read) < 10
