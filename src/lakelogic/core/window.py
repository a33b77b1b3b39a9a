"""Windows: the days that a run is narrowed to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from lakelogic.core.errors import PlanError


@dataclass(frozen=True, slots=True)
class Window:
    """Whole days (UTC), half-open: `end` is the first day after it."""

    start: date
    end: date

    @property
    def days(self) -> int:
        return (self.end - self.start).days

    def __str__(self) -> str:
        last = self.end - timedelta(days=1)
        return self.start.isoformat() if self.days == 1 else f"{self.start} to {last}"


def window_of_days(first: date, last: date | None = None) -> Window:
    """The window from one day to another, both included; one day where no second is named."""
    last = last or first
    if last < first:
        raise PlanError(
            f"the window ends on {last}, before it starts on {first}", code="LL351", hint="exchange the two dates"
        )
    return Window(first, last + timedelta(days=1))


def encode_window(window: Window | None) -> list[str] | None:
    """As the journal keeps it."""
    return [window.start.isoformat(), window.end.isoformat()] if window else None


def decode_window(node: Sequence[str] | None) -> Window | None:
    """The window that `encode_window` wrote."""
    return Window(date.fromisoformat(node[0]), date.fromisoformat(node[1])) if node else None
