"""Raw Bronze takes every record once and never lets it go, so that what is made from it can be made again."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from lakelogic import DataProcessor, RunResult
from lakelogic.core import faults
from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import PlanError, RunError
from lakelogic.core.faults import FAULT_POINTS
from lakelogic.core.settings import Settings
from lakelogic.run.ddl_apply import apply_ddl
from lakelogic.run.maintain import maintain
from lakelogic.run.reset import reset
from lakelogic.run.validate import load_checked
from lakelogic.run.windows import Span, find_intervals

BRONZE = """\
version: "1.0.0"
dataset: bronze_events
info: { system: shop }
source: { path: landing, pattern: "*.jsonl", raw: true }
transformations:
  - derive: { ingestion_date: "CAST(ingestion_timestamp AS DATE)" }
materialization: { target_path: lake/bronze, partition_by: [ingestion_date] }
"""
SILVER = """\
version: "1.0.0"
dataset: silver_events
source: { path: lake/bronze, format: delta, load_mode: incremental }
transformations:
  - json_extract: { field: id, source: raw_payload, path: "$.id" }
  - json_extract: { field: amount, source: raw_payload, path: "$.amount", cast: "decimal(10,2)" }
model:
  fields:
    - { name: id, type: long, required: true }
    - { name: amount, type: "decimal(10,2)" }
    - { name: ingestion_date, type: date }
quality: { row_rules: [{ name: sold, sql: "amount > 0" }] }
materialization:
  target_path: lake/silver
  partition_by: [ingestion_date]
  reprocess: { date_column: ingestion_date }
"""
FIRST = date(2026, 11, 1)
OURS = ("_lakelogic_run_id", "_lakelogic_processed_at")


def declare(folder: Path, bronze: str = BRONZE, silver: str = SILVER) -> None:
    (folder / "bronze.yaml").write_text(bronze)
    (folder / "silver.yaml").write_text(silver)


def land(folder: Path, day: date, rows: int = 20) -> None:
    """A row in ten is free of charge, and each day has a line that is no JSON and the same line twice."""
    place = folder / "landing" / f"dt={day}"
    place.mkdir(parents=True, exist_ok=True)
    start = (day - FIRST).days * rows
    lines = [json.dumps({"id": start + n, "amount": "0.00" if n % 10 == 0 else f"{n}.50"}) for n in range(rows)]
    (place / "a.jsonl").write_text("\n".join([*lines, '{"id": ', lines[1]]) + "\n")


def run(contract: Path, day: date, **more: Any) -> RunResult:
    clock = FixedClock(datetime(day.year, day.month, day.day, 6, tzinfo=UTC))
    with DataProcessor(contract, engine="duckdb", clock=clock) as processor:
        if "span" in more:
            return processor.run(window=processor.find_window("range", more["span"]))
        return processor.run(**more)


def rows(path: Path, *left_out: str) -> Counter[tuple[object, ...]]:
    table = DeltaTable(str(path)).to_pyarrow_dataset().to_table()
    names = sorted(name for name in table.column_names if name not in {*OURS, *left_out})
    values = ([str(v) if isinstance(v, list) else v for v in table[name].to_pylist()] for name in names)
    return Counter(zip(*values, strict=True))


def of_day(path: Path, day: date) -> Counter[tuple[object, ...]]:
    found = rows(path)
    return Counter({row: count for row, count in found.items() if day in row})


def loaded(folder: Path, days: int = 5) -> list[date]:
    """Bronze and Silver, day by day."""
    declare(folder)
    wanted = [FIRST + timedelta(days=n) for n in range(days)]
    for day in wanted:
        land(folder, day)
        bronze, silver = run(folder / "bronze.yaml", day), run(folder / "silver.yaml", day)
        assert (bronze.counts.read, bronze.counts.accepted, bronze.counts.quarantined) == (22, 22, 0)
        assert (silver.counts.read, silver.counts.accepted, silver.counts.quarantined) == (22, 19, 3)
    return wanted


def test_silver_is_replayed_from_bronze_whole_or_by_day(tmp_path: Path) -> None:
    days = loaded(tmp_path)
    silver, lake, later = tmp_path / "silver.yaml", tmp_path / "lake", days[-1] + timedelta(days=30)
    before, rejected = rows(lake / "silver"), rows(lake / "silver_quarantine", "_lakelogic_id")
    reset(load_checked(silver), Settings())
    assert not rows(lake / "silver")
    again = run(silver, later)
    assert (again.counts.read, again.counts.accepted) == (5 * 22, 5 * 19)
    assert rows(lake / "silver") == before
    assert rows(lake / "silver_quarantine", "_lakelogic_id") == rejected
    assert run(silver, later).status == "no_new_data"

    # A rule is mended, and one day is made again.
    by_day = {day: of_day(lake / "silver", day) for day in days}
    silver.write_text(SILVER.replace("amount > 0", "amount >= 0").replace('version: "1.0.0"', 'version: "1.0.1"', 1))
    result = run(silver, later, span=Span(days[2]))
    assert (result.counts.accepted, result.counts.quarantined) == (21, 1)
    after = {day: of_day(lake / "silver", day) for day in days}
    assert [day for day in days if by_day[day] != after[day]] == [days[2]]
    assert sum(after[days[2]].values()) == 21
    assert run(silver, later).status == "no_new_data", "the position is where it was"


def test_every_record_lands_once_whatever_fault_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(tmp_path)
    for number, point in enumerate(FAULT_POINTS):
        land(tmp_path, FIRST + timedelta(days=number), rows=2)
        monkeypatch.setenv("LAKELOGIC_FAULT", point)
        monkeypatch.setenv("LAKELOGIC_FAULT_MODE", "raise")
        monkeypatch.setattr(faults, "_reached", Counter())
        with suppress(OSError, RunError):
            run(tmp_path / "bronze.yaml", FIRST)
        monkeypatch.delenv("LAKELOGIC_FAULT")
    run(tmp_path / "bronze.yaml", FIRST)
    assert run(tmp_path / "bronze.yaml", FIRST).status == "no_new_data"
    sent = [line for file in (tmp_path / "landing").rglob("*.jsonl") for line in file.read_text().splitlines()]
    kept = DeltaTable(str(tmp_path / "lake/bronze")).to_pyarrow_dataset().to_table(columns=["raw_payload"])
    assert Counter(kept["raw_payload"].to_pylist()) == Counter(sent)


def test_nobody_takes_rows_out_of_raw_bronze(tmp_path: Path) -> None:
    loaded(tmp_path, days=2)
    path = str(tmp_path / "lake/bronze")
    before = rows(tmp_path / "lake/bronze")
    with pytest.raises(DeltaError):
        DeltaTable(path).delete("source_system = 'shop'")
    with pytest.raises(DeltaError):
        write_deltalake(path, pa.table({"raw_payload": ["x"]}), mode="overwrite", schema_mode="merge")
    contract = load_checked(tmp_path / "bronze.yaml")
    with pytest.raises(PlanError) as caught:
        reset(contract, Settings())
    assert (caught.value.problem.code, "is not emptied" in caught.value.problem.message) == ("LL334", True)
    assert rows(tmp_path / "lake/bronze") == before
    assert run(tmp_path / "bronze.yaml", FIRST).status == "no_new_data", "and nothing was forgotten"


def test_upkeep_of_raw_bronze_moves_rows_and_loses_none(tmp_path: Path) -> None:
    kept = "maintenance: { vacuum_retain: 0h }"
    declare(tmp_path, BRONZE.replace("partition_by: [ingestion_date]", kept))
    for number in range(4):
        land(tmp_path, FIRST + timedelta(days=number))
        run(tmp_path / "bronze.yaml", FIRST)
    run(tmp_path / "silver.yaml", FIRST)
    before = rows(tmp_path / "lake/bronze")
    contract = load_checked(tmp_path / "bronze.yaml")
    steps = {step.action: step.state for step in maintain(contract, Settings(), short_retention=True)
             if step.table == "target"}  # fmt: skip
    assert (steps["compact"], steps["vacuum"]) == ("done", "done")
    table = DeltaTable(str(tmp_path / "lake/bronze"))
    assert len(table.file_uris()) == 1 and rows(tmp_path / "lake/bronze") == before
    assert table.metadata().configuration["delta.appendOnly"] == "true"
    assert run(tmp_path / "silver.yaml", FIRST).status == "no_new_data", "moved rows are no new ones"


def test_a_table_that_others_may_change_is_no_raw_bronze(tmp_path: Path) -> None:
    declare(
        tmp_path,
        BRONZE.replace(", raw: true", ", load_mode: incremental").replace("ingestion_timestamp", "'2026-11-01'"),
    )
    land(tmp_path, FIRST)
    run(tmp_path / "bronze.yaml", FIRST)
    (tmp_path / "bronze.yaml").write_text(BRONZE)
    land(tmp_path, FIRST + timedelta(days=1))
    with pytest.raises(PlanError, match="is to take appends only") as caught:
        run(tmp_path / "bronze.yaml", FIRST)
    assert caught.value.problem.code == "LL334"
    apply_ddl(load_checked(tmp_path / "bronze.yaml"), Settings(), None)
    assert run(tmp_path / "bronze.yaml", FIRST).counts.accepted == 22
    assert DeltaTable(str(tmp_path / "lake/bronze")).metadata().configuration["delta.appendOnly"] == "true"


def test_windows_of_raw_bronze_read_the_files_of_their_days_once(tmp_path: Path) -> None:
    declare(tmp_path)
    bronze, days = tmp_path / "bronze.yaml", [FIRST + timedelta(days=n) for n in range(5)]
    for day in days:
        land(tmp_path, day)
    first = run(bronze, FIRST, span=Span(days[1], days[2]))
    assert (first.counts.read, first.reason) == (44, "full load of 2 files: no batch was committed before")
    again = run(bronze, FIRST, span=Span(days[1]))
    assert (again.status, again.reason) == ("no_new_data", "all 1 file were read before")
    land(tmp_path, days[1], rows=3)
    assert run(bronze, FIRST, span=Span(days[1])).counts.read == 5, "a file that was replaced is another one"
    assert run(bronze, FIRST, span=Span(date(2030, 1, 1))).reason == "no files of 2030-01-01"
    left = find_intervals(load_checked(bronze), Settings(), Span(days[0], days[4])).missing
    assert [str(window) for window in left] == [str(days[n]) for n in (0, 3, 4)]
    with DataProcessor(bronze, engine="duckdb") as processor:
        filled = [(str(window), result.counts.read) for window, result in processor.backfill(
            days[0], days[3], only_gaps=True)]  # fmt: skip
    assert filled == [(str(days[0]), 22), (str(days[3]), 22)]
    assert run(bronze, FIRST).counts.read == 22, "an ordinary run reads what no window has read"
    assert run(bronze, FIRST).status == "no_new_data"
    assert sum(rows(tmp_path / "lake/bronze").values()) == 5 * 22 + 5


def test_windows_that_files_cannot_tell_are_refused(tmp_path: Path) -> None:
    declare(tmp_path)
    land(tmp_path, FIRST)
    with (
        DataProcessor(tmp_path / "bronze.yaml", engine="duckdb") as processor,
        pytest.raises(PlanError, match="shorter than a day"),
    ):
        list(processor.backfill(FIRST, FIRST, "hour"))
    (tmp_path / "landing" / "late.jsonl").write_text("{}\n")
    with pytest.raises(RunError, match=r"`late\.jsonl` has no date") as caught:
        run(tmp_path / "bronze.yaml", FIRST, span=Span(FIRST))
    assert caught.value.problem.code == "LL356"
    run(tmp_path / "bronze.yaml", FIRST)
    declare(tmp_path, BRONZE, SILVER.replace("load_mode: incremental", "raw: true").replace(
        "\n  reprocess: { date_column: ingestion_date }", ""))  # fmt: skip
    with pytest.raises(PlanError, match="the source is a table"):
        run(tmp_path / "silver.yaml", FIRST, span=Span(FIRST))
