"""The date dimension is the calendar, and a second call changes nothing."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.core.errors import PlanError
from lakelogic.onboard.calendar import calendar_days


def day(text: str, fiscal_start: int = 1) -> Any:
    (found,) = calendar_days(date.fromisoformat(text), date.fromisoformat(text), fiscal_start=fiscal_start)
    return found


def test_every_day_stands_there_once_in_order() -> None:
    days = list(calendar_days(date(2023, 12, 30), date(2028, 3, 1)))
    assert [d.date for d in days] == [date(2023, 12, 30) + timedelta(days=n) for n in range(len(days))]
    assert (len(days), days[-1].date_key) == (1524, 20280301)
    assert sum(d.is_month_end for d in days) == 51


def test_iso_weeks_belong_to_iso_years() -> None:
    assert [(d.iso_year, d.iso_week, d.day_of_week, d.is_weekend) for d in map(day, ("2027-01-01", "2024-12-30"))] == [
        (2026, 53, 5, False),
        (2025, 1, 1, False),
    ]
    assert (day("2026-02-28").day_name, day("2026-02-28").is_weekend, day("2026-02-28").is_month_end) == (
        "Saturday",
        True,
        True,
    )


@pytest.mark.parametrize(
    ("text", "start", "fiscal"),
    [
        ("2026-03-31", 4, (2026, 4, 12)),
        ("2026-04-01", 4, (2027, 1, 1)),
        ("2026-12-31", 1, (2026, 4, 12)),
        ("2025-10-01", 10, (2026, 1, 1)),
        ("2026-09-30", 10, (2026, 4, 12)),
    ],
)
def test_a_fiscal_year_is_named_after_the_year_it_ends_in(text: str, start: int, fiscal: tuple[int, int, int]) -> None:
    found = day(text, start)
    assert (found.fiscal_year, found.fiscal_quarter, found.fiscal_month) == fiscal


def test_a_calendar_that_runs_backwards_is_refused() -> None:
    with pytest.raises(PlanError, match="before it starts"):
        list(calendar_days(date(2026, 3, 2), date(2026, 3, 1)))


def test_the_command_writes_a_table_and_repeats_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.cli.main import main

    def dates(last: str) -> Any:
        arguments = ["dates", "--from", "2026-01-01", "--to", last, "--target", str(tmp_path / "d"), "--output", "json"]
        monkeypatch.setattr("sys.argv", ["lakelogic", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return json.loads(capsys.readouterr().out)

    first = dates("2026-12-31")
    assert first["rows"] == 365
    assert dates("2026-12-31") == first
    assert dates("2027-01-01")["version"] == first["version"] + 1
    table = DeltaTable(str(tmp_path / "d")).to_pyarrow_table()
    assert (table.num_rows, min(table["date_key"].to_pylist())) == (366, 20260101)
    assert str(table.schema.field("date").type) == "date32[day]"
