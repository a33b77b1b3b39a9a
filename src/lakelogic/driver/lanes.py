"""Threads that runs are carried out in, while another one watches.

A lane is used again for the next run, because each thread that ever spoke to Spark keeps a connection to its JVM. One
that a run does not leave in time is never used again; it does not keep the process from ending.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class Lane:
    """One thread that does what it is given, in order."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, name="lakelogic-lane", daemon=True).start()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Have the lane do some work, in the context (of log lines, for one) of the caller."""
        future: Future[Result] = Future()
        context = copy_context()
        self._waiting.put(lambda: _carry_out(future, lambda: context.run(work)))
        return future

    def _work(self) -> None:
        while True:
            self._waiting.get()()


def _carry_out(future: Future[Any], work: Callable[[], Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
        future.set_exception(error)


_idle: list[Lane] = []
_guard = threading.Lock()


def take_lane() -> Lane:
    """A lane for the caller alone."""
    with _guard:
        return _idle.pop() if _idle else Lane()


def give_back(lane: Lane) -> None:
    """Let others use a lane whose work has ended."""
    with _guard:
        _idle.append(lane)
