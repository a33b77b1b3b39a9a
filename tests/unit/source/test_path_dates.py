"""A path says of which day a file is, or it does not; nothing is guessed."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from lakelogic.core.errors import RunError
from lakelogic.core.window import window_of_days
from lakelogic.source.listing import Listing
from lakelogic.source.path_dates import DatedPaths, folder_columns, partition_values

NOVEMBER_1 = DatedPaths(window_of_days(date(2026, 11, 1)))


@pytest.mark.parametrize(
    "path",
    [
        "dt=2026-11-01/a.csv",
        "dt=20261101/a.csv",
        "year=2026/month=11/day=01/a.csv",
        "y=2026/m=11/d=1/hour=13/a.csv",
        "2026/11/01/a.csv",
        "orders/2026/11/01/13/a.csv",
        "2026-11-01/a.csv",
        "export_20261101/a.csv",
        "orders_2026-11-01.csv",
        "orders-2026_11_01.csv.gz",
        "orders20261101.csv",
        "orders_20261101130000.csv",
        "20261101T130000Z.jsonl",
        "events-2026-11-01T13-00-00.jsonl",
        "part-00000-a20190101b-2026-11-01.csv",
        # A folder is the better witness: what is in the name may be the day of the export.
        "dt=2026-11-01/export_2026-11-02.csv",
    ],
)
def test_the_day_of_a_file_is_read_off_its_path(path: str) -> None:
    assert NOVEMBER_1.wants(path)
    assert not DatedPaths(window_of_days(date(2026, 11, 2), date(2026, 12, 31))).wants(path)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("orders.csv", "has no date"),
        ("2026/11/orders.csv", "has no date"),
        ("a/20261301/orders_99991231.csv", "has no date"),
        ("part-00000-a20190101b.csv", "has no date"),
        ("2026-02-30.csv", "has no date"),
        ("orders_2026-11-01_2026-11-07.csv", "names several days (2026-11-01, 2026-11-07)"),
        ("dt=2026-11-01/2026/11/02/a.csv", "names several days (2026-11-01, 2026-11-02)"),
    ],
)
def test_a_path_that_does_not_tell_is_refused(path: str, told: str) -> None:
    with pytest.raises(RunError) as caught:
        NOVEMBER_1.wants(path)
    assert caught.value.problem.code == "LL356" and told in caught.value.problem.message and caught.value.problem.hint


def test_a_partition_speaks_for_its_rows_and_nothing_else_does() -> None:
    day = DatedPaths(NOVEMBER_1.window, ("day", "dt"))
    assert day.wants("day=2026-11-01/a.csv") and day.wants("dt=2026-11-01/a.csv")
    assert not day.wants("day=2026-11-02/a.csv") and not day.wants("dt=2026-10-31/dt=2026-11-02/a.csv")
    # What is no date of the column is looked into: its rows belong in the quarantine, or have none.
    for path in ("a.csv", "2026/11/02/a.csv", "a_2026-11-02.csv", "day=nonsense/a.csv", "day=20261102/a.csv"):
        assert day.wants(path)
    assert not DatedPaths(day.window, ("day",), compact=True).wants("day=20261102/a.csv")


def test_columns_of_folders_are_told_in_their_order() -> None:
    paths = ["/in/day=1/shop=a/x.csv", "/in/day=2/x=1.csv", "/in/_lakelogic_run_id=3/x.csv", "/in/a-b=4/x.csv"]
    assert folder_columns(paths) == ("day", "shop")
    assert partition_values("/in/day=1/day=2/a=b=c") == {"day": "2", "a": "b=c"}


def test_folders_of_other_days_are_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(1, 29):
        for name in (f"dt=2026-11-{day:02}", f"deep/2026/11/{day:02}"):
            (tmp_path / name).mkdir(parents=True)
            (tmp_path / name / "a.csv").write_text("a")
    opened: list[str] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: opened.append(str(path)) or scan(path))
    found = [os.path.relpath(file.path, tmp_path) for file in Listing(str(tmp_path), within=NOVEMBER_1)]
    assert sorted(found) == ["deep/2026/11/01/a.csv", "dt=2026-11-01/a.csv"]
    below = {os.path.relpath(path, tmp_path) for path in opened}
    assert below == {".", "deep", "deep/2026", "deep/2026/11", "deep/2026/11/01", "dt=2026-11-01"}


def test_a_glob_is_dated_from_its_first_wildcard_on(tmp_path: Path) -> None:
    for day in ("01", "02"):
        (tmp_path / f"2026-12-24/dt=2026-11-{day}").mkdir(parents=True)
        (tmp_path / f"2026-12-24/dt=2026-11-{day}/a.csv").write_text("a")
    for path in ("dt=*", "dt=*/*.csv", "dt=*/"):
        listing = Listing(f"{tmp_path}/2026-12-24/{path}", within=NOVEMBER_1)
        assert [os.path.basename(os.path.dirname(file.path)) for file in listing] == ["dt=2026-11-01"]
