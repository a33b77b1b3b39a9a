"""The index of known files follows the journal, and can be lost at any time."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakelogic.core.slices import FileSlice, SourceFile
from lakelogic.record import known_files, slice_store
from lakelogic.record.journal import RESET_SETTING, UNDO_SETTING, WINDOW_SETTING, Holder, Journal, open_journal

NOW = datetime(2026, 3, 28, tzinfo=UTC)


def commit(folder: Path, *files: SourceFile, **setting: object) -> Journal:
    journal = open_journal(str(folder))
    batch = journal.prepare(
        FileSlice(files),
        run_id="r",
        fingerprint="f",
        started_at=NOW,
        holder=Holder("h", 1, "r", NOW),
        settings=setting,
    )
    journal.mark_committed(batch)
    return journal


def file(name: str, size: int = 1, mtime_ns: int = 5, etag: str | None = None) -> SourceFile:
    return SourceFile(f"/in/{name}", size, mtime_ns, etag)


def unread(folder: Path, *files: SourceFile) -> list[tuple[SourceFile, bool]]:
    known = open_journal(str(folder)).known_files()
    assert known is not None
    return [(found.file, found.replaced) for found in known.unread(files)]


def test_size_time_and_tag_are_part_of_a_file(tmp_path: Path) -> None:
    commit(tmp_path, file("a"), file("b", etag="x"))
    others = [file("a", 2), file("a", 1, 4), file("a", etag="x"), file("b"), file("b", etag="y")]
    assert unread(tmp_path, file("a"), *others, file("b", etag="x")) == [(other, True) for other in others]
    assert unread(tmp_path, file("c")) == [(file("c"), False)]
    assert unread(tmp_path, file("x/a"), file("a")) == [(file("x/a"), False)], "a name is one of its folder"


def test_a_file_that_goes_back_to_an_identity_of_its_past_was_read(tmp_path: Path) -> None:
    commit(tmp_path, file("a", 1))
    commit(tmp_path, file("a", 2))
    assert unread(tmp_path, file("a", 1), file("a", 2)) == []


def test_a_folder_with_very_many_files_is_asked_for_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [file(str(number)) for number in range(20)]
    commit(tmp_path, *files[:15])
    for limit in (1, 14, 15, 100):
        monkeypatch.setattr(known_files, "_HELD_AT_ONCE", limit)
        monkeypatch.setattr(known_files, "_ASKED_AT_ONCE", 4)
        assert [found for found, _ in unread(tmp_path, *files)] == files[15:]


def test_a_reset_forgets_and_its_undo_remembers(tmp_path: Path) -> None:
    commit(tmp_path, file("a"))
    assert unread(tmp_path, file("a")) == []
    commit(tmp_path, **{RESET_SETTING: {"tables": ["target"], "versions": {}}})
    assert open_journal(str(tmp_path)).known_files() is None
    commit(tmp_path, **{UNDO_SETTING: 2})
    assert unread(tmp_path, file("a"), file("b")) == [(file("b"), False)]


def test_a_run_for_a_window_does_not_move_the_position(tmp_path: Path) -> None:
    commit(tmp_path, file("a"))
    commit(tmp_path, file("a"), file("b"), **{WINDOW_SETTING: ["2026-01-01", "2026-01-02"]})
    assert unread(tmp_path, file("a"), file("b")) == [(file("b"), False)]


def test_an_index_that_is_lost_damaged_or_of_another_journal_is_made_anew(tmp_path: Path) -> None:
    commit(tmp_path, file("a"))
    index = tmp_path / "known_files.sqlite"
    assert unread(tmp_path, file("a")) == []
    index.unlink()
    assert unread(tmp_path, file("a")) == []
    index.write_bytes(b"no database" * 1000)
    assert unread(tmp_path, file("a")) == []
    shutil.rmtree(tmp_path / "journal")
    commit(tmp_path, file("b"))
    assert unread(tmp_path, file("a"), file("b")) == [(file("a"), False)]


def test_long_slices_lie_beside_the_journal(tmp_path: Path) -> None:
    files = tuple(file(f"{n}'ü", n, n, "tag" if n % 2 else None) for n in range(slice_store.INLINE_FILES + 1))
    journal = open_journal(str(tmp_path))
    holder = Holder("h", 1, "r", NOW)
    batch = journal.prepare(FileSlice(files), run_id="r", fingerprint="f", started_at=NOW, holder=holder)
    assert open_journal(str(tmp_path)).pending() == batch
    journal.mark_committed(batch)
    assert unread(tmp_path, *files, file("new")) == [(file("new"), False)]
    assert [path.name for path in (tmp_path / "slices").iterdir()] == ["00000001.parquet"]


@settings(max_examples=15, deadline=None)
@given(
    batches=st.lists(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(1, 3)), max_size=4), max_size=6),
    looks=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_what_is_unread_is_what_no_batch_has(
    batches: list[list[tuple[str, int]]], looks: list[bool], tmp_path_factory: object
) -> None:
    folder = Path(tmp_path_factory.mktemp("law"))  # type: ignore[attr-defined]
    read: set[SourceFile] = set()
    everything = [file(name, size) for name in "abcde" for size in (1, 2, 3)]
    for batch, look in zip(batches, looks, strict=False):
        files = {file(name, size) for name, size in batch}
        commit(folder, *files)
        read |= files
        if look and read:
            assert {found for found, _ in unread(folder, *everything)} == set(everything) - read
    if read:
        assert {found for found, _ in unread(folder, *everything)} == set(everything) - read


def test_an_index_of_a_store_lies_where_the_user_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control = "s3://lake/_lakelogic/orders"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert known_files.index_folder(control).startswith(str(tmp_path / "cache"))

    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/no/such/place")  # as on AWS Lambda, where the home folder is not there
    (tmp_path / "scratch").mkdir()
    found = known_files.index_folder(control)
    assert found.startswith(str(tmp_path / "scratch"))
    assert known_files.index_folder(control) == found


def test_an_index_that_somebody_else_could_have_planted_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/no/such/place")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = known_files.index_folder("s3://lake/_lakelogic/orders")
    monkeypatch.setattr("os.getuid", lambda: 4242)  # to whom the folder, made again under this name, does not belong
    (tmp_path / "lakelogic-4242").mkdir()
    theirs = known_files.index_folder("s3://lake/_lakelogic/orders")
    assert theirs != mine and not theirs.startswith(str(tmp_path / "lakelogic-4242"))
