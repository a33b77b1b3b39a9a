"""What a run reads again: by the newest value of the target, or by when the last run was."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic.contract import Contract, load_contract
from lakelogic.core.errors import PlanError
from lakelogic.core.settings import Settings
from lakelogic.core.slices import FileSlice, Slice, TableSlice
from lakelogic.core.watermark import Watermark, decode_watermark, encode_watermark
from lakelogic.record.journal import Holder, Journal, open_journal
from lakelogic.run.choose import Asked, choose_slice
from lakelogic.run.places import find_places
from lakelogic.run.watermarks import find_watermark
from lakelogic.table.newest import find_newest

NOW = datetime(2026, 3, 10, tzinfo=UTC)


def contract(folder: Path, source: str) -> Contract:
    path = folder / "c.yaml"
    path.write_text(
        f"dataset: d\nsource: {{ load_mode: incremental, {source} }}\n"
        "materialization: { strategy: merge, primary_key: [id], target_path: lake/d }\n"
    )
    return load_contract(path)


def choose(told: Contract, journal: Journal) -> tuple[Slice | None, str]:
    return choose_slice(told, find_places(told, Settings()), journal, Asked("spark"))


def commit(journal: Journal, slice_: Slice, at: datetime = NOW) -> None:
    holder = Holder("h", 1, "r", at)
    journal.mark_committed(journal.prepare(slice_, run_id="r", fingerprint="", started_at=at, holder=holder))


def names(slice_: Slice | None) -> list[str]:
    assert isinstance(slice_, FileSlice)
    return [os.path.basename(file.path) for file in slice_.files]


def drop(folder: Path, name: str, age: timedelta) -> None:
    (folder / name).write_text(name)
    at = (NOW - age).timestamp()
    os.utime(folder / name, (at, at))


def test_a_lookback_reads_recent_files_again_with_what_is_new(tmp_path: Path) -> None:
    landing = tmp_path / "in"
    landing.mkdir()
    told, journal = contract(tmp_path, "path: in, pattern: '*.csv', lookback: 2d"), open_journal(str(tmp_path / "j"))
    for name, days in (("old.csv", 5), ("edge.csv", 2), ("recent.csv", 1)):
        drop(landing, name, timedelta(days=days))
    first, _ = choose(told, journal)
    assert first is not None
    commit(journal, first)
    assert choose(told, journal) == (None, "all 3 files were read before"), "nothing new, nothing again"
    drop(landing, "late.csv", timedelta(days=400))
    chosen, reason = choose(told, journal)
    assert names(chosen) == ["edge.csv", "late.csv", "recent.csv"]
    assert reason == "1 file of 4 not read before, and 2 files again (lookback)"


def test_a_lookback_reads_recent_versions_again_with_what_is_new(tmp_path: Path) -> None:
    told, journal = contract(tmp_path, "path: t, format: delta, lookback: 1h"), open_journal(str(tmp_path / "j"))
    path = str(tmp_path / "t")
    for number in range(3):
        write_deltalake(path, pa.table({"id": [number]}), mode="append")
    now = datetime.now(UTC)
    commit(journal, choose(told, journal)[0], now)  # type: ignore[arg-type]
    assert choose(told, journal)[0] is None
    write_deltalake(path, pa.table({"id": [3]}), mode="append")
    chosen, _ = choose(told, journal)
    assert isinstance(chosen, TableSlice)
    assert (chosen.version, chosen.after_version) == (3, None), "all commits were within the hour"
    later = open_journal(str(tmp_path / "later"))
    commit(later, TableSlice(path, 2), now + timedelta(hours=2))
    chosen, _ = choose(told, later)
    assert isinstance(chosen, TableSlice)
    assert (chosen.version, chosen.after_version) == (3, 2)


def test_rows_of_the_target_say_what_was_read(tmp_path: Path) -> None:
    source = "path: in, pattern: '*.csv', watermark_strategy: max_target, watermark_field: at"
    told, longer = contract(tmp_path, source), contract(tmp_path, f"{source}, lookback: 36h")
    target = str(tmp_path / "lake" / "d")

    def found(contract: Contract) -> Watermark | None:
        return find_watermark(contract, find_places(contract, Settings()))

    assert found(told) is None, "no target yet: everything"
    moments = [datetime(2026, 3, 1, 12, 0, 0, 250000, tzinfo=UTC), None, datetime(2026, 2, 1, tzinfo=UTC)]
    write_deltalake(target, pa.table({"at": pa.array(moments, pa.timestamp("us", "UTC"))}))
    assert found(told) == Watermark("at", "2026-03-01 12:00:00.250000")
    assert found(longer) == Watermark("at", "2026-02-28 00:00:00.250000")
    assert decode_watermark(encode_watermark(found(told))) == found(told)


@pytest.mark.parametrize("partition_by", [None, ["at"]])
def test_the_newest_value_is_found_with_and_without_statistics(tmp_path: Path, partition_by: list[str] | None) -> None:
    path = str(tmp_path / "t")
    days = pa.array([date(2026, 1, 1), date(2026, 5, 1)])
    for values in (days, pa.array([None], pa.date32()), pa.array([date(2026, 2, 1)])):
        rows = pa.table({"at": values, "n": range(len(values))})
        write_deltalake(path, rows, mode="append", partition_by=partition_by)
    assert find_newest(path, "at") == date(2026, 5, 1)
    assert find_newest(path, "n") == 1
    DeltaTable(path).delete()
    assert find_newest(path, "at") is None
    assert find_newest(str(tmp_path / "none"), "at") is None
    with pytest.raises(PlanError, match="has no column `other`"):
        find_newest(path, "other")


def test_whatever_is_new_makes_a_run_look_at_all_of_the_source(tmp_path: Path) -> None:
    landing = tmp_path / "in"
    landing.mkdir()
    source = "path: in, pattern: '*.csv', watermark_strategy: max_target, watermark_field: at"
    told, journal = contract(tmp_path, source), open_journal(str(tmp_path / "j"))
    drop(landing, "a.csv", timedelta(days=1))
    commit(journal, choose(told, journal)[0])  # type: ignore[arg-type]
    assert choose(told, journal)[0] is None
    drop(landing, "b.csv", timedelta(days=0))
    chosen, reason = choose(told, journal)
    assert names(chosen) == ["a.csv", "b.csv"]
    assert "by the newest `at` of the target" in reason
