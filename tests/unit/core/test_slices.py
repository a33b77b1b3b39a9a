"""Slices are told in words that a person understands."""

from __future__ import annotations

import pytest

from lakelogic.core.slices import FileSlice, FrameSlice, OffsetRange, Slice, SourceFile, TableSlice, TopicSlice
from lakelogic.core.slices import describe_slice as describe

FILES = tuple(SourceFile(f"/l/{n}.csv", 700 * 1024, 0) for n in range(3))


@pytest.mark.parametrize(
    ("slice_", "words"),
    [
        (FileSlice(FILES), "3 files, 2.1 MB"),
        (FileSlice((SourceFile("/l/a.csv", 12, 0),)), "1 file, 12 B"),
        (TableSlice("/t", 7), "all rows of version 7"),
        (TableSlice("/t", 7, 4), "rows added in versions 5 to 7"),
        (TableSlice("/t", 7, 4, run_ids=("a", "b")), "rows added in versions 5 to 7, by 2 runs"),
        (TopicSlice("t", (OffsetRange(0, 5, 9), OffsetRange(1, 0, 1))), "5 messages in 2 partitions"),
        (FrameSlice(None), "a frame of the caller"),
    ],
)
def test_a_slice_in_words(slice_: Slice, words: str) -> None:
    assert describe(slice_) == words
