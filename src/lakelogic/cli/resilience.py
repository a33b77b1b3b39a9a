"""Options about how often and how long a run is tried, and what signals do to it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic.core.errors import LakeLogicError
from lakelogic.core.redaction import redact
from lakelogic.core.stopping import Stop, interrupted

if TYPE_CHECKING:
    from lakelogic.driver.patience import Limits

# What is left of a grace after which summaries are written and Spark is stopped.
_LAST_S = 4

Retries = Annotated[
    int | None,
    typer.Option(
        "--retries",
        min=0,
        help="How often a run is tried again after an error that may pass; wins over resilience.retries.",
        show_default=False,
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        help="How long one attempt at a run may take, e.g. 90s or 2h; wins over resilience.timeout.",
        show_default=False,
    ),
]
Grace = Annotated[
    str,
    typer.Option(
        "--grace", metavar="DURATION", help="How long work may take to end after SIGTERM, Ctrl-C or its time limit."
    ),
]
IgnoreBreaker = Annotated[
    bool,
    typer.Option(
        "--ignore-circuit-breaker", help="Also start what failed resilience.max_consecutive_failures times in a row."
    ),
]


def read_limits(retries: int | None, timeout: str | None, grace: str) -> Limits:
    """The options as they were given."""
    from lakelogic.driver.patience import Limits

    return Limits(retries, _duration(timeout, "--timeout") if timeout else None, _duration(grace, "--grace"))


def _duration(text: str, option: str) -> timedelta:
    from lakelogic.contract.duration import parse_duration

    try:
        found = timedelta(seconds=int(text)) if text.isdecimal() else parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}: write 90s, 30m or 2h", param_hint=option) from error
    if not found:
        raise typer.BadParameter("it must be longer than nothing", param_hint=option)
    return found


class Signals:
    """Which signal came first, if any."""

    def __init__(self) -> None:
        self.number: int | None = None

    @property
    def exit_code(self) -> int:
        """128 + the signal, as a shell tells it; 0 where none came."""
        return 128 + self.number if self.number is not None else 0


@contextmanager
def stopped_by_signals(stop: Stop, grace: timedelta) -> Iterator[Signals]:
    """While work runs, the first SIGTERM or SIGINT asks it to stop, a second one ends the process at once."""
    seen = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield seen  # only the main thread gets signals
        return

    def first(number: int, frame: FrameType | None) -> None:
        if seen.number is not None:
            os._exit(128 + number)
        seen.number = number
        stop.request(interrupted(signal.Signals(number).name))
        signal.signal(signal.SIGALRM, lambda *_: os._exit(seen.exit_code))
        signal.setitimer(signal.ITIMER_REAL, grace.total_seconds() + _LAST_S)

    before = {number: signal.signal(number, first) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield seen
    except LakeLogicError as error:
        if seen.number is None:
            raise
        sys.stderr.write(redact(str(error)) + "\n")
        raise typer.Exit(seen.exit_code) from error
    finally:
        if seen.number is None:
            for number, handler in before.items():
                signal.signal(number, handler)
