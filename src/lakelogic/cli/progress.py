"""Where a run is: told while it works, and summed up when it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class PhaseClock:
    """Notes when each phase begins; a phase lasts until the next one."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._begun: list[tuple[str, float]] = []
        self._ended_at: float | None = None

    def begin(self, phase: str) -> None:
        self._begun.append((phase, self._now()))

    def end(self) -> None:
        self._ended_at = self._now()

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds per phase, in the order in which they began; a phase that comes back adds up."""
        ends = [at for _, at in self._begun[1:]] + [self._ended_at or self._now()]
        spent: dict[str, float] = {}
        for (phase, at), end in zip(self._begun, ends, strict=True):
            spent[phase] = spent.get(phase, 0.0) + end - at
        return spent


@contextmanager
def follow_phases(clock: PhaseClock, *, show: bool) -> Iterator[Callable[[str], None]]:
    """Give the function that a run calls at each phase; draws only on a terminal."""
    clock.begin("loading the contract")
    if not (show and sys.stderr.isatty()):
        yield clock.begin
        clock.end()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading the contract", total=None)

        def begin(phase: str) -> None:
            clock.begin(phase)
            progress.reset(task, description=phase, total=None)

        yield begin
    clock.end()
