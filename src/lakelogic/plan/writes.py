"""How accepted rows land in the target: one small value per strategy, kept in the journal with the batch.

Fields are texts, numbers, flags and tuples of texts only, so that a write survives as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal


@dataclass(frozen=True, slots=True)
class WriteAppend:
    """Add the accepted rows to the target."""


@dataclass(frozen=True, slots=True)
class WriteOverwrite:
    """Replace the whole target by the accepted rows."""


@dataclass(frozen=True, slots=True)
class WriteOverwritePartitions:
    """Replace exactly the partitions that the accepted rows are in; without such rows, nothing."""


@dataclass(frozen=True, slots=True)
class WriteReplace:
    """Replace the rows of the target whose date lies in [start, end) by the accepted ones; without such, nothing."""

    date_column: str
    start: str = ""  # a day; empty: the day of the run
    end: str = ""  # the first day after


@dataclass(frozen=True, slots=True)
class WriteMerge:
    """Upsert the accepted rows by key."""

    keys: tuple[str, ...]
    order_by: tuple[str, ...] = ()  # "updated_at desc"-style terms over output columns; latest wins
    on_duplicate_key: Literal["latest", "quarantine", "fail"] = "fail"  # quarantine: the stage has taken them out
    update_columns: tuple[str, ...] = ()  # what an update may change; empty: all
    insert_only: bool = False
    deletes: bool = False  # accepted files say by DELETE_COLUMN which rows are to go
    delete_missing: bool = False  # rows whose key the batch does not have are to go
    max_delete_ratio: float | None = None  # a share of the table; above it nothing is published


@dataclass(frozen=True, slots=True)
class WriteCdc:
    """Apply change events by key, each key up to its newest event."""

    keys: tuple[str, ...]
    soft_column: str = ""  # where a deleted row is marked; empty: it goes
    time_column: str = ""
    reason_column: str = ""


Write = WriteAppend | WriteOverwrite | WriteOverwritePartitions | WriteReplace | WriteMerge | WriteCdc


def write_of_day(write: Write, day: date) -> Write:
    """The write as it is done by a run of this day; a plan knows no clock."""
    if not isinstance(write, WriteReplace) or write.start:
        return write
    return replace(write, start=day.isoformat(), end=(day + timedelta(days=1)).isoformat())


def is_merged(write: Write | None) -> bool:
    """Whether the staged files are the source of a MERGE, and not files of the table itself."""
    return isinstance(write, WriteMerge | WriteCdc)


def without_deletes(write: Write) -> Write:
    """The same write, keeping rows that the batch does not have."""
    return replace(write, delete_missing=False) if isinstance(write, WriteMerge) else write
