"""Attempts at a run: watched from outside, stopped when they take too long or somebody asks, and tried again.

An attempt runs in a lane of its own. Another one begins only when it has ended: where it does not stop within its
grace, the run fails and nothing is tried again, because two attempts at once is what a time limit must not lead to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from itertools import count
from typing import TypeVar

from loguru import logger
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from lakelogic.contract.duration import render_duration
from lakelogic.core.errors import LakeLogicError, RunError
from lakelogic.core.stopping import NOT_STOPPED, Stop, StopReason, timed_out
from lakelogic.driver.lanes import Lane, give_back, take_lane
from lakelogic.driver.patience import Patience
from lakelogic.run.attempt import Attempt
from lakelogic.run.stopped import error_of

Result = TypeVar("Result")
MOST_BACKOFF_S = 300.0
_POLL_S = 0.2


class Guard:
    """Carries out the runs of one contract, one after the other."""

    def __init__(self, patience: Patience, stop: Stop | None = None, pipeline_run_id: str | None = None) -> None:
        self._patience, self._stop = patience, stop or Stop()
        self._pipeline_run_id = pipeline_run_id
        self._lane: Lane | None = None
        self.lost = False  # an attempt did not stop; what it uses must be left alone

    def run(self, work: Callable[[Attempt], Result], interrupt: Callable[[], None]) -> Result:
        """Do the work, and again while it fails with an error that says it may be retried.

        `interrupt` breaks off what the work is doing; it is called from this thread, again and again until it ends.
        """
        numbers = count(1)
        retrying = Retrying(
            retry=retry_if_exception(_is_retryable),
            stop=stop_after_attempt(1 + self._patience.retries),
            # Full jitter: many that failed together do not come back together.
            wait=wait_random_exponential(self._patience.backoff.total_seconds(), MOST_BACKOFF_S),
            sleep=self._stop.sleep,
            before_sleep=self._tell_retry,
            reraise=True,
        )
        return retrying(lambda: self._attempt(work, interrupt, next(numbers)))

    def close(self) -> None:
        """Give the lane back; a lost one is left to itself."""
        if self._lane is not None and not self.lost:
            give_back(self._lane)
        self._lane = None

    def _attempt(self, work: Callable[[Attempt], Result], interrupt: Callable[[], None], number: int) -> Result:
        self._stop.check()
        stop = Stop(self._stop)
        attempt = Attempt(number, self._pipeline_run_id, stop)
        if self._lane is None:
            self._lane = take_lane()
        future = self._lane.submit(lambda: work(attempt))
        self._watch(future, stop, interrupt)
        try:
            return future.result()
        except Exception as error:
            told = error_of(stop, error)
            if told is error or _same(told, error):
                raise
            raise told from error

    def _watch(self, future: Future[Result], stop: Stop, interrupt: Callable[[], None]) -> None:
        """Wait until the work has ended; stop it when it is time to."""
        limit, begun = self._patience.timeout, time.monotonic()
        asked_at: float | None = None
        while not wait([future], _POLL_S).done:
            now = time.monotonic()
            if limit is not None and now - begun > limit.total_seconds():
                stop.request(timed_out(render_duration(limit)))
            reason = stop.requested
            if reason is None:
                continue
            if asked_at is None:
                asked_at = now
                logger.warning(f"Stopping: {reason.message}")
            if now - asked_at > self._patience.grace.total_seconds():
                self.lost = True
                raise self._unstoppable(reason)
            if stop.may_interrupt:
                _break_off(interrupt)

    def _unstoppable(self, reason: StopReason) -> RunError:
        grace = render_duration(self._patience.grace)
        return RunError(
            f"{reason.message}, and was still at work {grace} later",
            hint="its dataset stays locked until the process ends; the next run then finishes or repeats the batch",
            code=NOT_STOPPED,
        )

    def _tell_retry(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        told = error.problem.message if isinstance(error, LakeLogicError) else type(error).__name__
        seconds = state.next_action.sleep if state.next_action else 0.0
        number = f"attempt {state.attempt_number} of {1 + self._patience.retries}"
        logger.warning(f"{number} failed, the next one begins in {seconds:.1f} s: {told}")


def _is_retryable(error: BaseException) -> bool:
    return bool(getattr(error, "retryable", False))


def _same(told: Exception, error: Exception) -> bool:
    return (
        isinstance(told, LakeLogicError)
        and isinstance(error, LakeLogicError)
        and told.problem.code == error.problem.code
    )


def _break_off(interrupt: Callable[[], None]) -> None:
    try:
        interrupt()
    except Exception as error:  # noqa: BLE001 - the work may end at this very moment, and its engine with it
        logger.debug(f"Could not be broken off: {type(error).__name__}")
