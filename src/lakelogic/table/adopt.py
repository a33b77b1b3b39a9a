"""Commit staged Parquet files to a Delta table as they lie, without rewriting them (delta-rs)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.plan.types import named
from lakelogic.plan.writes import WriteOverwrite
from lakelogic.storage.files import find_file, make_folder
from lakelogic.storage.resolver import short_reason, store_options
from lakelogic.storage.tables import find_delta, reopen_delta
from lakelogic.table.commit_properties import commit_properties
from lakelogic.table.delta_schema import add_columns, delta_schema, find_widened, plan_evolution, widened_schema
from lakelogic.table.features import enable_features, needs_feature
from lakelogic.table.logged_files import find_partitions
from lakelogic.table.not_null import find_not_null, refuse_nulls
from lakelogic.table.obstacles import adoption_obstacle, property_obstacle, refuse_append_only
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.replaced import Replaced
from lakelogic.table.rewrite import replace_rows
from lakelogic.table.stats import INDEXED_COLUMNS, FileStats, read_stats, render_stats
from lakelogic.table.widen import widen_columns, widening_note, write_wider

Mode = Literal["append", "overwrite"]
_FOOTER_READERS = 8


def find_table(path: str) -> DeltaTable | None:
    """The Delta table at a folder, at its newest version."""
    try:
        return find_delta(path)
    except (DeltaError, OSError) as error:
        raise RunError(f"the table `{path}` cannot be opened: {short_reason(error)}", code="LL440") from error


def known_folders(path: str) -> frozenset[str]:
    """Folders below a table that hold files of its current version, or of one that it can be restored to."""
    table = find_table(path)
    if table is None:
        return frozenset()
    shown = pa.table(table.get_add_actions())["path"].to_pylist()
    try:
        removed = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=True)
    except DeltaError:
        # A feature that delta-rs lacks: such a table adopts no files.
        removed = []
    return frozenset(unquote(name).split("/")[0] for name in [*shown, *removed] if "/" in name)


def find_committed(table: DeltaTable | None, app_id: str) -> int | None:
    """The newest batch that a table carries for an app id."""
    return None if table is None else table.transaction_version(app_id)


def find_commit(table: DeltaTable | None, commit_id: CommitId) -> Commit | None:
    """The commit that carried a batch already; its version is looked up in the newest part of the history."""
    carried = find_committed(table, commit_id.app_id)
    if table is None or carried is None or carried < commit_id.batch:
        return None
    for entry in table.history(100):
        if _is_commit_of(entry.get("userMetadata"), commit_id):
            return Commit(int(entry["version"]), skipped=True, metrics=_commit_metrics(entry))
    return Commit(table.version(), skipped=True)


def _commit_metrics(entry: dict[str, Any]) -> dict[str, int]:
    metrics = entry.get("operationMetrics") or {}
    return {name: int(value) for name, value in metrics.items() if str(value).isdigit()}


def adopt_files(
    path: str,
    mode: Mode,
    files: Sequence[StagedFile],
    shape: TableShape,
    commit_id: CommitId,
    *,
    replaced: Replaced | None = None,
) -> Commit:
    """Create the table with these files, append them, or let them take the place of others: all of the version
    seen, or those that `replaced` names."""
    table = find_table(path)
    if done := find_commit(table, commit_id):
        return done
    if table is None:
        return _create(path, files, shape, commit_id)
    if obstacle := adoption_obstacle(table, overwrite=mode == "overwrite"):
        raise CapabilityError(
            f"the table `{path}` has {obstacle}, which files cannot be adopted under",
            code="LL311",
            hint="run on Spark, whose Delta writer is used for such tables",
        )
    if mode == "overwrite":
        refuse_append_only(table, WriteOverwrite())
    table = evolve(path, table, shape)
    gone = find_partitions(table, replaced.partitions) if replaced and replaced.partitions else None
    if gone is not None:
        return replace_files(table, path, files, gone, shape, commit_id, _metrics(files))
    actions = _add_actions(path, files, shape, table)
    if replaced is not None and replaced.filters is None:
        replace_rows(table, path, files, shape, replaced, commit_id)
    else:
        _write(table, mode, actions, shape, commit_id, replaced)
    return Commit(_committed_version(path, commit_id), metrics=_metrics(files))


def replace_files(
    table: DeltaTable,
    path: str,
    added: Sequence[StagedFile],
    removed: Sequence[StagedFile],
    shape: TableShape,
    commit_id: CommitId,
    metrics: Mapping[str, int],
) -> Commit:
    """One commit: files of the version seen go, others come. It fails where somebody else removed one of them."""
    now = time.time_ns() // 1_000_000
    gone = [RemoveAction(file.path, True, now, file.size, dict(file.partition)) for file in removed]
    try:
        table.create_write_transaction(
            [*_add_actions(path, added, shape, table), *gone],
            "append",
            table.schema(),
            list(shape.partition_by),
            commit_properties=commit_properties(commit_id, metrics),
        )
    except DeltaError as error:
        raise RunError(
            f"the commit to `{path}` failed: {short_reason(error)}",
            code="LL441",
            hint="run again: the staged files are kept, and the batch is computed anew",
            retryable=True,
        ) from error
    return Commit(_committed_version(path, commit_id), metrics=metrics)


def _committed_version(path: str, commit_id: CommitId) -> int:
    found = find_commit(find_table(path), commit_id)
    if found is None:
        raise RunError(f"the commit to `{path}` is not in its log", code="LL441", retryable=True)
    return found.version


def evolve(path: str, table: DeltaTable, shape: TableShape) -> DeltaTable:
    """Widen the columns and add those that a table lacks for a batch."""
    if table.metadata().partition_columns and find_widened(table, shape):
        table = enable_features(table, shape.columns)
        adopt_widened(path, table, write_wider(path, table, shape), shape)
        table = reopen_delta(table)
    table = widen_columns(table, shape)
    table = enable_features(table, plan_evolution(table, shape).new_columns)
    missing = plan_evolution(table, shape).new_columns
    if not missing:
        return table
    add_columns(table, missing)
    return reopen_delta(table)


def adopt_widened(path: str, table: DeltaTable, files: Sequence[StagedFile], shape: TableShape) -> None:
    """Let files with the wider types of a batch take the place of all that a table has, with the schema that fits."""
    schema, names = widened_schema(table, shape), find_widened(table, shape)
    partition_by = tuple(table.metadata().partition_columns)
    whole = TableShape(tuple(Column(field.name, named("unknown")) for field in schema.fields), partition_by)
    actions = _add_actions(path, files, whole, table)
    properties = CommitProperties(custom_metadata={"userMetadata": widening_note(shape, names)})
    try:
        table.create_write_transaction(
            list(actions), "overwrite", schema, list(partition_by), commit_properties=properties
        )
    except DeltaError as error:
        raise RunError(f"the columns of `{path}` could not be widened", code="LL441", retryable=True) from error


def create_empty(path: str, shape: TableShape) -> DeltaTable:
    """Create a table without rows; it carries no batch yet."""
    _refuse_properties(shape)
    make_folder(path)
    try:
        table = DeltaTable.create(
            path,
            delta_schema(shape.columns),
            partition_by=list(shape.partition_by),
            description=shape.description,
            configuration=dict(shape.properties),
            raise_if_key_not_exists=False,
            storage_options=store_options(path),
        )
        return enable_features(table, shape.columns)
    except DeltaError as error:
        raise RunError(f"the table `{path}` could not be created: {short_reason(error)}", code="LL441") from error


def _create(path: str, files: Sequence[StagedFile], shape: TableShape, commit_id: CommitId) -> Commit:
    _refuse_properties(shape)
    actions = _add_actions(path, files, shape, None)
    if needs_feature(shape.columns) or any(not key.startswith("delta.") for key in shape.properties):
        # delta-rs takes an author's own property, and names features, only where the table is there.
        _write(create_empty(path, shape), "append", actions, shape, commit_id)
        return Commit(_committed_version(path, commit_id), metrics=_metrics(files))
    make_folder(path)
    try:
        create_table_with_add_actions(
            path,
            delta_schema(shape.columns),
            actions,
            mode="error",
            partition_by=list(shape.partition_by),
            description=shape.description,
            configuration=dict(shape.properties),
            commit_properties=commit_properties(commit_id),
            storage_options=store_options(path),
        )
    except DeltaError as error:
        raise RunError(f"the table `{path}` could not be created: {short_reason(error)}", code="LL441") from error
    return Commit(0, metrics=_metrics(files))


def _refuse_properties(shape: TableShape) -> None:
    if obstacle := property_obstacle(shape.properties):
        raise CapabilityError(
            f"a table with {obstacle} cannot be created here yet",
            hint="create it with Spark SQL first, or leave the property out of table_properties",
        )


def _write(
    table: DeltaTable,
    mode: Mode,
    actions: list[AddAction],
    shape: TableShape,
    commit_id: CommitId,
    replaced: Replaced | None = None,
) -> None:
    try:
        table.create_write_transaction(
            list(actions),
            mode,
            table.schema(),
            list(shape.partition_by),
            partition_filters=list(replaced.filters) if replaced and replaced.filters else None,
            commit_properties=commit_properties(commit_id),
        )
    except DeltaError as error:
        raise RunError(
            f"the commit to `{table.table_uri}` failed: {short_reason(error)}",
            code="LL441",
            hint="run again: the staged files are kept, and only the commit is repeated",
            retryable=True,
        ) from error


def _add_actions(
    path: str, files: Sequence[StagedFile], shape: TableShape, table: DeltaTable | None
) -> list[AddAction]:
    names = [column.name for column in shape.columns if column.name not in shape.partition_by]
    not_null = find_not_null(table, shape)
    limit = _stats_limit(table.metadata().configuration if table else shape.properties)
    with ThreadPoolExecutor(_FOOTER_READERS) as readers:
        footers = list(readers.map(lambda file: read_stats(os.path.join(path, file.path), file.constants), files))
    actions = []
    for file, stats in zip(files, footers, strict=True):
        _check_file(file, stats, names, shape)
        refuse_nulls(file, stats, not_null)
        actions.append(_add_action(path, file, shape, render_stats(stats, names, limit=limit)))
    return actions


def _add_action(path: str, file: StagedFile, shape: TableShape, stats: str) -> AddAction:
    found = find_file(os.path.join(path, file.path))
    if found is None:
        raise RunError(f"staged file `{file.path}` is gone", code="LL442", hint="nothing was published")
    # Only the table's own partition columns: the folder of a file also says its verdict.
    partition = {name: file.partition.get(name) for name in shape.partition_by}
    return AddAction(file.path, found.size, partition, found.mtime_ns // 1_000_000, True, stats)


def _check_file(file: StagedFile, stats: FileStats, names: Sequence[str], shape: TableShape) -> None:
    if stats.rows != file.rows:
        raise RunError(
            f"staged file `{file.path}` has {stats.rows} rows, {file.rows} were counted while it was written",
            code="LL442",
            hint="the file changed after it was staged; nothing was published",
        )
    lacking = [name for name in names if name not in stats.columns]
    if lacking:
        raise RunError(f"staged file `{file.path}` lacks column `{lacking[0]}`", code="LL442")
    unnamed = [name for name in shape.partition_by if name not in file.partition]
    if unnamed:
        raise RunError(f"staged file `{file.path}` has no value of partition column `{unnamed[0]}`", code="LL442")


def _stats_limit(properties: Mapping[str, str]) -> int:
    text = properties.get("delta.dataSkippingNumIndexedCols")
    return int(text) if text is not None else INDEXED_COLUMNS


def _metrics(files: Sequence[StagedFile]) -> dict[str, int]:
    return {"numFiles": len(files), "numOutputRows": sum(file.rows for file in files)}


def _is_commit_of(metadata: object, commit_id: CommitId) -> bool:
    if not isinstance(metadata, str):
        return False
    try:
        found = json.loads(metadata)
    except ValueError:
        return False
    return isinstance(found, dict) and (found.get("app_id"), found.get("batch")) == (
        commit_id.app_id,
        commit_id.batch,
    )
