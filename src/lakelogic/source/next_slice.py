"""Which slice of a source the next batch reads, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, assert_never

from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice, Slice, SourceFile, TableSlice
from lakelogic.source.files import list_files, new_files
from lakelogic.source.tables import find_version, has_new_rows, is_delta_table

LoadMode = Literal["full", "incremental", "cdc"]
OnEmpty = Literal["skip", "fail"]


@dataclass(frozen=True, slots=True)
class Position:
    """What committed batches have read; asked for only where the load mode needs it."""

    files: Callable[[], Collection[SourceFile]]
    version: Callable[[str], int | None]  # of the table at a path


def nothing_read() -> Position:
    """The position of a dataset that never ran."""
    return Position(files=tuple, version=lambda _: None)


def next_slice(
    path: str,
    *,
    pattern: str | None = None,
    format: str | None = None,
    load_mode: LoadMode = "full",
    position: Position | None = None,
    on_empty: OnEmpty = "skip",
) -> tuple[Slice | None, str]:
    """The slice to read and the reason for it; None when there is nothing to read."""
    before = position or nothing_read()
    if load_mode == "cdc":
        load_mode = "incremental"  # events are read once; what is inside of them is for the plan
    # A folder with a Delta log is a table unless the contract says that its files are something else.
    if format == "delta" or (format is None and is_delta_table(path)):
        chosen, reason = _next_table_slice(path, load_mode, before)
    else:
        chosen, reason = _next_file_slice(path, pattern, load_mode, before)
    if chosen is None and on_empty == "fail":
        raise RunError(
            f"the source `{path}` has nothing to read: {reason}", code="LL433", hint="source.on_empty is fail"
        )
    return chosen, reason


def _next_file_slice(
    path: str, pattern: str | None, load_mode: LoadMode, position: Position
) -> tuple[Slice | None, str]:
    files = list_files(path, pattern=pattern)
    if not files:
        return None, "no files" + (f" match `{pattern}`" if pattern else "")
    match load_mode:
        case "full":
            return FileSlice(files), f"full load of {_count(len(files))}"
        case "incremental":
            return _unread(files, position)
        case "cdc":
            raise AssertionError("refused before")
        case _:
            assert_never(load_mode)


def _unread(files: tuple[SourceFile, ...], position: Position) -> tuple[Slice | None, str]:
    seen = position.files()
    if not seen:
        return FileSlice(files), f"full load of {_count(len(files))}: no batch was committed before"
    fresh = new_files(files, seen)
    if not fresh:
        return None, f"all {_count(len(files))} were read before"
    return FileSlice(fresh), f"{_count(len(fresh))} of {len(files)} not read before"


def _next_table_slice(path: str, load_mode: LoadMode, position: Position) -> tuple[Slice | None, str]:
    version = find_version(path)
    if version is None:
        list_files(path)  # raises with near misses when the folder itself is missing
        raise RunError(f"`{path}` is not a Delta table", code="LL430", hint="it has no _delta_log folder")
    before = position.version(path) if load_mode == "incremental" else None
    if before is None:
        why = ": no batch was committed before" if load_mode == "incremental" else ""
        return TableSlice(path, version), f"full load of version {version}{why}"
    if before > version:
        raise RunError(
            f"`{path}` is at version {version}, but version {before} was read before",
            code="LL434",
            hint="the table was replaced or restored; run once with load_mode full",
        )
    if not has_new_rows(path, after_version=before, version=version):
        return None, f"no rows were added since version {before}"
    return TableSlice(path, version, before), f"versions {before + 1} to {version}"


def _count(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"
