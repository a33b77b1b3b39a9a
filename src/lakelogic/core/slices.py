"""Slices: exactly what one batch reads, written to the journal so that a retry reads the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, assert_never

from lakelogic.core.sizes import render_bytes, render_count

OWN_PREFIX = "_lakelogic_"  # of columns that tell of a run, not of the business
# A change data feed of Delta: its own columns, and which kinds of change bring a row or take one away.
CHANGE_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
CAME, WENT = ("insert", "update_postimage"), ("delete", "update_preimage")
RUN_ID_COLUMN = "_lakelogic_run_id"  # of a table that LakeLogic wrote: which run a row is from


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's identity: the same path with another size, time or tag is another file."""

    path: str
    size: int
    mtime_ns: int
    etag: str | None = None  # what an object store says of the content; None: it says nothing


@dataclass(frozen=True, slots=True)
class FileSlice:
    """These files, whole; `waiting` more are new and were left for later batches."""

    files: tuple[SourceFile, ...]
    waiting: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TableSlice:
    """A Delta table at `version`; with `after_version`, only rows of files added since then."""

    path: str
    version: int
    after_version: int | None = None
    table_id: str | None = None  # another one at the same path is another table
    run_ids: tuple[str, ...] = ()  # the new rows are those that carry one of these; empty: those of the added files


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Messages of one partition, from `start` up to but without `end`; both the same where there are none."""

    partition: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TopicSlice:
    """These offsets of a Kafka topic; partitions without new messages stand in it too, for their position."""

    topic: str
    ranges: tuple[OffsetRange, ...]
    topic_id: str | None = None  # another one under the same name is another topic; None: the broker gives none


@dataclass(frozen=True, slots=True)
class Bounds:
    """Rows by a column that grows: from `low` to `high`, both included, and those without a value.

    From `tail` on, exactly the rows that `listed` has marks of; rows with a mark in `seen` were read before.
    """

    field: str
    high: str  # as the database writes it
    tail: str
    low: str | None = None  # None: from the beginning
    number: bool = False  # values are numbers, not texts or times
    marked: tuple[str, ...] = ()  # columns that a mark is made of
    listed: str | None = None  # file of marks; None: nothing is there from `tail` on
    seen: str | None = None
    digest: str = ""  # of the listed marks: the same ones again are nothing new


@dataclass(frozen=True, slots=True)
class DatabaseSlice:
    """A table or query of a database, whole or within bounds."""

    relation: str
    relation_id: str | None = None  # another one under the same name is another table; None: the database gives none
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class FrameSlice:
    """A frame that the caller already holds (run_dataframe)."""

    frame: Any


StoredSlice = FileSlice | TableSlice | TopicSlice | DatabaseSlice  # those that the journal can keep
Slice = StoredSlice | FrameSlice


def describe_slice(slice_: Slice) -> str:
    """What a batch reads, in words."""
    match slice_:
        case FileSlice(files):
            return f"{render_count(len(files), 'file')}, {render_bytes(sum(file.size for file in files))}"
        case TableSlice(after_version=None):
            return f"all rows of version {slice_.version}"
        case TableSlice():
            of_runs = f", by {render_count(len(slice_.run_ids), 'run')}" if slice_.run_ids else ""
            assert slice_.after_version is not None
            return f"rows added in versions {slice_.after_version + 1} to {slice_.version}{of_runs}"
        case TopicSlice(ranges=ranges):
            messages = sum(part.end - part.start for part in ranges)
            return f"{render_count(messages, 'message')} in {render_count(len(ranges), 'partition')}"
        case DatabaseSlice(bounds=None):
            return f"all rows of {slice_.relation}"
        case DatabaseSlice(bounds=bounds):
            assert bounds is not None
            since = f"from {bounds.low} on, " if bounds.low is not None else ""
            return f"rows of {slice_.relation}, {bounds.field} {since}up to {bounds.high}"
        case FrameSlice():
            return "a frame of the caller"
        case _:
            assert_never(slice_)
