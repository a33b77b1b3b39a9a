"""Which slice of a source the next batch reads, and why."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol, assert_never

from lakelogic.core.errors import RunError
from lakelogic.core.sizes import render_count
from lakelogic.core.slices import FileSlice, Slice, SourceFile, TableSlice
from lakelogic.source.files import list_files, sort_files
from lakelogic.source.listing import Listing, Readiness
from lakelogic.source.path_dates import DatedPaths, undated_source
from lakelogic.source.table_news import find_news, version_before
from lakelogic.source.tables import WAYS_ON, find_table_id, find_version, is_delta_table

LoadMode = Literal["full", "incremental", "cdc"]
OnEmpty = Literal["skip", "fail"]


class Unread(Protocol):
    """A file that no committed batch has read; `replaced` where one has read another file under its path."""

    @property
    def file(self) -> SourceFile: ...

    @property
    def replaced(self) -> bool: ...


class Known(Protocol):
    """Which files committed batches have read."""

    def unread(self, files: Iterable[SourceFile]) -> Iterator[Unread]: ...


@dataclass(frozen=True, slots=True)
class Position:
    """What committed batches have read; asked for only where the load mode needs it."""

    files: Callable[[], Known | None]  # None: nothing
    table: Callable[[str], TableSlice | None]  # the newest slice of the table at a path


def nothing_read() -> Position:
    """The position of a dataset that never ran."""
    return Position(files=lambda: None, table=lambda _: None)


def next_slice(
    path: str,
    *,
    pattern: str | None = None,
    format: str | None = None,
    load_mode: LoadMode = "full",
    position: Position | None = None,
    on_empty: OnEmpty = "skip",
    ready: Readiness | None = None,
    repeatable: bool = False,
    since: datetime | None = None,
    most: int | None = None,
    within: DatedPaths | None = None,
) -> tuple[Slice | None, str]:
    """The slice to read and the reason for it; None when there is nothing to read.

    `repeatable`: rows that are read a second time do no harm. `since`: where there is something new, what came after
    this moment is read again with it. `most`: so many new files at once, the oldest first; a full load is never cut.
    `within`: only files of a window.
    """
    before = position or nothing_read()
    if load_mode == "cdc":
        load_mode = "incremental"  # events are read once; what is inside of them is for the plan
    # A folder with a Delta log is a table unless the contract says that its files are something else.
    if format == "delta" or (format is None and is_delta_table(path)):
        if within is not None and not within.columns:
            raise undated_source("a table")
        chosen, reason = _next_table_slice(path, load_mode, before, since, repeatable=repeatable)
    else:
        listing = Listing(path, pattern, ready or Readiness(), within)
        chosen, reason = _next_file_slice(listing, load_mode, before, since, most)
    if chosen is None and on_empty == "fail":
        raise RunError(
            f"the source `{path}` has nothing to read: {reason}", code="LL433", hint="source.on_empty is fail"
        )
    return chosen, reason


def _next_file_slice(
    listing: Listing, load_mode: LoadMode, position: Position, since: datetime | None, most: int | None
) -> tuple[Slice | None, str]:
    known = position.files() if load_mode == "incremental" else None
    if known is not None:
        return _unread(listing, known, since, most)
    files, left = _oldest(listing, most if load_mode == "incremental" else None)
    later = _left_for_later(listing)
    if not files:
        what = f" match `{listing.pattern}`" if listing.pattern and not later else ""
        return None, "no files" + what + _of_window(listing) + later
    match load_mode:
        case "full":
            return FileSlice(files), f"full load of {_count(len(files))}{later}"
        case "incremental":
            some = f", {_told_waiting(len(files), left)}" if left else ""
            why = f"full load of {_count(len(files) + left)}{some}: no batch was committed before{later}"
            return FileSlice(files, left), why
        case "cdc":
            raise AssertionError("refused before")
        case _:
            assert_never(load_mode)


def _unread(listing: Listing, known: Known, since: datetime | None, most: int | None) -> tuple[Slice | None, str]:
    recent: list[SourceFile] = []
    fresh: set[SourceFile] = set()  # of the recent ones
    replaced = 0

    def find() -> Iterator[SourceFile]:
        nonlocal replaced
        for unread in known.unread(_noting(listing, recent, since)):
            replaced += unread.replaced
            if _is_recent(unread.file, since):
                fresh.add(unread.file)
            yield unread.file

    found, left = _oldest(find(), most)
    later = _left_for_later(listing)
    if not listing.listed:
        return None, f"no files{_of_window(listing)}{later}"
    if not found:
        return None, f"all {_count(listing.listed)} were read before{later}"
    again = f", {replaced} of them replaced since they were read" if replaced else ""
    repeated = [file for file in recent if file not in fresh]
    back = f", and {_count(len(repeated))} again (lookback)" if repeated else ""
    some = f", {_told_waiting(len(found), left)}" if left else ""
    why = f"{_count(len(found) + left)} of {listing.listed} not read before{again}{some}{back}{later}"
    return FileSlice(sort_files([*found, *repeated]), left), why


def _oldest(files: Iterable[SourceFile], most: int | None) -> tuple[tuple[SourceFile, ...], int]:
    """The files that were written first, and how many others there are; only the chosen ones are held."""
    if most is None:
        return sort_files(files), 0
    count = 0

    def counted() -> Iterator[SourceFile]:
        nonlocal count
        for file in files:
            count += 1
            yield file

    chosen = heapq.nsmallest(most, counted(), key=lambda file: (file.mtime_ns, file.path))
    return sort_files(chosen), count - len(chosen)


def _told_waiting(now: int, left: int) -> str:
    return f"the {now} oldest of them in this batch, {left} wait"


def _is_recent(file: SourceFile, since: datetime | None) -> bool:
    return since is not None and file.mtime_ns >= since.timestamp() * 1e9


def _noting(files: Iterable[SourceFile], recent: list[SourceFile], since: datetime | None) -> Iterator[SourceFile]:
    """Pass files on, and note those that were written after a moment."""
    for file in files:
        if _is_recent(file, since):
            recent.append(file)
        yield file


def _of_window(listing: Listing) -> str:
    return f" of {listing.within.window}" if listing.within is not None else ""


def _left_for_later(listing: Listing) -> str:
    return f"; {_count(listing.waiting)} not whole yet, left for later" if listing.waiting else ""


def _next_table_slice(
    path: str, load_mode: LoadMode, position: Position, since: datetime | None, *, repeatable: bool
) -> tuple[Slice | None, str]:
    version = find_version(path)
    if version is None:
        list_files(path)  # raises with near misses when the folder itself is missing
        raise RunError(f"`{path}` is not a Delta table", code="LL430", hint="it has no _delta_log folder")
    now = TableSlice(path, version, table_id=find_table_id(path))
    before = position.table(path) if load_mode == "incremental" else None
    if before is None:
        why = ": no batch was committed before" if load_mode == "incremental" else ""
        return now, f"full load of version {version}{why}"
    _require_same_table(before, now)
    news = find_news(replace(now, after_version=before.version), repeatable=repeatable)
    if news is None:
        return None, f"no rows were added since version {before.version}"
    if since is not None and not news.run_ids:
        back = version_before(path, before.version, since)
        if back != before.version:
            again = find_news(replace(now, after_version=back), repeatable=True) if back is not None else now
            return again, f"versions {before.version + 1} to {version}, and those since {since:%Y-%m-%d %H:%M} again"
    by_run = f", by their run: the files of {_count(len(news.run_ids), 'run')} are gone" if news.run_ids else ""
    return news, f"versions {before.version + 1} to {version}{by_run}"


def _require_same_table(before: TableSlice, now: TableSlice) -> None:
    """Versions count from the beginning of a table; what was read up to must still mean the same."""
    if None not in (before.table_id, now.table_id) and before.table_id != now.table_id:
        what = f"`{now.path}` was made anew since version {before.version} was read: it is another table now"
    elif before.version > now.version:
        what = f"`{now.path}` is at version {now.version}, but version {before.version} was read before"
    else:
        return
    raise RunError(what, code="LL434", hint=WAYS_ON)


def _count(number: int, noun: str = "file") -> str:
    return render_count(number, noun)
