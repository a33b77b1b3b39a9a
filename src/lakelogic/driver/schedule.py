"""Running jobs in their order, as many at once as allowed; what builds on a failed one is held back.

Knows nothing about contracts: names, who needs whom, and a function that does the work of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Ended(Protocol):
    """How a job ended."""

    @property
    def good(self) -> bool: ...

    @property
    def failed(self) -> bool: ...

    @property
    def story(self) -> str: ...  # what became of it, to be told to those who needed it


Result = TypeVar("Result", bound=Ended)


@dataclass(frozen=True, slots=True)
class Rules:
    """Who waits for whom, and what a failure means for the others."""

    needs: Mapping[str, Sequence[str]]  # must have ended well
    after: Mapping[str, Sequence[str]] = field(default_factory=dict)  # must have ended, however
    held: Mapping[str, str] = field(default_factory=dict)  # held back from the start, and why
    max_workers: int = 4
    continue_on_error: bool = False


def run_jobs(
    order: Sequence[str],
    rules: Rules,
    work: Callable[[str], Result],
    hold_back: Callable[[str, str], Result],
    *,
    stopped: Callable[[], str | None] = lambda: None,
    after_holding: Callable[[list[Result]], None] = lambda held: None,
) -> dict[str, Result]:
    """Do the work of each job after all that it needs; `hold_back` is told of those that cannot run, and why.

    Once `stopped` gives a reason nothing new starts. `after_holding` gets those that were held back at one time.
    """
    board = _Board(tuple(order), rules, hold_back, stopped)
    with ThreadPoolExecutor(rules.max_workers, thread_name_prefix="lakelogic") as pool:
        running: dict[Future[Result], str] = {}
        try:
            while True:
                if held := board.hold_back():
                    after_holding(held)
                for name in board.ready(rules.max_workers - len(running)):
                    running[pool.submit(work, name)] = name
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    board.end(running.pop(future), future.result())
        except BaseException:
            # What runs is let finish: a batch is better committed than found half done by the next run.
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return board.in_order()


class _Board(Generic[Result]):
    """Who waits, who has ended."""

    def __init__(
        self,
        order: tuple[str, ...],
        rules: Rules,
        hold_back: Callable[[str, str], Result],
        stopped: Callable[[], str | None],
    ) -> None:
        self._order, self._rules, self._hold_back, self._stopped = order, rules, hold_back, stopped
        self._waiting = dict.fromkeys(order)
        self._ended: dict[str, Result] = {}
        self._stopped_by: str | None = None

    def end(self, name: str, result: Result) -> None:
        self._ended[name] = result
        if not result.good and not self._rules.continue_on_error and self._stopped_by is None:
            self._stopped_by = name

    def ready(self, room: int) -> list[str]:
        """The next jobs that may start, taken off the list of those that wait."""
        chosen = [name for name in self._waiting if self._may_start(name)][: max(room, 0)]
        for name in chosen:
            del self._waiting[name]
        return chosen

    def hold_back(self) -> list[Result]:
        """Take those off the list that cannot run any more; in the order of the graph, so that reasons travel down."""
        held = []
        stopped = self._stopped()
        for name in self._order:
            reason = (stopped or self._reason(name)) if name in self._waiting else None
            if reason is not None:
                del self._waiting[name]
                self._ended[name] = self._hold_back(name, reason)
                held.append(self._ended[name])
        return held

    def in_order(self) -> dict[str, Result]:
        return {name: self._ended[name] for name in self._order if name in self._ended}

    def _may_start(self, name: str) -> bool:
        awaited = (*self._needed(name), *self._rules.after.get(name, ()))
        return all(other in self._ended or other not in self._order for other in awaited)

    def _needed(self, name: str) -> tuple[str, ...]:
        return tuple(other for other in self._rules.needs.get(name, ()) if other in self._order)

    def _reason(self, name: str) -> str | None:
        if name in self._rules.held:
            return self._rules.held[name]
        bad = [other for other in self._needed(name) if other in self._ended and not self._ended[other].good]
        if bad:
            return f"upstream `{bad[0]}` {self._ended[bad[0]].story}"
        if self._stopped_by is not None:
            return f"not started: `{self._stopped_by}` {self._ended[self._stopped_by].story}"
        return None
