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
from lakelogic.core.versions import find_version
from lakelogic.core.window import Granularity, Window
from lakelogic.driver.outcome import Outcome
from lakelogic.engine.protocol import Engine
from lakelogic.record.run_log import RunRecord, Status, append_run
from lakelogic.run.links import FindContract
from lakelogic.run.pipeline import new_run_id
from lakelogic.run.places import find_places
from lakelogic.run.processor import DEFAULT_ENGINE, DataProcessor
from lakelogic.run.recording import describe_packs
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
        logger.error(f"'{contract.dataset}' failed: {problem}")
        return Outcome(contract.dataset, "failed", problem.message, tuple(results), problem, spent)
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
        pipeline_run_id=part.pipeline_run_id,
        approval_required=request.approval_required,
        approval_file=request.approval_file,
        references=request.references,
        find_contract=part.find_contract,
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


def hold_back(contract: Contract, request: Request, reason: str, pipeline_run_id: str | None = None) -> Outcome:
    """A contract that is not run: said, and on record."""
    logger.warning(f"'{contract.dataset}' is held back: {reason}")
    _record_skipped(contract, request, reason, pipeline_run_id)
    return Outcome(contract.dataset, "skipped", reason)


def _record_skipped(contract: Contract, request: Request, reason: str, pipeline_run_id: str | None) -> None:
    """The run log also tells of contracts that never got to their run; that it cannot must not stop the others."""
    now = request.clock.now()
    try:
        places = find_places(contract, request.settings)
        if places.state is None or places.target is None:
            return
        entry = RunRecord(
            run_id=new_run_id(now),
            dataset=contract.dataset,
            status="skipped",
            started_at=now,
            finished_at=now,
            duration_s=0.0,
            target=places.target.path,
            layer=contract.info.target_layer,
            engine=request.engine_of(contract),
            lakelogic_version=find_version("lakelogic"),
            contract_version=contract.version,
            policy_packs=describe_packs(contract),
            reason=reason,
            pipeline_run_id=pipeline_run_id,
        )
        append_run(places.state, entry)
    except LakeLogicError as error:
        logger.warning(f"'{contract.dataset}' could not be recorded: {error.problem.message}")
