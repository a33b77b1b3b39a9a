"""One contract of a pipeline run: carried out, and its failure turned into an outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import LakeLogicError, Problem
from lakelogic.core.settings import Settings
from lakelogic.core.stopping import Stop
from lakelogic.core.window import Granularity, Window
from lakelogic.driver.guard import Guard
from lakelogic.driver.outcome import Outcome
from lakelogic.driver.patience import Limits, patience_of
from lakelogic.engine.protocol import Engine
from lakelogic.record.run_log import Status
from lakelogic.run.links import FindContract
from lakelogic.run.processor import DEFAULT_ENGINE, DataProcessor
from lakelogic.run.references import ReferenceCache
from lakelogic.run.result import RunResult
from lakelogic.run.windows import Span, WindowKind, find_window, plan_backfill


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of every contract."""

    settings: Settings
    engine: str | None = None
    window: WindowKind = "last_success"
    span: Span | None = None
    backfill: Granularity | None = None  # the span in slices of this length
    only_gaps: bool = False
    wait_s: float = 0
    clock: Clock = field(default_factory=SystemClock)
    approval_required: bool = False  # closed gates hold batches, which approvals of the file release
    approval_file: str | None = None
    cache_references: bool = False  # read a link that several contracts have only once
    references: ReferenceCache | None = field(default=None, repr=False)  # of this run, where it caches them
    limits: Limits = field(default_factory=Limits)
    ignore_breaker: bool = False  # also start what failed too often
    stop: Stop = field(default_factory=Stop)  # of the whole pipeline run
    tracebacks: bool = False  # of unexpected errors, in the log: their texts may quote rows

    def engine_of(self, contract: Contract) -> str:
        return self.engine or self.settings.engine or contract.engine or DEFAULT_ENGINE

    def windows_of(self, contract: Contract, now: datetime) -> tuple[Window | None, ...]:
        """The windows that a contract is run for, one after the other; None: what is new, or everything."""
        if self.backfill is not None:
            assert self.span is not None
            return plan_backfill(contract, self.settings, self.span, self.backfill, only_gaps=self.only_gaps)
        return (find_window(contract, self.window, self.span, now),)


@dataclass(frozen=True, slots=True)
class Part:
    """What a contract is a part of: a pipeline run, maybe one that is gone on with."""

    pipeline_run_id: str | None = None
    done: tuple[Window, ...] = ()  # windows that are not run again
    find_contract: FindContract | None = None  # of an upstream


def run_member(
    contract: Contract,
    request: Request,
    open_engine: Callable[[str, Contract], Engine],
    now: datetime,
    part: Part | None = None,
) -> Outcome:
    """Run a contract for all windows that are asked for; a failure is an outcome, whatever it is."""
    begun = time.monotonic()
    logger.info(f"Starting '{contract.dataset}'")
    results: list[RunResult] = []
    problem: Problem | None = None
    try:
        with logger.contextualize(dataset=contract.dataset):
            _run(contract, request, open_engine, now, results, part or Part())
    except LakeLogicError as error:
        problem = error.problem
    except Exception as error:  # noqa: BLE001 - one contract must not take the others with it
        if request.tracebacks:
            logger.opt(exception=error).debug(f"'{contract.dataset}' failed")
        # Not the text of the error: a library may quote a row or a key in it.
        problem = Problem("LL900", f"unexpected {type(error).__name__}", hint="run it alone with --debug")
    spent = time.monotonic() - begun
    if problem is not None:
        status: Status = "interrupted" if request.stop.requested else "failed"
        logger.error(f"'{contract.dataset}' {status}: {problem}")
        return Outcome(contract.dataset, status, problem.message, tuple(results), problem, spent)
    return _outcome(contract, results, spent)


def _run(
    contract: Contract,
    request: Request,
    open_engine: Callable[[str, Contract], Engine],
    now: datetime,
    results: list[RunResult],
    part: Part,
) -> None:
    processor = DataProcessor(
        contract,
        engine=request.engine,
        settings=request.settings,
        wait_s=request.wait_s,
        clock=request.clock,
        open_engine=open_engine,
        approval_required=request.approval_required,
        approval_file=request.approval_file,
        references=request.references,
        find_contract=part.find_contract,
        guard=lambda loaded: Guard(patience_of(loaded, request.limits), request.stop, part.pipeline_run_id),
    )
    with processor:
        windows = request.windows_of(contract, now)
        for window in [each for each in windows if each is None or each not in part.done]:
            results.append(processor.run(window=window, everything=request.window == "none"))
            if results[-1].stopped:
                return


def _outcome(contract: Contract, results: list[RunResult], spent: float) -> Outcome:
    if not results:
        return Outcome(contract.dataset, "no_new_data", "all windows are done", (), None, spent)
    done = any(result.status == "succeeded" for result in results)
    last = results[-1]
    status: Status = "succeeded" if last.status == "no_new_data" and done else last.status
    return Outcome(contract.dataset, status, last.reason, tuple(results), None, spent)


def hold_back(contract: Contract, reason: str, problem: Problem | None = None) -> Outcome:
    """A contract that is not run, and why."""
    logger.warning(f"'{contract.dataset}' is held back: {reason}")
    return Outcome(contract.dataset, "skipped", reason, problem=problem)
