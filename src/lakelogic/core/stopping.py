"""Asking work that is under way to stop, from another thread.

A stop is asked for once and never taken back. Whoever works looks now and then (`check`). What is being published is
let finish, because a batch is better committed than found half done; only a time limit stops that too.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from lakelogic.core.errors import RunError

TIMED_OUT, INTERRUPTED, NOT_STOPPED = "LL417", "LL418", "LL419"
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why work is stopped, as the error that it ends with."""

    code: str
    message: str
    hint: str | None = None
    retryable: bool = False
    spares_publishing: bool = True

    def error(self) -> RunError:
        return RunError(self.message, code=self.code, hint=self.hint, retryable=self.retryable)


def timed_out(limit: str) -> StopReason:
    return StopReason(
        TIMED_OUT,
        f"the run took longer than its time limit of {limit}, and was stopped",
        "the next run finishes or repeats the batch; if it needs more time, raise resilience.timeout or --timeout",
        retryable=True,
        spares_publishing=False,
    )


def interrupted(by: str) -> StopReason:
    return StopReason(
        INTERRUPTED, f"interrupted by {by}", "nothing was published; run again, a pipeline also with --resume"
    )


class Stop:
    """Whether work is to stop, and why; a part of larger work is stopped along with it."""

    def __init__(self, whole: Stop | None = None) -> None:
        self._whole = whole
        self._own: StopReason | None = None
        self._publishing = False
        self._guard = threading.Lock()

    def request(self, reason: StopReason) -> None:
        """Ask for a stop; the first reason stays."""
        with self._guard:
            self._own = self._own or reason

    @property
    def requested(self) -> StopReason | None:
        return self._own or (self._whole.requested if self._whole else None)

    def check(self) -> None:
        """Raise where a stop was asked for."""
        reason = self.requested
        if reason is not None:
            raise reason.error()

    def begin_publishing(self) -> None:
        """From here on the work is let finish; raises where a stop was asked for before."""
        # One step: whoever asks either comes before it and is heard here, or comes after it and spares the work.
        with self._guard:
            self.check()
            self._publishing = True

    def end_publishing(self) -> None:
        with self._guard:
            self._publishing = False

    @property
    def may_interrupt(self) -> bool:
        """Whether what the work is doing at this moment may be broken off."""
        reason = self.requested
        with self._guard:
            return reason is not None and not (self._publishing and reason.spares_publishing)

    def sleep(self, seconds: float) -> None:
        """Sleep so long, or until a stop is asked for, which raises."""
        deadline = time.monotonic() + seconds
        self.check()
        while (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_S))
            self.check()
