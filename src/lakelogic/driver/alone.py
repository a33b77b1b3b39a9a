"""A contract that is run alone, told to watchers as a pipeline of one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from lakelogic.contract.contract import Contract
from lakelogic.core.clock import Clock
from lakelogic.core.errors import LakeLogicError, Problem
from lakelogic.driver.outcome import EXIT_FAILED, Outcome, PipelineResult
from lakelogic.driver.watch import Beginning, Ending, Job, Watcher, Watchers
from lakelogic.run.pipeline import new_run_id
from lakelogic.run.result import RunResult


@contextmanager
def telling_alone(
    contract: Contract, engine: str, watchers: Iterable[Watcher], clock: Clock
) -> Iterator[list[RunResult]]:
    """Tell of what happens in a block, which adds its results to the list; what it raises is told, and raised."""
    watch, results = Watchers(watchers), list[RunResult]()
    now, begun = clock.now(), time.monotonic()
    jobs = {contract.dataset: Job(contract, engine, contract.info.target_layer)}
    beginning = Beginning(new_run_id(now), now, jobs)
    problem: Problem | None = None
    code: int | None = None
    interrupted = True
    watch.pipeline_began(beginning)
    watch.contract_began(contract.dataset, now)
    try:
        yield results
        interrupted = False
    except LakeLogicError as error:
        problem, code, interrupted = error.problem, error.exit_code, False
        raise
    except Exception as error:
        # Not the text of the error: a library may quote a row or a key in it.
        problem, code, interrupted = Problem("LL900", f"unexpected {type(error).__name__}"), EXIT_FAILED, False
        raise
    finally:
        outcomes = {}
        if not interrupted:
            outcome = _outcome(contract.dataset, tuple(results), problem, time.monotonic() - begun)
            outcomes = {contract.dataset: outcome}
            watch.contract_ended(outcome, clock.now())
        result = PipelineResult(outcomes, time.monotonic() - begun, beginning.run_id)
        watch.pipeline_ended(Ending(result, clock.now(), interrupted, code))


def _outcome(dataset: str, results: tuple[RunResult, ...], problem: Problem | None, spent: float) -> Outcome:
    if problem is not None:
        return Outcome(dataset, "failed", problem.message, results, problem, spent)
    if not results:
        return Outcome(dataset, "no_new_data", "all windows are done", (), None, spent)
    last = results[-1]
    done = any(result.status == "succeeded" for result in results)
    status = "succeeded" if last.status == "no_new_data" and done else last.status
    return Outcome(dataset, status, last.reason, results, None, spent)
