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
    personal: tuple[str, ...] = ()  # columns whose values may not stand in a query


@dataclass(frozen=True, slots=True)
class WriteCdc:
    """Apply change events by key, each key up to its newest event."""

    keys: tuple[str, ...]
    soft_column: str = ""  # where a deleted row is marked; empty: it goes
    time_column: str = ""
    reason_column: str = ""
    personal: tuple[str, ...] = ()  # columns whose values may not stand in a query


@dataclass(frozen=True, slots=True)
class WriteScd2:
    """Keep every state that a key had, each with the time from which and up to which it was true."""

    keys: tuple[str, ...]
    timestamp: str  # since when a row is true, by its source
    tracked: tuple[str, ...]  # a change of these opens a version
    untracked: tuple[str, ...]  # all other columns of the source
    opaque: tuple[str, ...]  # those of them that are encrypted at random, so that equal values look different
    valid_from: str
    valid_to: str
    current: str
    version: str
    end: str  # where an open version ends
    surrogate: str | None = None
    deletes: bool = False  # accepted files have DELETE_COLUMN
    ignore_deletes: bool = False
    unknown_names: tuple[str, ...] = ()  # the row for facts without a known key: columns, and their values
    unknown_values: tuple[str, ...] = ()
    personal: tuple[str, ...] = ()  # columns whose values may not stand in a query

    @property
    def made(self) -> tuple[str, ...]:
        """The columns that the history adds to the rows, in the table's order but for the surrogate."""
        return (self.valid_from, self.valid_to, self.current, self.version)


Write = WriteAppend | WriteOverwrite | WriteOverwritePartitions | WriteReplace | WriteMerge | WriteCdc | WriteScd2


def write_of_day(write: Write, day: date) -> Write:
    """The write as it is done by a run of this day; a plan knows no clock."""
    if not isinstance(write, WriteReplace) or write.start:
        return write
    return replace(write, start=day.isoformat(), end=(day + timedelta(days=1)).isoformat())


def visible_keys(write: WriteMerge | WriteCdc | WriteScd2) -> tuple[str, ...]:
    """Keys whose values may stand in a query, which Delta keeps in its log and Spark shows in its pages."""
    return tuple(key for key in write.keys if key not in write.personal)


def is_merged(write: Write | None) -> bool:
    """Whether the staged files are the source of a MERGE, and not files of the table itself."""
    return isinstance(write, WriteMerge | WriteCdc | WriteScd2)


def without_deletes(write: Write) -> Write:
    """The same write, keeping rows that the batch does not have."""
    return replace(write, delete_missing=False) if isinstance(write, WriteMerge) else write
