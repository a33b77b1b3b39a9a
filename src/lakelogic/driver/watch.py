"""Who is told while a pipeline runs: progress, summaries, metrics, state files.

A watcher is called by one thread at a time, though not always by the same one, and in an order that makes sense:
`pipeline_began` first, `contract_ended` of whatever a contract needs before its own `contract_began`, and
`pipeline_ended` last, also when the run is interrupted. It should be quick, because contracts wait for it. What it
raises is logged once and stops nobody: the data matters more than who hears of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.contract.info import Layer
from lakelogic.core.clock import Clock
from lakelogic.core.errors import LakeLogicError
from lakelogic.driver.outcome import Outcome, PipelineResult


@dataclass(frozen=True, slots=True)
class Job:
    """A contract that a pipeline run has to do with."""

    contract: Contract = field(repr=False)
    engine: str
    layer: Layer | None = None
    entity: str | None = None
    needs: tuple[str, ...] = ()  # datasets that must have ended well before
    after: tuple[str, ...] = ()  # datasets that must have ended before, however

    @property
    def dataset(self) -> str:
        return self.contract.dataset


@dataclass(frozen=True, slots=True)
class Beginning:
    """A pipeline run before its first contract."""

    run_id: str  # of the pipeline; each contract has run ids of its own
    started_at: datetime
    jobs: Mapping[str, Job]  # by dataset, in an order in which they could run
    max_workers: int = 1


@dataclass(frozen=True, slots=True)
class Ending:
    """A pipeline run after its last contract."""

    result: PipelineResult  # with the outcomes that there are: an interrupted run has not one for each job
    finished_at: datetime
    interrupted: bool = False
    exit_code: int | None = None  # where it is another than the result says


class Watcher(Protocol):
    """Somebody who is told what a pipeline run does."""

    def pipeline_began(self, beginning: Beginning) -> None: ...

    def contract_began(self, dataset: str, at: datetime) -> None: ...

    def contract_ended(self, outcome: Outcome, at: datetime) -> None: ...

    def contract_held(self, outcome: Outcome, at: datetime) -> None:
        """It is not run; `outcome.reason` says why."""

    def pipeline_ended(self, ending: Ending) -> None: ...


class Watchers:
    """Several watchers as one that never raises; a watcher itself, so that they can be nested."""

    def __init__(self, watchers: Iterable[Watcher] = ()) -> None:
        self._watchers = tuple(watchers)
        self._lock = threading.RLock()
        self._complained: set[int] = set()

    def pipeline_began(self, beginning: Beginning) -> None:
        self.tell(lambda watcher: watcher.pipeline_began(beginning))

    def contract_began(self, dataset: str, at: datetime) -> None:
        self.tell(lambda watcher: watcher.contract_began(dataset, at))

    def contract_ended(self, outcome: Outcome, at: datetime) -> None:
        self.tell(lambda watcher: watcher.contract_ended(outcome, at))

    def contract_held(self, outcome: Outcome, at: datetime) -> None:
        self.tell(lambda watcher: watcher.contract_held(outcome, at))

    def pipeline_ended(self, ending: Ending) -> None:
        self.tell(lambda watcher: watcher.pipeline_ended(ending))

    def tell(self, say: Callable[[Watcher], None]) -> None:
        """Tell each of them something; none can keep it from the others."""
        with self._lock:
            for number, watcher in enumerate(self._watchers):
                try:
                    say(watcher)
                except Exception as error:  # noqa: BLE001 - whoever watches must not stop what is watched
                    self._complain(number, watcher, error)

    def _complain(self, number: int, watcher: Watcher, error: Exception) -> None:
        if number in self._complained:
            return
        self._complained.add(number)
        # Not the text of a foreign error: a library may quote an address with its password in it.
        why = error.problem.message if isinstance(error, LakeLogicError) else f"unexpected {type(error).__name__}"
        logger.warning(f"{watcher}: {why}; the pipeline goes on without it")


class Telling:
    """Carries out jobs and tells of them; what became of them is kept for the end, also for an early one."""

    def __init__(self, watch: Watcher, beginning: Beginning, clock: Clock) -> None:
        self._watch, self._beginning, self._clock = watch, beginning, clock
        self._begun = time.monotonic()
        self._known: dict[str, Outcome] = {}

    def run(self, dataset: str, work: Callable[[], Outcome]) -> Outcome:
        self._watch.contract_began(dataset, self._clock.now())
        outcome = self._known[dataset] = work()
        self._watch.contract_ended(outcome, self._clock.now())
        return outcome

    def hold(self, outcome: Outcome) -> Outcome:
        self._known[outcome.dataset] = outcome
        self._watch.contract_held(outcome, self._clock.now())
        return outcome

    @property
    def result(self) -> PipelineResult:
        outcomes = {name: self._known[name] for name in self._beginning.jobs if name in self._known}
        return PipelineResult(outcomes, time.monotonic() - self._begun, self._beginning.run_id)


@contextmanager
def telling(watchers: Iterable[Watcher], beginning: Beginning, clock: Clock) -> Iterator[Telling]:
    """Tell watchers of the beginning and, whatever happens, of the end."""
    watch = Watchers(watchers)
    told = Telling(watch, beginning, clock)
    watch.pipeline_began(beginning)
    interrupted = True
    try:
        yield told
        interrupted = False
    finally:
        watch.pipeline_ended(Ending(told.result, clock.now(), interrupted))
