"""Upkeep of one Delta table through delta-rs: its files, its log, what may be put together or removed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from lakelogic.contract.duration import parse_duration
from lakelogic.core.errors import RunError
from lakelogic.plan.upkeep import TARGET_BYTES, DataFile, Optimized
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import file_exists, list_names, remove_file, walk_files
from lakelogic.storage.tables import arrow_rows

_HISTORY = 1000
_COMMIT = re.compile(r"^(\d{20})\.json$")
_CHECKPOINT = re.compile(r"^(\d{20})\.checkpoint\b.*\.parquet$")
_INTERVAL = re.compile(r"(?:interval\s+)?(\d+)\s*(second|minute|hour|day|week)s?", re.IGNORECASE)
_ONE = {"second": "s", "minute": "m", "hour": "h", "day": "d", "week": "w"}


def list_data_files(table: DeltaTable) -> tuple[DataFile, ...]:
    """The files of the current version."""
    actions = pa.table(table.get_add_actions(flatten=True))
    columns = [actions[f"partition.{name}"].to_pylist() for name in table.metadata().partition_columns]
    sizes, times = actions["size_bytes"].to_pylist(), actions["modification_time"].to_pylist()
    return tuple(
        DataFile(
            tuple(None if values[at] is None else str(values[at]) for values in columns),
            size,
            time if isinstance(time, datetime) else datetime.fromtimestamp(time / 1000, UTC),
        )
        for at, (size, time) in enumerate(zip(sizes, times, strict=True))
    )


def target_bytes(table: DeltaTable) -> int:
    """How large files should be: as the table says, else 128 MB."""
    text = table.metadata().configuration.get("delta.targetFileSize", "")
    found = re.fullmatch(r"(\d+)\s*([kmg]?)b?", text.strip().lower())
    return int(found[1]) * 1024 ** " kmg".index(found[2] or " ") if found else TARGET_BYTES


def find_optimized(table: DeltaTable) -> Optimized | None:
    """The newest OPTIMIZE, by us or by Spark, as far as the log reaches back."""
    for entry in table.history(_HISTORY):
        if entry.get("operation") == "OPTIMIZE":
            return Optimized(datetime.fromtimestamp(entry["timestamp"] / 1000, UTC), _sorted_by(entry))
    return None


def _sorted_by(entry: Mapping[str, Any]) -> tuple[str, ...]:
    # Spark says it in the parameters; delta-rs does not, so that our commits say it in their metadata.
    texts = (entry.get("operationParameters", {}).get("zOrderBy"), entry.get("userMetadata"))
    for text in texts:
        try:
            found = json.loads(text) if isinstance(text, str) else None
        except ValueError:
            continue
        found = found.get("zorder_by") if isinstance(found, dict) else found
        if isinstance(found, list) and found:
            return tuple(str(name) for name in found)
    return ()


def compact(table: DeltaTable) -> dict[str, int]:
    """Put small files together, in one commit that changes no row."""
    return _counts(table.optimize.compact(target_size=target_bytes(table)))


def sort_files(
    table: DeltaTable, columns: Sequence[str], partitions: Sequence[tuple[str | None, ...]]
) -> dict[str, int]:
    """Z-order all files, or those of some partitions; each in one commit that changes no row."""
    said = CommitProperties(custom_metadata={"userMetadata": json.dumps({"zorder_by": list(columns)})})
    names = table.metadata().partition_columns
    total: dict[str, int] = {"files_removed": 0, "files_added": 0}
    # A NULL partition cannot be named in a filter; then all of them are sorted.
    named = [p for p in partitions if p and None not in p]
    chosen = named if partitions and len(named) == len(partitions) else [None]
    for partition in chosen:
        filters = None if partition is None else [(n, "=", str(v)) for n, v in zip(names, partition, strict=True)]
        done = table.optimize.z_order(
            list(columns), partition_filters=filters, target_size=target_bytes(table), commit_properties=said
        )
        for name, count in _counts(done).items():
            total[name] += count
    return total


def _counts(metrics: Mapping[str, Any]) -> dict[str, int]:
    return {"files_removed": int(metrics["numFilesRemoved"]), "files_added": int(metrics["numFilesAdded"])}


def list_old_files(table: DeltaTable, path: str, hours: int) -> list[str]:
    """Files that no version of the last hours needs, and that are still there."""
    found = _vacuum(table, hours)
    return [name for name in found if file_exists(os.path.join(path, name))]


def remove_old_files(table: DeltaTable, hours: int) -> None:
    _vacuum(table, hours, dry_run=False)


def list_untracked(table: DeltaTable, hours: int) -> list[str]:
    """Files below the table's folder that no version knows and that were not touched for some hours."""
    removed = set(_vacuum(table, 0))
    return [name for name in _vacuum(table, hours, full=True) if name not in removed]


def _vacuum(table: DeltaTable, hours: int, *, dry_run: bool = True, full: bool = False) -> list[str]:
    try:
        return table.vacuum(retention_hours=hours, enforce_retention_duration=False, dry_run=dry_run, full=full)
    except DeltaError as error:
        raise RunError(f"old files of `{table.table_uri}` could not be removed: {error}", code="LL445") from error


def log_state(table: DeltaTable, path: str, now: datetime) -> tuple[int, int]:
    """How many commits came after the last checkpoint, and how many before it are older than the log is kept."""
    folder = os.path.join(path, "_delta_log")
    files = {os.path.basename(file.path): file for file in walk_files(folder)}
    names = list(files)
    newest = max((int(m[1]) for name in names if (m := _CHECKPOINT.match(name))), default=-1)
    kept = parse_retention(table.metadata().configuration.get("delta.logRetentionDuration", "interval 30 days"))
    commits = expired = 0
    for name in names:
        found = _COMMIT.match(name)
        if found is None:
            continue
        commits += int(found[1]) > newest
        age = now.timestamp() - files[name].mtime_ns / 1e9
        expired += int(found[1]) < newest and age > kept
    return commits, expired


def parse_retention(text: str) -> float:
    """Seconds of an interval such as `interval 30 days`; forever where it is not one."""
    found = _INTERVAL.fullmatch(text.strip())
    return parse_duration(f"{found[1]}{_ONE[found[2].lower()]}").total_seconds() if found else float("inf")


def trim_log(table: DeltaTable) -> None:
    """Write a checkpoint, and remove the commits before it that are older than the log is kept."""
    table.create_checkpoint()
    table.cleanup_metadata()


def count_rows_before(table: DeltaTable, column: str, instant: datetime) -> int:
    return int(arrow_rows(table).count_rows(filter=ds.field(column) < pa.scalar(instant)))


def delete_rows_before(table: DeltaTable, column: str, instant: datetime) -> int:
    """Delete rows in one commit; their files stay until they are old enough to be removed."""
    said = CommitProperties(custom_metadata={"userMetadata": json.dumps({"deleted_before": instant.isoformat()})})
    count = count_rows_before(table, column, instant)
    # Not `table.delete`: it leaves texts as views in the files that it writes again, and Arrow cannot filter by those.
    nothing = arrow_rows(table).schema.empty_table()
    old = f"\"{column}\" < '{instant:%Y-%m-%dT%H:%M:%S.%fZ}'"
    write_deltalake(table, nothing, mode="overwrite", predicate=old, commit_properties=said)
    return count


def remove_files(root: str, names: Iterable[str]) -> None:
    """Remove files below a folder, and the folders that are empty or only marked after that."""
    folders = set()
    for name in names:
        remove_file(os.path.join(root, name))
        folders.add(os.path.dirname(name))
    for folder in sorted(folders, key=len, reverse=True):
        _remove_empty(root, folder)


def _remove_empty(root: str, folder: str) -> None:
    while folder:
        path = os.path.join(root, folder)
        left = list_names(path)
        if any(not name.startswith(("_", ".")) for name in left):
            return
        for name in left:
            remove_file(os.path.join(path, name))
        if not is_remote(path) and os.path.isdir(path):
            os.rmdir(path)
        folder = os.path.dirname(folder)
