"""The time of a run, as an argument: a retry must see the time of the attempt that it repeats."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where a run takes its time from; always UTC, never naive."""

    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class FixedClock:
    """One instant, for tests and for the second attempt of a batch."""

    instant: datetime

    def __post_init__(self) -> None:
        if self.instant.tzinfo is None:
            raise ValueError("a fixed clock needs a time zone: a naive time would take the host's")

    def now(self) -> datetime:
        return self.instant.astimezone(UTC)
