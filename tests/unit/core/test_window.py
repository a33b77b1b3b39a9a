"""Windows are half-open inside; the flags that name them name both days."""

from __future__ import annotations

from datetime import date

import pytest

from lakelogic.core.errors import PlanError
from lakelogic.core.window import Window, decode_window, encode_window, window_of_days

FIRST, THIRD = date(2026, 3, 1), date(2026, 3, 3)


def test_both_named_days_are_in_the_window() -> None:
    assert window_of_days(FIRST, THIRD) == Window(FIRST, date(2026, 3, 4))
    assert window_of_days(FIRST).days == 1
    assert [str(window_of_days(FIRST)), str(window_of_days(FIRST, THIRD))] == ["2026-03-01", "2026-03-01 to 2026-03-03"]


def test_a_window_that_runs_backwards_is_refused() -> None:
    with pytest.raises(PlanError, match="before it starts"):
        window_of_days(THIRD, FIRST)


def test_the_journal_gives_back_the_window_it_was_given() -> None:
    window = window_of_days(FIRST, THIRD)
    assert decode_window(encode_window(window)) == window
    assert decode_window(encode_window(None)) is None
