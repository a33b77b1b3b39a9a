"""What commits of a Delta table added since a version, and whether it can still be read.

Rows are new where a commit added files with `dataChange`: OPTIMIZE adds none. Their files may be gone when a run comes:
compacted away, then vacuumed. The rows are still in the table, among old ones. Where LakeLogic wrote them, each commit
says which run it was and each row carries that run's id, so they are found again; where not, a person has to choose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable

from lakelogic.core.errors import RunError
from lakelogic.core.slices import RUN_ID_COLUMN, TableSlice
from lakelogic.source.tables import WAYS_ON, log_folder
from lakelogic.storage.files import file_exists, read_file
from lakelogic.storage.tables import open_delta

_RAN_BEFORE = "to prevent it, keep removed files longer than the time between two runs (VACUUM ... RETAIN)"


@dataclass(slots=True)
class _News:
    """The file actions of some commits, put together."""

    added: dict[str, str | None] = field(default_factory=dict)  # path -> run id of the commit that added it
    removed: set[str] = field(default_factory=set)
    changes: list[str] = field(default_factory=list)  # files of the change data feed
    rewriting: int | None = None  # the first version that wrote old rows again


def find_news(slice_: TableSlice, *, repeatable: bool) -> TableSlice | None:
    """How the rows added after `after_version` are to be read; None where there are none.

    `repeatable`: rows that are read a second time do no harm, because the target knows them by their key.
    """
    news = _read_news(slice_)
    new = {path: run for path, run in news.added.items() if path not in news.removed}
    if not new:
        return None
    table = open_delta(slice_.path, slice_.version)
    feeds = table.metadata().configuration.get("delta.enableChangeDataFeed") == "true"
    if news.rewriting is not None and not feeds and not repeatable:
        raise RunError(
            f"version {news.rewriting} of `{slice_.path}` wrote rows again that were read before, "
            "and without a change data feed new rows cannot be told from old ones",
            code="LL438",
            hint=f"{WAYS_ON}; to prevent it, set delta.enableChangeDataFeed on the source, or use strategy merge",
        )
    needed = [*new, *news.changes] if news.rewriting is not None and feeds else [*new]
    if lost := next((path for path in needed if not _is_there(slice_.path, path)), None):
        return _by_run(slice_, table, new, lost)
    return slice_


def lost_rows(slice_: TableSlice) -> str | None:
    """Why the rows of a slice cannot be read any more as it says; None where they can."""
    if slice_.after_version is None or slice_.run_ids:
        table = open_delta(slice_.path, slice_.version)
        actions: Any = table.get_add_actions()
        needed = [str(path) for path in actions.column("path").to_pylist()]
    else:
        news = _read_news(slice_)
        needed = [path for path in news.added if path not in news.removed]
    gone = next((path for path in needed if not _is_there(slice_.path, path)), None)
    return f"`{gone}` of `{slice_.path}` was vacuumed" if gone else None


def version_before(path: str, version: int, moment: datetime) -> int | None:
    """The newest version, up to one, that was committed before a moment; None where none is known to be."""
    for number in range(version, -1, -1):
        if not file_exists(f"{log_folder(path)}/{number:020d}.json"):
            return None
        times = (action["commitInfo"].get("timestamp") for action in _actions(path, number) if "commitInfo" in action)
        committed = next(times, None)
        if committed is not None and committed / 1000 < moment.timestamp():
            return number
    return None


def _by_run(slice_: TableSlice, table: DeltaTable, new: dict[str, str | None], lost: str) -> TableSlice:
    runs = {run for run in new.values() if run is not None}
    stamped = RUN_ID_COLUMN in {column.name for column in table.schema().fields}
    if None in new.values() or not stamped:
        raise RunError(
            f"`{lost}` of `{slice_.path}` was compacted and vacuumed before its rows were read",
            code="LL438",
            hint=f"{WAYS_ON}; {_RAN_BEFORE}",
        )
    return TableSlice(slice_.path, slice_.version, slice_.after_version, slice_.table_id, tuple(sorted(runs)))


def _read_news(slice_: TableSlice) -> _News:
    news = _News()
    for version in range((slice_.after_version or 0) + 1, slice_.version + 1):
        actions = list(_actions(slice_.path, version))
        run = next((_run_id(action["commitInfo"]) for action in actions if "commitInfo" in action), None)
        adds = [action["add"] for action in actions if action.get("add", {}).get("dataChange")]
        removes = [action["remove"] for action in actions if action.get("remove", {}).get("dataChange")]
        news.added |= {add["path"]: run for add in adds}
        news.removed |= {remove["path"] for remove in removes} - {add["path"] for add in adds}
        news.changes += [action["cdc"]["path"] for action in actions if "cdc" in action]
        if adds and removes and news.rewriting is None:
            news.rewriting = version
    return news


def _run_id(commit: dict[str, Any]) -> str | None:
    """The run that made a commit of ours."""
    try:
        told = json.loads(commit.get("userMetadata") or "null")
    except ValueError:
        return None
    return str(told["run_id"]) if isinstance(told, dict) and "run_id" in told else None


def _is_there(table: str, path: str) -> bool:
    decoded = unquote(path)
    if "://" in decoded:
        return True  # only its store can tell
    return file_exists(f"{table.rstrip('/')}/{decoded}")


def _actions(path: str, version: int) -> Iterator[dict[str, Any]]:
    commit = f"{log_folder(path)}/{version:020d}.json"
    try:
        lines = read_file(commit).decode("utf-8").splitlines()
    except FileNotFoundError as error:
        raise RunError(
            f"version {version} of `{path}` is no longer in its log, so what it added cannot be told",
            code="LL434",
            hint=f"{WAYS_ON}; to prevent it, keep the source's log longer (delta.logRetentionDuration)",
        ) from error
    return (json.loads(line) for line in lines if line)
