"""Attempts at a run: tried again only where it helps, stopped when it is time, never two at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from lakelogic.core.errors import LakeLogicError, PlanError, RunError
from lakelogic.core.stopping import Stop, interrupted
from lakelogic.driver.guard import MOST_BACKOFF_S, Guard
from lakelogic.driver.patience import Patience
from lakelogic.run.attempt import Attempt

AT_ONCE = timedelta()
SHORT = timedelta(milliseconds=100)
LONG_S = 60.0  # only ever waited for by a test that fails


class Sleepless(Stop):
    """Remembers how long it would have slept."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def failing(error: Callable[[], Exception], times: int, seen: list[int]) -> Callable[[Attempt], str]:
    def work(attempt: Attempt) -> str:
        seen.append(attempt.number)
        if len(seen) <= times:
            raise error()
        return "done"

    return work


def nothing() -> None:
    return


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of work that no interrupt reaches."""
    event = threading.Event()
    yield event
    event.set()


def test_an_error_that_may_pass_is_tried_again_after_longer_and_longer_waits_at_random() -> None:
    stop, seen = Sleepless(), list[int]()
    guard = Guard(Patience(retries=12, backoff=timedelta(seconds=2)), stop)
    assert guard.run(failing(lambda: RunError("held", retryable=True), 12, seen), nothing) == "done"
    assert seen == list(range(1, 14))
    bounds = [min(2.0 * 2**n, MOST_BACKOFF_S) for n in range(12)]
    assert all(0 <= slept <= most for slept, most in zip(stop.slept, bounds, strict=True))
    assert len(set(stop.slept)) > 6


@pytest.mark.parametrize("error", [RunError("broken"), PlanError("wrong"), ValueError("bug")])
def test_other_errors_are_not_tried_again(error: Exception) -> None:
    seen: list[int] = []
    with pytest.raises(type(error)):
        Guard(Patience(retries=3, backoff=AT_ONCE)).run(failing(lambda: error, 9, seen), nothing)
    assert seen == [1]


def test_the_last_error_is_told_when_no_try_is_left() -> None:
    seen: list[int] = []
    with pytest.raises(RunError, match="held"):
        Guard(Patience(retries=2, backoff=AT_ONCE)).run(
            failing(lambda: RunError("held", retryable=True), 9, seen), nothing
        )
    assert seen == [1, 2, 3]


def test_after_a_time_limit_the_next_attempt_begins_when_the_one_before_has_ended() -> None:
    broken_off, running, together = threading.Event(), [], []

    def work(attempt: Attempt) -> str:
        together.append(len(running))
        running.append(attempt.number)
        if attempt.number < 3:
            broken_off.clear()
            assert broken_off.wait(LONG_S)
            running.remove(attempt.number)
            raise OSError("broken off")
        return f"attempt {attempt.number}"

    guard = Guard(Patience(retries=2, backoff=AT_ONCE, timeout=SHORT))
    assert guard.run(work, broken_off.set) == "attempt 3"
    assert together == [0, 0, 0] and not guard.lost


def test_a_time_limit_is_told_as_such() -> None:
    broken_off = threading.Event()

    def work(attempt: Attempt) -> None:
        assert broken_off.wait(LONG_S)
        raise OSError("broken off")

    with pytest.raises(RunError, match="longer than its time limit of 100ms") as stopped:
        Guard(Patience(timeout=SHORT)).run(work, broken_off.set)
    assert stopped.value.problem.code == "LL417" and stopped.value.retryable


def test_work_that_does_not_stop_fails_the_run_and_is_not_tried_again(release: threading.Event) -> None:
    seen: list[int] = []

    def work(attempt: Attempt) -> None:
        seen.append(attempt.number)
        release.wait(LONG_S)

    guard = Guard(Patience(retries=5, backoff=AT_ONCE, timeout=SHORT, grace=SHORT))
    with pytest.raises(LakeLogicError, match="was still at work 100ms later") as lost:
        guard.run(work, nothing)
    assert (lost.value.problem.code, seen, guard.lost) == ("LL419", [1], True)


def test_work_that_ends_well_after_it_was_asked_to_stop_has_ended_well() -> None:
    broken_off = threading.Event()

    def work(attempt: Attempt) -> str:
        assert broken_off.wait(LONG_S)
        return "done"

    assert Guard(Patience(timeout=SHORT)).run(work, broken_off.set) == "done"


def test_a_signal_spares_what_is_being_published_and_a_time_limit_does_not(release: threading.Event) -> None:
    whole, publishing, interrupts = Stop(), threading.Event(), list[str]()

    def work(attempt: Attempt) -> str:
        attempt.stop.begin_publishing()
        publishing.set()
        whole.request(interrupted("SIGTERM"))
        assert not attempt.stop.may_interrupt
        assert not release.wait(0.5)  # long enough for the guard to look twice
        return "published"

    assert Guard(Patience(), whole).run(work, lambda: interrupts.append("?")) == "published"
    assert interrupts == []

    def slow(attempt: Attempt) -> None:
        attempt.stop.begin_publishing()
        assert release.wait(LONG_S)
        raise OSError

    with pytest.raises(RunError, match="time limit"):
        Guard(Patience(timeout=SHORT)).run(slow, release.set)


def test_nothing_is_published_and_nothing_begins_after_a_stop_was_asked_for() -> None:
    whole = Stop()
    whole.request(interrupted("SIGINT"))
    with pytest.raises(RunError, match="interrupted by SIGINT") as stopped:
        Stop(whole).begin_publishing()
    assert stopped.value.problem.code == "LL418"
    with pytest.raises(RunError, match="SIGINT"):
        Guard(Patience(retries=3), whole).run(lambda attempt: pytest.fail("begun"), nothing)


def test_a_signal_ends_the_wait_for_the_next_attempt() -> None:
    whole = Stop()

    def work(attempt: Attempt) -> None:
        whole.request(interrupted("SIGTERM"))
        raise RunError("held", retryable=True)

    with pytest.raises(RunError, match="interrupted by SIGTERM"):
        Guard(Patience(retries=3, backoff=timedelta(hours=1)), whole).run(work, nothing)
