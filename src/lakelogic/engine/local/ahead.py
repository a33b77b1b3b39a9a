"""Work on what comes next while the last result is used."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_MOST_WORKERS = 4  # each holds a block of input and what becomes of it


def ahead(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """The results in the order of the items, a few of them made in threads before they are asked for."""
    workers = min(os.cpu_count() or 1, _MOST_WORKERS)
    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="lakelogic-ahead") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()
