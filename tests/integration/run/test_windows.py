"""Windows replace exactly their own rows; a backfill comes to the same as a full load, also when it is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.contract import load_contract
from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import ContractError, PlanError
from lakelogic.core.settings import Settings
from lakelogic.core.window import window_of_days
from lakelogic.run.windows import Span, find_intervals

CONTRACT = """\
dataset: {name}
source: {{ path: landing, pattern: "*.csv" }}
model:
  fields:
    - {{ name: id, type: long }}
    - {{ name: at, type: {type} }}
    - {{ name: v, type: int }}
quality: {{ row_rules: [{{ name: positive, sql: "v > 0" }}] }}
materialization:
  strategy: {strategy}
  target_path: lake/{name}
  {more}
"""
DAYS = 90
FIRST = date(2026, 1, 1)
LAST = FIRST + timedelta(days=DAYS - 1)


def write_contract(
    folder: Path, name: str, *, type_: str = "date", strategy: str = "append", more: str = "", zone: str = ""
) -> Path:
    zone = f", timezone: {zone}" if zone else ""
    reprocess = f"reprocess: {{ date_column: at{zone} }}"
    text = CONTRACT.format(name=name, type=type_, strategy=strategy, more=f"{reprocess}\n  {more}")
    (folder / f"{name}.yaml").write_text(text)
    return folder / f"{name}.yaml"


def rows(path: Path) -> Counter[tuple[object, ...]]:
    table = DeltaTable(str(path)).to_pyarrow_dataset().to_table(columns=["id", "at", "v"])
    return Counter(zip(*table.to_pydict().values(), strict=True))


def land(folder: Path, days: int = DAYS) -> None:
    """Three files; late rows stand in other files than those of their day. One row in forty is bad."""
    (folder / "landing").mkdir(parents=True)
    lines: list[list[str]] = [[], [], []]
    for number in range(days * 5):
        day = FIRST + timedelta(days=number * 11 % days)
        lines[number % 3].append(f"{number},{day},{-1 if number % 40 == 0 else number}")
    for index, text in enumerate(lines):
        (folder / "landing" / f"{index}.csv").write_text("\n".join(["id,at,v", *text]) + "\n")


def backfill_in_a_process(contract: Path, fault: str | None = None, days: int = DAYS) -> int:
    environ = {**os.environ, "LAKELOGIC_ENGINE": "duckdb", **({"LAKELOGIC_FAULT": fault} if fault else {})}
    span = ["--backfill-start-date", str(FIRST), "--backfill-end-date", str(FIRST + timedelta(days=days - 1))]
    command = [sys.executable, "-m", "lakelogic", "run", str(contract), *span, "--fill-gaps", "--quiet"]
    return subprocess.run(command, env=environ, capture_output=True, check=False).returncode


def test_a_backfill_of_90_days_that_is_killed_twice_equals_a_full_load(tmp_path: Path) -> None:
    land(tmp_path)
    whole = write_contract(tmp_path, "whole", more="partition_by: [at]")
    sliced = write_contract(tmp_path, "sliced", more="partition_by: [at]")
    with DataProcessor(whole, engine="duckdb") as processor:
        processor.run()
    assert backfill_in_a_process(sliced, "after_target_commit:20") == -9
    assert backfill_in_a_process(sliced, "after_prepare:30") == -9
    left = find_intervals(load_contract(sliced), Settings(), Span(FIRST, LAST)).missing
    assert [str(window) for window in left] == [str(FIRST + timedelta(days=n)) for n in range(48, DAYS)]
    assert backfill_in_a_process(sliced) == 0
    assert rows(tmp_path / "lake/sliced") == rows(tmp_path / "lake/whole")
    bad = ("lake/sliced_quarantine", "lake/whole_quarantine")
    kept = [DeltaTable(str(tmp_path / path)).to_pyarrow_dataset().to_table(columns=["id"]) for path in bad]
    assert Counter(kept[0]["id"].to_pylist()) == Counter(kept[1]["id"].to_pylist())
    assert find_intervals(load_contract(sliced), Settings(), Span(FIRST, LAST)).missing == ()


def test_reprocessing_a_week_twice_changes_only_that_week(tmp_path: Path) -> None:
    land(tmp_path, 28)
    contract = write_contract(tmp_path, "orders", more="partition_by: [at]")
    with DataProcessor(contract, engine="duckdb") as processor:
        processor.run()
        before, files = rows(tmp_path / "lake/orders"), set(DeltaTable(str(tmp_path / "lake/orders")).file_uris())
        week = processor.find_window("range", Span(date(2026, 1, 12), date(2026, 1, 18)))
        for _ in range(2):
            assert processor.run(window=week).status == "succeeded"
            table = DeltaTable(str(tmp_path / "lake/orders"))
            assert rows(tmp_path / "lake/orders") == before
            changed = files ^ set(table.file_uris())
            assert {path.split("at=")[1][:10] for path in changed} == {f"2026-01-{day}" for day in range(12, 19)}


def test_a_window_without_rows_says_so_and_changes_nothing(tmp_path: Path) -> None:
    land(tmp_path, 3)
    contract = write_contract(tmp_path, "orders")
    with DataProcessor(contract, engine="duckdb") as processor:
        processor.run()
        result = processor.run(window=processor.find_window("range", Span(date(2030, 1, 1))))
        assert (result.status, result.reason) == ("no_new_data", "the source has no rows in the window 2030-01-01")
        assert DeltaTable(str(tmp_path / "lake/orders")).version() == 0
        done = find_intervals(processor.contract, Settings()).done
        assert [str(entry.window) for entry in done] == ["2030-01-01"], "it was looked at"


def test_yesterday_and_hours_are_those_of_the_zone(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    # Berlin is at UTC+2: its 1st of July begins at 22:00 of the day before.
    times = ["2026-06-30 21:59:59", "2026-06-30 22:00:00", "2026-07-01 21:59:59", "2026-07-01 22:00:00"]
    text = "".join(f"{n},{at},1\n" for n, at in enumerate(times))
    (tmp_path / "landing" / "a.csv").write_text("id,at,v\n" + text)
    contract = write_contract(tmp_path, "orders", type_="timestamp", zone="Europe/Berlin")
    clock = FixedClock(datetime(2026, 7, 1, 22, 30, tzinfo=UTC))  # the 2nd of July in Berlin
    with DataProcessor(contract, engine="duckdb", clock=clock) as processor:
        processor.run(window=processor.find_window("yesterday"))
        assert sorted(key[0] for key in rows(tmp_path / "lake/orders")) == [1, 2]
        (tmp_path / "landing" / "a.csv").write_text("id,at,v\n" + text.replace(",1\n", ",2\n"))
        results = list(processor.backfill(date(2026, 7, 1), date(2026, 7, 1), "hour"))
        assert len(results) == 24
        assert [result.counts.accepted for _, result in results if result.status == "succeeded"] == [1, 1]
        found = {(key[0], key[2]) for key in rows(tmp_path / "lake/orders")}
        assert found == {(1, 2), (2, 2)}, "only the hours that have rows replaced theirs"


def test_gaps_are_told_and_filled(tmp_path: Path) -> None:
    land(tmp_path, 10)
    contract = write_contract(tmp_path, "orders")
    with DataProcessor(contract, engine="duckdb") as processor:
        for day in (2, 3, 7):
            processor.run(window=processor.find_window("range", Span(date(2026, 1, day))))
        inside = find_intervals(processor.contract, Settings()).missing
        assert [str(window) for window in inside] == ["2026-01-04", "2026-01-05", "2026-01-06"]
        span = (date(2026, 1, 1), date(2026, 1, 8))
        filled = [str(window) for window, _ in processor.backfill(*span, only_gaps=True)]
        assert filled == [f"2026-01-0{day}" for day in (1, 4, 5, 6, 8)]
        assert list(processor.backfill(*span, only_gaps=True)) == []


def test_everything_is_read_again_where_that_is_asked_for(tmp_path: Path) -> None:
    land(tmp_path, 2)
    contract = write_contract(tmp_path, "orders", strategy="overwrite")
    contract.write_text(contract.read_text().replace('"*.csv" }', '"*.csv", load_mode: incremental }'))
    with DataProcessor(contract, engine="duckdb") as processor:
        first = processor.run()
        assert processor.run().status == "no_new_data"
        again = processor.run(everything=True)
        assert (again.status, again.counts) == ("succeeded", first.counts)
        assert processor.run().status == "no_new_data", "and the position stays"


def test_windows_that_cannot_be_are_refused(tmp_path: Path) -> None:
    land(tmp_path, 2)
    wrong = write_contract(tmp_path, "wrong", zone="Europe/Berln")
    with pytest.raises(ContractError, match="there is no time zone `Europe/Berln`"):
        load_contract(wrong)
    with DataProcessor(write_contract(tmp_path, "orders"), engine="duckdb") as processor:
        with pytest.raises(ContractError, match="shorter than a day"):
            list(processor.backfill(FIRST, FIRST, "hour"))
        with pytest.raises(PlanError, match="before it starts"):
            processor.run(window=window_of_days(LAST, FIRST))
