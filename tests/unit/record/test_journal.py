"""The journal knows which batch is open, what it reads, and what committed batches have read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice, FrameSlice, OffsetRange, SourceFile, StoredSlice, TableSlice, TopicSlice
from lakelogic.record import control_table
from lakelogic.record.journal import Batch, Holder, Journal, open_journal
from lakelogic.record.slice_json import decode_slice, encode_slice

NOW = datetime(2026, 3, 28, 12, 0, 1, 123456, tzinfo=UTC)
HOLDER = Holder("host", 7, "run", NOW)


def file(name: str, size: int = 1) -> SourceFile:
    return SourceFile(f"/in/{name}", size, 1_700_000_000_000_000_001)


def prepare(journal: Journal, slice_: StoredSlice, run_id: str = "run") -> Batch:
    return journal.prepare(
        slice_, run_id=run_id, fingerprint="f1", started_at=NOW, holder=HOLDER, settings={"target": "t"}
    )


def unread(journal: Journal, names: Iterable[str]) -> set[str]:
    known = journal.known_files()
    assert known is not None
    return {found.file.path.removeprefix("/in/") for found in known.unread(file(name) for name in names)}


def test_an_empty_journal_has_no_batch_and_no_files(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path))
    assert journal.last_batch() == 0
    assert journal.pending() is None
    assert journal.known_files() is None
    assert journal.committed_table("/t") is None
    assert list(tmp_path.iterdir()) == [], "looking must not write"


def test_a_prepared_batch_is_found_again_by_another_process(tmp_path: Path) -> None:
    slice_ = FileSlice((file("a.csv"), file("ü ''.csv", 0)))
    prepared = prepare(open_journal(str(tmp_path), clock=FixedClock(NOW)), slice_)
    assert open_journal(str(tmp_path)).pending() == prepared
    assert (prepared.number, prepared.state, prepared.slice, prepared.started_at) == (
        1,
        "prepared",
        slice_,
        NOW,
    )
    assert prepared.settings == {"target": "t"}


def test_a_staged_batch_comes_back_with_its_manifest(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path))
    manifest = {"accepted": [{"path": "x", "rows": 3}], "counts": {"source": 4}}
    staged = journal.mark_staged(prepare(journal, FileSlice((file("a"),))), manifest)
    found = open_journal(str(tmp_path)).pending()
    assert found == staged
    assert found is not None and found.manifest == manifest


def test_only_committed_batches_move_the_position(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path))
    journal.mark_committed(prepare(journal, FileSlice((file("a"), file("b")))))
    journal.abandon(prepare(journal, FileSlice((file("c"),))), "gate failed")
    journal.mark_staged(prepare(journal, FileSlice((file("d"),))), {})
    assert unread(journal, "abcd") == {"c", "d"}
    assert unread(open_journal(str(tmp_path)), "abcd") == {"c", "d"}
    assert journal.last_batch() == 3


def test_the_position_of_a_table_is_its_newest_committed_version(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path))
    for version, after in ((3, None), (9, 3)):
        journal.mark_committed(prepare(journal, TableSlice("/t", version, after)))
    prepare(journal, TableSlice("/t", 12, 9))
    assert journal.committed_table("/t") == TableSlice("/t", 9, 3)
    assert journal.committed_table("/other") is None


def test_the_position_in_a_topic_is_its_newest_committed_slice(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path))
    assert journal.committed_offsets("t") is None
    for topic, end in (("t", 5), ("t", 9), ("other", 99)):
        journal.mark_committed(prepare(journal, TopicSlice(topic, (OffsetRange(0, 0, end),))))
    journal.abandon(prepare(journal, TopicSlice("t", (OffsetRange(0, 9, 20),))), "gate failed")
    prepare(journal, TopicSlice("t", (OffsetRange(0, 9, 30),)))
    assert journal.committed_offsets("t") == TopicSlice("t", (OffsetRange(0, 0, 9),))


def test_a_batch_cannot_be_prepared_over_an_open_one(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path))
    prepare(journal, FileSlice((file("a"),)))
    with pytest.raises(RunError, match="batch 1 is not finished"):
        prepare(journal, FileSlice((file("b"),)))


def test_compaction_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_table, "COMPACT_EVERY", 5)
    for number in range(12):
        journal = open_journal(str(tmp_path))
        batch = prepare(journal, FileSlice((file(f"f{number}"),)), run_id=f"r{number}")
        journal.mark_committed(journal.mark_staged(batch, {}))
    journal = open_journal(str(tmp_path))
    assert journal.last_batch() == 12
    assert journal.pending() is None
    assert unread(journal, [f"f{number}" for number in range(13)]) == {"f12"}


@pytest.mark.parametrize(
    "slice_",
    [
        FileSlice(()),
        FileSlice((file("ä\n\"'"),)),
        TableSlice("/t", 3),
        TableSlice("/t", 3, 1),
        TableSlice("/t", 3, 1, "id"),
        FileSlice((SourceFile("/in/a", 1, 2, "etag"), file("b"))),
        TopicSlice("t", (OffsetRange(0, 5, 2**40), OffsetRange(3, 7, 7)), "id"),
        TopicSlice("t", ()),
    ],
)
def test_slices_survive_json(slice_: StoredSlice) -> None:
    assert decode_slice(encode_slice(slice_)) == slice_


def test_a_frame_cannot_be_journaled() -> None:
    with pytest.raises(RunError, match="frame in memory"):
        encode_slice(FrameSlice(object()))
