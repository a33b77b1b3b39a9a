"""A window on a partition of the paths opens only its folders, and comes to the same as one that opens all."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.cli.main import main
from lakelogic.core.settings import Settings
from lakelogic.core.window import Granularity
from lakelogic.run.windows import Span, find_intervals

CONTRACT = """\
dataset: {name}
source: {{ path: landing, pattern: "*.csv", load_mode: {mode} }}
model:
  fields:
    - {{ name: id, type: long }}
    - {{ name: day, type: date }}
quality: {{ row_rules: [{{ name: known, sql: "id >= 0" }}] }}
materialization:
  target_path: lake/{name}
  partition_by: [day]
  reprocess: {{ date_column: day }}
"""
FIRST = date(2026, 1, 28)


def write_contract(folder: Path, name: str, mode: str = "full") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(CONTRACT.format(name=name, mode=mode))
    return path


def land(folder: Path, days: int, start: int = 0) -> None:
    for number in range(start, start + days):
        place = folder / "landing" / f"day={FIRST + timedelta(days=number)}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "a.csv").write_text(f"id\n{number}\n{number + 1000}\n-1\n")


def rows(path: Path) -> Counter[tuple[object, ...]]:
    table = DeltaTable(str(path)).to_pyarrow_dataset().to_table(columns=["id", "day"])
    return Counter(zip(*table.to_pydict().values(), strict=True))


@pytest.mark.parametrize(("granularity", "slices"), [("day", 6), ("week", 2), ("month", 2)])
def test_a_backfill_by_folders_equals_a_full_load(tmp_path: Path, granularity: Granularity, slices: int) -> None:
    land(tmp_path, 6)
    last = FIRST + timedelta(days=5)
    with DataProcessor(write_contract(tmp_path, "whole"), engine="duckdb") as processor:
        processor.run()
    with DataProcessor(write_contract(tmp_path, "sliced"), engine="duckdb") as processor:
        results = list(processor.backfill(FIRST, last, granularity))
        assert len(results) == slices
        assert sum(result.counts.read for _, result in results) == 6 * 3, "no file was read for two windows"
        assert find_intervals(processor.contract, Settings(), Span(FIRST, last), granularity).missing == ()
    assert rows(tmp_path / "lake/sliced") == rows(tmp_path / "lake/whole")


def test_a_window_replaces_its_day_and_the_position_stays(tmp_path: Path) -> None:
    land(tmp_path, 3)
    with DataProcessor(write_contract(tmp_path, "orders", "incremental"), engine="duckdb") as processor:
        processor.run()
        land(tmp_path, 3)
        (tmp_path / "landing" / f"day={FIRST}" / "a.csv").write_text("id\n7\n")
        before = rows(tmp_path / "lake/orders")
        result = processor.run(window=processor.find_window("range", Span(FIRST)))
        assert (result.counts.read, result.reason) == (1, "full load of 1 file")
        after = rows(tmp_path / "lake/orders")
        assert (after - before, before - after) == (
            Counter({(7, FIRST): 1}),
            Counter({(0, FIRST): 1, (1000, FIRST): 1}),
        )
        assert processor.run().counts.read == 7, "the files that were replaced are still new to an ordinary run"
        empty = processor.run(window=processor.find_window("range", Span(date(2030, 1, 1))))
        assert (empty.status, empty.reason) == ("no_new_data", "no files match `*.csv` of 2030-01-01")
        done = find_intervals(processor.contract, Settings()).done
        assert [str(entry.window) for entry in done] == [str(FIRST), "2030-01-01"], "it was looked at"


def test_reprocessing_raw_bronze_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "dataset: raw\nsource: { path: landing, raw: true }\nmaterialization: { target_path: lake/raw }\n"
    (tmp_path / "raw.yaml").write_text(text)
    land(tmp_path, 1)
    days = ["--reprocess-start-date", "2026-01-28", "--reprocess-end-date", "2026-01-28"]
    monkeypatch.setattr(sys, "argv", ["lakelogic", "run", str(tmp_path / "raw.yaml"), "--engine", "duckdb", *days])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 3
    assert "raw.yaml:2:" in told and "append-only" in told and "--window range" in told
