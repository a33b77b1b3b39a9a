"""Windows are half-open inside; the flags that name them name both days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lakelogic.core.errors import PlanError
from lakelogic.core.window import (
    Granularity,
    Window,
    decode_window,
    encode_window,
    missing_slices,
    slice_window,
    window_of_days,
)

FIRST, THIRD = date(2026, 3, 1), date(2026, 3, 3)


def test_both_named_days_are_in_the_window() -> None:
    assert window_of_days(FIRST, THIRD) == Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC))
    assert (window_of_days(FIRST, THIRD).first_day, window_of_days(FIRST, THIRD).day_after) == (FIRST, date(2026, 3, 4))
    assert window_of_days(FIRST).days == 1
    assert [str(window_of_days(FIRST)), str(window_of_days(FIRST, THIRD))] == ["2026-03-01", "2026-03-01 to 2026-03-03"]


def test_a_window_that_runs_backwards_is_refused() -> None:
    with pytest.raises(PlanError, match="before it starts"):
        window_of_days(THIRD, FIRST)


def test_the_journal_gives_back_the_window_it_was_given() -> None:
    window = window_of_days(FIRST, THIRD)
    assert decode_window(encode_window(window)) == window
    assert decode_window(encode_window(None)) is None
    berlin = window_of_days(FIRST, THIRD, "Europe/Berlin")
    assert decode_window(encode_window(berlin)) == berlin
    assert decode_window(["2026-03-01", "2026-03-04"]) == window, "as earlier versions wrote it"


def test_a_day_is_that_of_its_zone_however_long_it_is() -> None:
    spring, autumn = (window_of_days(day, zone="Europe/Berlin") for day in (date(2026, 3, 29), date(2026, 10, 25)))
    assert [(w.end - w.start) / timedelta(hours=1) for w in (spring, autumn)] == [23, 25]
    assert spring.start == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert [len(list(slice_window(w, "hour"))) for w in (spring, autumn)] == [23, 25]
    assert str(next(slice_window(spring, "hour"))) == "2026-03-29 00:00 to 2026-03-29 01:00"


def test_slices_are_cut_at_mondays_and_at_the_first_of_a_month() -> None:
    window = window_of_days(date(2026, 1, 30), date(2026, 3, 2))
    assert [str(part) for part in slice_window(window, "month")] == [
        "2026-01-30 to 2026-01-31", "2026-02-01 to 2026-02-28", "2026-03-01 to 2026-03-02",
    ]  # fmt: skip
    weeks = list(slice_window(window, "week"))
    assert [str(weeks[0]), str(weeks[1]), str(weeks[-1])] == [
        "2026-01-30 to 2026-02-01", "2026-02-02 to 2026-02-08", "2026-03-02",
    ]  # fmt: skip


ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Kolkata",
         "America/Sao_Paulo", "Pacific/Apia", "Asia/Beirut"]  # fmt: skip


@settings(deadline=None)
@given(
    first=st.dates(date(2000, 1, 1), date(2035, 12, 31)),
    length=st.integers(0, 70),
    zone=st.sampled_from(ZONES),
    granularity=st.sampled_from(["hour", "day", "week", "month"]),
)
@example(first=date(2011, 12, 28), length=5, zone="Pacific/Apia", granularity="day")
@example(first=date(2024, 2, 28), length=2, zone="Asia/Beirut", granularity="month")
def test_slices_tile_a_window_in_every_zone(first: date, length: int, zone: str, granularity: Granularity) -> None:
    window = window_of_days(first, first + timedelta(days=length), zone)
    slices = list(slice_window(window, granularity))
    assert (slices[0].start, slices[-1].end) == (window.start, window.end)
    assert all(before.end == after.start for before, after in pairwise(slices))
    assert all(part.start < part.end for part in slices)
    for part in slices:
        begin, last = part.local(part.start), part.local(part.end - timedelta(microseconds=1))
        same = {
            "hour": part.end - part.start <= timedelta(hours=1),
            "day": begin.date() == last.date(),
            "week": begin.isocalendar()[:2] == last.isocalendar()[:2],
            "month": (begin.year, begin.month) == (last.year, last.month),
        }
        assert same[granularity], part
        assert granularity == "hour" or part.is_of_days


@given(data=st.data(), days=st.integers(1, 40))
def test_what_is_missing_is_what_no_window_covers(data: st.DataObject, days: int) -> None:
    whole = window_of_days(FIRST, FIRST + timedelta(days=days - 1))
    done_days = data.draw(st.sets(st.integers(0, days - 1)))
    done = [window_of_days(FIRST + timedelta(days=n)) for n in done_days]
    slices = list(slice_window(whole, "day"))
    missing = missing_slices(slices, data.draw(st.permutations(done)))
    assert missing == [part for n, part in enumerate(slices) if n not in done_days]
    weeks = missing_slices(slice_window(whole, "week"), done)
    assert all(any(part.start <= day.start < part.end for day in missing) for part in weeks)
    assert bool(weeks) == bool(missing)
