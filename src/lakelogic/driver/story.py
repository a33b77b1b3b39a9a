"""A pipeline run as it is at this moment, kept by a watcher; whoever tells of it asks for a picture."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime

from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import Problem
from lakelogic.core.pipeline_run import (
    INTERRUPTED,
    REFUSED,
    RUNNING,
    WAITING,
    ContractRun,
    PipelineRun,
    RowCounts,
)
from lakelogic.core.versions import find_version
from lakelogic.driver.outcome import Outcome
from lakelogic.driver.watch import Beginning, Ending, Job
from lakelogic.run.result import Changes

_NEVER_BEGAN = "the pipeline was interrupted before it began"
_CUT_SHORT = "the pipeline was interrupted while it ran; the next run finishes or repeats its batch"
_OF_EXIT_CODE = {0: "succeeded", 5: "gate_failed"}
_CHANGES = tuple(each.name for each in fields(Changes))


class Story:
    """The first of the watchers: the others look at what it knows."""

    def __init__(
        self,
        clock: Clock | None = None,
        last_successes: Callable[[Mapping[str, Job]], Mapping[str, datetime]] | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._last_successes = last_successes
        self._lock = threading.Lock()
        self._contracts: dict[str, ContractRun] = {}
        self._run: PipelineRun | None = None

    def __str__(self) -> str:
        return "the record of the pipeline"

    @property
    def begun(self) -> bool:
        return self._run is not None

    def picture(self) -> PipelineRun:
        """The run as it is now; what still runs has lasted until now."""
        with self._lock:
            assert self._run is not None
            now = self._run.finished_at or self._clock.now()
            contracts = tuple(_until(each, now) for each in self._contracts.values())
            lasted = (now - self._run.started_at).total_seconds() if self._run.finished_at is None else None
            run = self._run if lasted is None else replace(self._run, duration_s=max(lasted, 0.0))
            return replace(run, contracts=contracts)

    def pipeline_began(self, beginning: Beginning) -> None:
        with self._lock:
            self._contracts = {name: _waiting(job) for name, job in beginning.jobs.items()}
            self._run = PipelineRun(beginning.run_id, RUNNING, beginning.started_at, version=find_version("lakelogic"))
        known = self._last_successes(beginning.jobs) if self._last_successes else {}
        with self._lock:
            for name, at in known.items():
                self._contracts[name] = replace(self._contracts[name], last_success_at=at)

    def contract_began(self, dataset: str, at: datetime) -> None:
        with self._lock:
            self._contracts[dataset] = replace(self._contracts[dataset], status=RUNNING, started_at=at)

    def contract_ended(self, outcome: Outcome, at: datetime) -> None:
        with self._lock:
            ended = _ended(self._contracts[outcome.dataset], outcome, at)
            last = at if ended.ended_well else ended.last_success_at
            self._contracts[outcome.dataset] = replace(ended, last_success_at=last)

    def contract_held(self, outcome: Outcome, at: datetime) -> None:
        with self._lock:
            self._contracts[outcome.dataset] = _ended(self._contracts[outcome.dataset], outcome, at)

    def pipeline_ended(self, ending: Ending) -> None:
        over = not (ending.interrupted or ending.result.interrupted)
        code = (ending.exit_code or ending.result.exit_code) if over else None
        status = INTERRUPTED if code is None else _OF_EXIT_CODE.get(code, "failed")
        with self._lock:
            assert self._run is not None
            self._contracts = {name: _cut(each, ending.finished_at) for name, each in self._contracts.items()}
            self._run = replace(
                self._run,
                status=status,
                exit_code=code,
                finished_at=ending.finished_at,
                duration_s=ending.result.duration_s,
            )

    def refuse(self, run_id: str, problems: tuple[Problem, ...], exit_code: int) -> None:
        """Nothing began: mistakes were found first."""
        now = self._clock.now()
        with self._lock:
            self._run = PipelineRun(
                run_id, REFUSED, now, (), now, exit_code=exit_code, problems=problems, version=find_version("lakelogic")
            )


def _waiting(job: Job) -> ContractRun:
    contract, info = job.contract, job.contract.info
    return ContractRun(
        dataset=contract.dataset,
        status=WAITING,
        layer=job.layer or info.target_layer,
        domain=info.domain,
        system=info.system,
        entity=job.entity,
        owner=info.owner,
        engine=job.engine,
        contract_version=contract.version,
        place=contract.at("dataset"),
        needs=job.needs,
        after=job.after,
    )


def _ended(before: ContractRun, outcome: Outcome, at: datetime) -> ContractRun:
    return replace(
        before,
        status=outcome.status,
        finished_at=at,
        duration_s=outcome.duration_s,
        rows=_rows(outcome),
        run_ids=tuple(result.run_id for result in outcome.results),
        failed_rules=_failed_rules(outcome),
        reason=outcome.reason,
        problem=outcome.problem,
    )


def _rows(outcome: Outcome) -> RowCounts:
    counts, changes = outcome.counts, [result.changes for result in outcome.results if result.changes]
    merged = [sum(getattr(each, name) for each in changes) for name in _CHANGES] if changes else []
    return RowCounts(counts.read, counts.accepted, counts.quarantined, *merged)


def _failed_rules(outcome: Outcome) -> tuple[tuple[str, int], ...]:
    """Only rules that set rows aside: rows that were warned of are among the accepted ones."""
    failed: dict[str, int] = {}
    for result in outcome.results:
        for rule in result.rules:
            if rule.failed and rule.severity == "error":
                failed[rule.name] = failed.get(rule.name, 0) + rule.failed
    return tuple(sorted(failed.items(), key=lambda item: -item[1]))


def _until(contract: ContractRun, now: datetime) -> ContractRun:
    if contract.status != RUNNING or contract.started_at is None:
        return contract
    return replace(contract, duration_s=max((now - contract.started_at).total_seconds(), 0.0))


def _cut(contract: ContractRun, at: datetime) -> ContractRun:
    """A contract that has no end is given the one that the interruption made."""
    if contract.status == WAITING:
        return replace(contract, status="skipped", reason=_NEVER_BEGAN, finished_at=at)
    if contract.status == RUNNING:
        return replace(_until(contract, at), status=INTERRUPTED, reason=_CUT_SHORT, finished_at=at)
    return contract
