"""Which slice comes next, and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice, SourceFile, TableSlice
from lakelogic.source.files import list_files
from lakelogic.source.listing import Readiness
from lakelogic.source.next_slice import Position, next_slice


@dataclass(frozen=True)
class Found:
    file: SourceFile
    replaced: bool


@dataclass(frozen=True)
class Seen:
    files: tuple[SourceFile, ...]

    def unread(self, files: Iterable[SourceFile]) -> Iterator[Found]:
        paths = {file.path for file in self.files}
        return (Found(file, file.path in paths) for file in files if file not in self.files)


def after(files: tuple[SourceFile, ...] = (), version: int | None = None, table_id: str | None = None) -> Position:
    read = TableSlice("t", version, table_id=table_id) if version is not None else None
    return Position(files=lambda: Seen(files) if files else None, table=lambda _: read)


def table_id(path: str) -> str:
    return str(DeltaTable(path).metadata().id)


def test_full_reads_all_files_again(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a")
    files = list_files(str(tmp_path))
    assert next_slice(str(tmp_path), position=after(files)) == (FileSlice(files), "full load of 1 file")


def test_incremental_reads_what_no_committed_batch_has_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a")
    first = list_files(str(tmp_path))
    slice_, reason = next_slice(str(tmp_path), load_mode="incremental", position=after())
    assert slice_ == FileSlice(first)
    assert reason == "full load of 1 file: no batch was committed before"

    (tmp_path / "0_late.csv").write_text("b")
    slice_, reason = next_slice(str(tmp_path), load_mode="incremental", position=after(first))
    assert isinstance(slice_, FileSlice)
    assert [file.path for file in slice_.files] == [str(tmp_path / "0_late.csv")]
    assert reason == "1 file of 2 not read before"

    seen = list_files(str(tmp_path))
    assert next_slice(str(tmp_path), load_mode="incremental", position=after(seen)) == (
        None,
        "all 2 files were read before",
    )


def test_a_replaced_file_is_read_again_and_it_is_said(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(name)
    first = list_files(str(tmp_path))
    (tmp_path / "b.csv").write_text("another")
    slice_, reason = next_slice(str(tmp_path), load_mode="incremental", position=after(first))
    assert slice_ == FileSlice(list_files(str(tmp_path))[1:])
    assert reason == "1 file of 2 not read before, 1 of them replaced since they were read"


def test_files_that_are_not_whole_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a")
    ready = Readiness(marker="_DONE")
    assert next_slice(str(tmp_path), ready=ready) == (None, "no files; 1 file not whole yet, left for later")


def test_nothing_there_is_no_slice_or_an_error_as_the_contract_says(tmp_path: Path) -> None:
    assert next_slice(str(tmp_path), pattern="*.csv") == (None, "no files match `*.csv`")
    with pytest.raises(RunError, match="nothing to read"):
        next_slice(str(tmp_path), on_empty="fail")


def test_a_table_is_read_whole_then_by_versions(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"a": [1]}))
    write_deltalake(path, pa.table({"a": [2]}), mode="append")
    now = TableSlice(path, 1, table_id=table_id(path))
    assert next_slice(path) == (now, "full load of version 1")
    slice_, reason = next_slice(path, load_mode="incremental", position=after(version=0))
    assert (slice_, reason) == (replace(now, after_version=0), "versions 1 to 1")
    slice_, reason = next_slice(path, load_mode="incremental", position=after())
    assert (slice_, reason) == (now, "full load of version 1: no batch was committed before")


def test_compaction_of_a_source_table_is_no_new_data(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for value in range(3):
        write_deltalake(path, pa.table({"a": [value]}), mode="append")
    DeltaTable(path).optimize.compact()
    slice_, reason = next_slice(path, load_mode="incremental", position=after(version=2))
    assert (slice_, reason) == (None, "no rows were added since version 2")


def test_a_replaced_source_table_is_an_error_and_not_a_silent_skip(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"a": [1]}))
    with pytest.raises(RunError, match="version 5 was read before"):
        next_slice(path, load_mode="incremental", position=after(version=5))
    with pytest.raises(RunError, match="it is another table now") as told:
        next_slice(path, load_mode="incremental", position=after(version=0, table_id="other"))
    assert "lakelogic reload" in str(told.value.problem.hint) and "load_mode=full" in str(told.value.problem.hint)


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="does not exist"):
        next_slice(str(tmp_path / "none"), format="delta")
    with pytest.raises(RunError, match="not a Delta table"):
        next_slice(str(tmp_path), format="delta")


def test_change_events_are_read_once_like_any_new_rows(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"op": ["c"]}))
    slice_, reason = next_slice(path, load_mode="cdc", position=after(version=0))
    assert (slice_, reason) == (None, "no rows were added since version 0")


def _aged(folder: Path, *names: str) -> None:
    """Files, each a second younger than the one before."""
    for second, name in enumerate(names):
        (folder / name).write_text(name)
        os.utime(folder / name, (1_700_000_000 + second,) * 2)


def _names(slice_: object) -> list[str]:
    assert isinstance(slice_, FileSlice)
    return [Path(file.path).name for file in slice_.files]


def test_of_many_new_files_the_oldest_come_first(tmp_path: Path) -> None:
    _aged(tmp_path, "d.csv", "b.csv", "a.csv", "c.csv")
    path = str(tmp_path)
    slice_, reason = next_slice(path, load_mode="incremental", position=after(), most=2)
    assert (_names(slice_), slice_.waiting) == (["b.csv", "d.csv"], 2)  # type: ignore[union-attr]
    assert reason == ("full load of 4 files, the 2 oldest of them in this batch, 2 wait: no batch was committed before")
    assert isinstance(slice_, FileSlice)
    slice_, reason = next_slice(path, load_mode="incremental", position=after(slice_.files), most=1)
    assert (_names(slice_), slice_.waiting) == (["a.csv"], 1)  # type: ignore[union-attr]
    assert reason == "2 files of 4 not read before, the 1 oldest of them in this batch, 1 wait"
    slice_, reason = next_slice(path, load_mode="incremental", position=after(list_files(path)[:3]), most=1)
    assert (slice_.waiting, reason) == (0, "1 file of 4 not read before")  # type: ignore[union-attr]


def test_a_full_load_is_never_cut(tmp_path: Path) -> None:
    _aged(tmp_path, "a.csv", "b.csv")
    slice_, _ = next_slice(str(tmp_path), most=1)
    assert (_names(slice_), slice_.waiting) == (["a.csv", "b.csv"], 0)  # type: ignore[union-attr]


def test_what_waits_is_not_taken_for_something_to_read_again(tmp_path: Path) -> None:
    _aged(tmp_path, "a.csv", "b.csv", "c.csv")
    seen = list_files(str(tmp_path))[:1]
    since = datetime(2020, 1, 1, tzinfo=UTC)
    slice_, reason = next_slice(str(tmp_path), load_mode="incremental", position=after(seen), since=since, most=1)
    assert _names(slice_) == ["a.csv", "b.csv"]
    assert reason.endswith("the 1 oldest of them in this batch, 1 wait, and 1 file again (lookback)")
