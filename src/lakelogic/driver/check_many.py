"""Many contracts checked side by side.

A forked process sees what this one has loaded, so that nothing but numbers goes in and nothing but problems comes out.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from multiprocessing import get_context

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import Problem
from lakelogic.run.validate import check_declared

_WORTH_A_PROCESS = 50  # contracts; fewer are checked before a process is there
_AT_ONCE = 10
_shared: Sequence[Contract | None] = ()


def check_many(contracts: Sequence[Contract | None]) -> list[list[Problem]]:
    """What is wrong with each contract; where one could not be loaded, there is nothing to look at."""
    workers = min(_cores(), len(contracts) // _WORTH_A_PROCESS)
    if workers < 2 or not _may_fork():
        return [_check(contract) for contract in contracts]
    global _shared
    _shared = contracts
    try:
        with get_context("fork").Pool(workers) as pool:
            return pool.map(_check_shared, range(len(contracts)), _AT_ONCE)
    finally:
        _shared = ()


def _check_shared(index: int) -> list[Problem]:
    return _check(_shared[index])


def _check(contract: Contract | None) -> list[Problem]:
    return check_declared(contract) if contract is not None else []


def _may_fork() -> bool:
    # A fork copies the one thread that asks for it, and the locks that others hold for ever.
    return sys.platform == "linux" and threading.active_count() == 1


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
