"""When a table needs upkeep: pure judgements over its files and its past, each with the evidence in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from lakelogic.contract.materialization import OptimizeWhen
from lakelogic.core.sizes import render_bytes

TARGET_BYTES = 128 * 1024 * 1024
# Fewer small files of a partition cost a reader nothing; putting them together would only write them again.
SMALL_FILES = 4
# A part of the table that is not sorted yet and is smaller than this is let be.
UNSORTED_SHARE = 0.1
COMMITS_PER_CHECKPOINT = 10
# A little less than the time between two runs of the job, which never starts at the same second.
_PAUSE = {"always": timedelta(0), "hourly": timedelta(minutes=50), "nightly": timedelta(hours=20),
          "weekly": timedelta(days=6, hours=12)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the current version."""

    partition: tuple[str | None, ...]
    size: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class Optimized:
    """The newest OPTIMIZE that the log tells of."""

    at: datetime
    sorted_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether there is something to do, and why."""

    state: Literal["needed", "not needed", "not due", "off"]
    evidence: str
    partitions: tuple[tuple[str | None, ...], ...] = ()  # where, if not everywhere

    @property
    def needed(self) -> bool:
        return self.state == "needed"


def judge_layout(
    files: Sequence[DataFile],
    last: Optimized | None,
    *,
    when: OptimizeWhen,
    sort_by: Sequence[str],
    target_bytes: int,
    now: datetime,
) -> Finding:
    """Whether files should be put together, or sorted by columns."""
    if when == "never":
        return Finding("off", "maintenance.optimize is never")
    if last is not None and now - last.at < _PAUSE[when]:
        return Finding("not due", f"optimized {_ago(now - last.at)} ago, and maintenance.optimize is {when}")
    if sort_by:
        return _judge_sorting(files, last, tuple(sort_by))
    return _judge_sizes(files, target_bytes)


def _judge_sizes(files: Sequence[DataFile], target_bytes: int) -> Finding:
    small = Counter(file.partition for file in files if file.size < target_bytes // 2)
    crowded = {partition: count for partition, count in small.items() if count >= SMALL_FILES}
    where = f"{len(files)} files, {render_bytes(sum(file.size for file in files))}"
    half = render_bytes(target_bytes // 2)
    if not crowded:
        return Finding("not needed", f"{where}; no partition has {SMALL_FILES} files below {half}")
    total = sum(crowded.values())
    text = f"{where}; {total} of them below {half} in {len(crowded)} partitions"
    return Finding("needed", text if crowded.keys() != {()} else text.rpartition(" in ")[0], tuple(crowded))


def _judge_sorting(files: Sequence[DataFile], last: Optimized | None, sort_by: tuple[str, ...]) -> Finding:
    """All files are sorted the first time; later the partitions that have enough new ones."""
    by = ", ".join(sort_by)
    if not files:
        return Finding("not needed", "no files")
    if last is None or last.sorted_by != sort_by:
        return Finding("needed", f"{len(files)} files, never sorted by {by}")
    fresh = [file for file in files if file.modified_at > last.at]
    chosen = []
    for partition in dict.fromkeys(file.partition for file in fresh):
        new = [file for file in fresh if file.partition == partition]
        whole = sum(file.size for file in files if file.partition == partition)
        if len(new) >= SMALL_FILES or sum(file.size for file in new) >= UNSORTED_SHARE * whole:
            chosen.append(partition)
    text = f"{len(fresh)} of {len(files)} files are newer than the last sort by {by}"
    return Finding("needed", text, tuple(chosen)) if chosen else Finding("not needed", text)


def judge_log(commits: int, expired: int, interval: int = COMMITS_PER_CHECKPOINT) -> Finding:
    """Whether a checkpoint is missing, or commits are older than the log is kept."""
    text = f"{commits} commits since the last checkpoint, {expired} commits older than the log is kept"
    return Finding("needed" if commits >= interval or expired else "not needed", text)


def judge_count(count: int, what: str) -> Finding:
    """Whether there is anything of what should not be there."""
    return Finding("needed" if count else "not needed", f"{count} {what}")


def _ago(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    return f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"
