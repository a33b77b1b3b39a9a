"""The rows of a date dimension: one per day, with the words and numbers that reports group by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from lakelogic.core.errors import PlanError

# English whatever the machine's locale is: two machines must make the same table.
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """One day; weeks and weekdays by ISO 8601, fiscal years named after the year they end in."""

    date_key: int  # 20260301
    date: date
    year: int
    quarter: int
    month: int
    month_name: str
    day_of_month: int
    day_of_year: int
    iso_year: int
    iso_week: int
    day_of_week: int  # Monday is 1
    day_name: str
    is_weekend: bool
    is_month_end: bool
    fiscal_year: int
    fiscal_quarter: int
    fiscal_month: int


def calendar_days(first: date, last: date, *, fiscal_start: int = 1) -> Iterator[CalendarDay]:
    """All days from the first to the last, both included; the fiscal year begins with month `fiscal_start`."""
    if last < first:
        raise PlanError(f"the calendar ends on {last}, before it starts on {first}", code="LL352", hint="exchange them")
    for number in range((last - first).days + 1):
        yield _day(first + timedelta(days=number), fiscal_start)


def _day(day: date, fiscal_start: int) -> CalendarDay:
    iso = day.isocalendar()
    fiscal_month = (day.month - fiscal_start) % 12 + 1
    ends_next_year = fiscal_start > 1 and day.month >= fiscal_start
    return CalendarDay(
        date_key=day.year * 10_000 + day.month * 100 + day.day,
        date=day,
        year=day.year,
        quarter=(day.month + 2) // 3,
        month=day.month,
        month_name=MONTHS[day.month - 1],
        day_of_month=day.day,
        day_of_year=day.timetuple().tm_yday,
        iso_year=iso.year,
        iso_week=iso.week,
        day_of_week=iso.weekday,
        day_name=DAYS[iso.weekday - 1],
        is_weekend=iso.weekday > 5,
        is_month_end=(day + timedelta(days=1)).day == 1,
        fiscal_year=day.year + (1 if ends_next_year else 0),
        fiscal_quarter=(fiscal_month + 2) // 3,
        fiscal_month=fiscal_month,
    )
