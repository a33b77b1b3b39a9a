"""Delta tables through delta-rs: a version whole, or the rows that commits since another version added."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.core.slices import TableSlice
from lakelogic.engine.local.changes import net_changes
from lakelogic.storage import tables
from lakelogic.storage.files import read_file
from lakelogic.storage.resolver import short_reason
from lakelogic.storage.tables import arrow_rows

MASKING_KEY = "lakelogic.masking"  # metadata of a Delta column


@dataclass(frozen=True, slots=True)
class _Added:
    """What commits after a version added, read from the table's log."""

    paths: Mapping[str, int]  # with the version that added each
    rewrites: bool
    special: bool


def open_delta(path: str, version: int | None = None) -> DeltaTable:
    try:
        return tables.open_delta(path, version)
    except (DeltaError, OSError) as error:
        raise RunError(f"cannot read the Delta table `{path}`: {short_reason(error)}") from error


def read_delta(slice_: TableSlice) -> Any:
    """An Arrow dataset or table for the engine to scan."""
    table = open_delta(slice_.path, slice_.version)
    if slice_.after_version is None or slice_.run_ids:
        return dataset_of(table, slice_.path)  # rows of some runs are chosen by the query over it
    if slice_.after_version >= slice_.version:
        return dataset_of(table, slice_.path).schema.empty_table()
    added = _read_log(slice_, slice_.after_version)
    properties = table.metadata().configuration
    if properties.get("delta.enableChangeDataFeed") == "true" and (added.rewrites or added.special):
        return _read_changes(table, slice_, slice_.after_version)
    if added.special or "delta.columnMapping.mode" in properties:
        raise CapabilityError(
            f"`{slice_.path}` uses deletion vectors or column mapping: new rows cannot be told from old",
            hint="set the table property delta.enableChangeDataFeed to true, or read with load_mode: full",
        )
    return _only(dataset_of(table, slice_.path), added.paths, slice_.path)


def masking_of(slice_: TableSlice) -> dict[str, str]:
    """How an earlier layer masked the columns of a table, as their metadata says."""
    fields = open_delta(slice_.path, slice_.version).schema().fields
    return {field.name: str(field.metadata[MASKING_KEY]) for field in fields if MASKING_KEY in field.metadata}


def dataset_of(table: DeltaTable, path: str) -> ds.Dataset:
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        # delta-rs would not fail: it finds no column under its logical name, and shows NULL everywhere.
        raise CapabilityError(f"`{path}` cannot be read without Spark: column mapping", hint="use engine: spark")
    try:
        return arrow_rows(table)
    except DeltaError as error:
        raise CapabilityError(
            f"`{path}` cannot be read without Spark: {str(error).splitlines()[0]}", hint="use engine: spark"
        ) from error


def _only(whole: ds.Dataset, paths: Mapping[str, int], path: str) -> Any:
    """These files of a table; one that was compacted since is a file of the version that added it."""
    fragments = _fragments(whole, paths)
    for version in sorted({paths[name] for name in paths.keys() - fragments.keys()}):
        earlier = dataset_of(open_delta(path, version), path)
        fragments |= _fragments(earlier, {name for name in paths if paths[name] == version})
    if lost := next(iter(paths.keys() - fragments.keys()), None):
        raise RunError(f"`{lost}` of `{path}` is gone", hint="run again", retryable=True)
    if not fragments:
        return whole.schema.empty_table()
    return ds.FileSystemDataset(list(fragments.values()), whole.schema, whole.format, whole.filesystem)


def _bare(path: str) -> str:
    """A file's name without escapes; log and fragments escape the values of partitions a different number of times."""
    while (bare := unquote(path)) != path:
        path = bare
    return path.lstrip("/")


def _fragments(dataset: ds.Dataset, wanted: Collection[str]) -> dict[str, Any]:
    named = ((_bare(fragment.path), fragment) for fragment in dataset.get_fragments())
    return {name: fragment for name, fragment in named if name in wanted}


def _read_changes(table: DeltaTable, slice_: TableSlice, after: int) -> Any:
    changes = pa.table(table.load_cdf(starting_version=after + 1, ending_version=slice_.version).read_all())
    # delta-rs gives texts as views, which Arrow cannot filter.
    plain = pa.schema([f.with_type(pa.string()) if f.type == pa.string_view() else f for f in changes.schema])
    return net_changes(changes.cast(plain))


def _read_log(slice_: TableSlice, after: int) -> _Added:
    log = f"{slice_.path.rstrip('/')}/_delta_log"
    adds: list[tuple[int, dict[str, Any]]] = []
    removed: set[str] = set()
    for version in range(after + 1, slice_.version + 1):
        for action in _actions(f"{log}/{version:020}.json", slice_.path, after):
            if action.get("add", {}).get("dataChange"):
                adds.append((version, action["add"]))
            if action.get("remove", {}).get("dataChange"):
                removed.add(action["remove"]["path"])
    kept = [(version, add) for version, add in adds if add["path"] not in removed]
    return _Added(
        paths={_bare(add["path"]): version for version, add in kept},
        rewrites=bool(removed),
        special=any(add.get("deletionVector") for _, add in kept),
    )


def _actions(commit: str, table: str, after: int) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in read_file(commit).decode().splitlines() if line]
    except FileNotFoundError as error:
        raise RunError(
            f"the log of `{table}` no longer reaches back to version {after}",
            hint="run once with load_mode: full",
        ) from error
