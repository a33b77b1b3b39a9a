"""Windows: the stretch of time that a run is narrowed to, and the slices that a backfill cuts it into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from lakelogic.core.errors import PlanError

Granularity = Literal["hour", "day", "week", "month"]


@dataclass(frozen=True, slots=True)
class Window:
    """Half-open: `end` is the first moment after it. Both are in UTC; `zone` is the one whose days are meant."""

    start: datetime
    end: datetime
    zone: str = "UTC"

    @property
    def first_day(self) -> date:
        return self.local(self.start).date()

    @property
    def day_after(self) -> date:
        """The first day after it; the day of its end where that is not midnight."""
        return self.local(self.end).date()

    @property
    def days(self) -> int:
        return (self.day_after - self.first_day).days

    @property
    def is_of_days(self) -> bool:
        """Whether it begins and ends with a day of its zone."""
        return all(_midnight(self.local(moment).date(), self.zone) == moment for moment in (self.start, self.end))

    def local(self, moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(self.zone))

    def __str__(self) -> str:
        if not self.is_of_days:
            return f"{self.local(self.start):%Y-%m-%d %H:%M} to {self.local(self.end):%Y-%m-%d %H:%M}"
        last = self.day_after - timedelta(days=1)
        return self.first_day.isoformat() if self.days == 1 else f"{self.first_day} to {last}"


def window_of_days(first: date, last: date | None = None, zone: str = "UTC") -> Window:
    """The window from one day to another, both included; one day where no second is named."""
    last = last or first
    if last < first:
        raise PlanError(
            f"the window ends on {last}, before it starts on {first}", code="LL351", hint="exchange the two dates"
        )
    return Window(_midnight(first, zone), _midnight(last + timedelta(days=1), zone), zone)


def slice_window(window: Window, granularity: Granularity) -> Iterator[Window]:
    """Cut a window at every hour, day, Monday or first of a month of its zone; nothing is left over."""
    start = window.start
    while start < window.end:
        end = min(_next_cut(window, start, granularity), window.end)
        yield Window(start, end, window.zone)
        start = end


def missing_slices(slices: Iterable[Window], done: Iterable[Window]) -> list[Window]:
    """The slices of which at least a moment is in no window that is done."""
    covered = _join(done)
    return [part for part in slices if not any(a <= part.start and part.end <= b for a, b in covered)]


def encode_window(window: Window | None) -> list[str] | None:
    """As the journal keeps it."""
    return [window.start.isoformat(), window.end.isoformat(), window.zone] if window else None


def decode_window(node: Sequence[str] | None) -> Window | None:
    """The window that `encode_window` wrote."""
    if not node:
        return None
    if len(node) == 2:  # days of UTC, as earlier versions wrote them
        return window_of_days(date.fromisoformat(node[0]), date.fromisoformat(node[1]) - timedelta(days=1))
    return Window(datetime.fromisoformat(node[0]), datetime.fromisoformat(node[1]), node[2])


def _midnight(day: date, zone: str) -> datetime:
    """The first moment of a day; where clocks skip midnight, the moment at which they do."""
    return datetime.combine(day, time(0), ZoneInfo(zone)).astimezone(UTC)


def _next_cut(window: Window, start: datetime, granularity: Granularity) -> datetime:
    if granularity == "hour":
        # Real hours: a day on which clocks change has 23 or 25 of them.
        return start + timedelta(hours=1)
    day = window.local(start).date()
    match granularity:
        case "day":
            cut = day + timedelta(days=1)
        case "week":
            cut = day + timedelta(days=7 - day.weekday())
        case _:
            cut = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return _midnight(cut, window.zone)


def _join(windows: Iterable[Window]) -> list[tuple[datetime, datetime]]:
    """Stretches without gaps, in order."""
    joined: list[tuple[datetime, datetime]] = []
    for start, end in sorted((window.start, window.end) for window in windows):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined
