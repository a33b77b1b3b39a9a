"""MERGE without a JVM: the files that a batch touches are written again by an engine of this process, in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deltalake import DeltaTable

from lakelogic.core.faults import fault_point
from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.model import Column
from lakelogic.plan.types import named
from lakelogic.table.adopt import replace_files
from lakelogic.table.facts import columns_of
from lakelogic.table.local_files import find_files, group_files, new_folder
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.merge_rows import (
    BATCH,
    FILE_COLUMN,
    KNOWN,
    OLD,
    Merge,
    count_inserts_query,
    effect_query,
    insert_query,
    rewrite_query,
)
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.pruning import Range, key_ranges


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a statement does to a table."""

    touched: tuple[StagedFile, ...]
    updated: int
    deleted: int
    inserted: int

    def metrics(self, written: Sequence[StagedFile]) -> dict[str, int]:
        """In the words of Delta's MERGE."""
        changed = self.updated + self.deleted
        return {
            "numTargetRowsInserted": self.inserted,
            "numTargetRowsUpdated": self.updated,
            "numTargetRowsDeleted": self.deleted,
            "numTargetRowsCopied": max(0, sum(file.rows for file in self.touched) - changed),
            "numTargetFilesAdded": len(written),
            "numTargetFilesRemoved": len(self.touched),
            "numTargetBytesAdded": sum(file.size for file in written),
            "numTargetBytesRemoved": sum(file.size for file in self.touched),
        }


def run_merge(
    rows: RowWriter,
    table: DeltaTable,
    path: str,
    merge: Merge,
    batch: RowInput,
    known: Sequence[StagedFile],
    commit_id: CommitId,
    staged: Sequence[StagedFile],
) -> Commit:
    """Carry out a statement; `known` are all files that may hold a row that it speaks of."""
    effect = _find_effect(rows, table, path, merge, batch, known)
    columns, partition_by = columns_of(table), tuple(table.metadata().partition_columns)
    folder = new_folder(path, staged)
    written: list[StagedFile] = []
    for number, group in enumerate(group_files(effect.touched)):
        inputs = {OLD: RowInput(path, group, columns), BATCH: batch}
        written += rows.write_rows(
            rewrite_query(merge, columns), inputs, columns,
            root=path, folder=f"{folder}/{number}", partition_by=partition_by,
        )  # fmt: skip
    if effect.inserted:
        inputs = {KNOWN: RowInput(path, tuple(known), columns), BATCH: batch}
        written += rows.write_rows(
            insert_query(merge, columns), inputs, columns,
            root=path, folder=f"{folder}/new", partition_by=partition_by,
        )  # fmt: skip
    fault_point("after_merge_files")
    whole = TableShape(columns, partition_by)
    return replace_files(table, path, written, effect.touched, whole, commit_id, effect.metrics(written))


def _numbered(table: DeltaTable, path: str, files: Sequence[StagedFile]) -> RowInput:
    """Rows of a table with the number of the file that each stands in."""
    marked = tuple(
        replace(file, partition={**file.partition, FILE_COLUMN: str(number)}) for number, file in enumerate(files)
    )
    return RowInput(path, marked, (*columns_of(table), Column(FILE_COLUMN, named("int"))))


def batch_rows(
    table: DeltaTable, path: str, files: Sequence[StagedFile], shape: TableShape, helpers: Sequence[Column] = ()
) -> RowInput:
    """Staged rows in the types of the table, which may be wider than those of the batch."""
    types = {column.name: column.type for column in columns_of(table)}
    columns = tuple(replace(column, type=types.get(column.name, column.type)) for column in shape.columns)
    return RowInput(path, tuple(files), (*columns, *helpers))


def files_with_keys(
    table: DeltaTable, path: str, files: Sequence[StagedFile], shape: TableShape, keys: Sequence[str]
) -> tuple[StagedFile, ...]:
    """The files of a table that may hold a key of staged files, by what the log says of them."""
    columns = {column.name: column for column in shape.columns}
    inside = [key for key in keys if key not in shape.partition_by]
    ranges: Mapping[str, Sequence[Range]] = {key: key_ranges(table, path, files, columns[key]) for key in inside}
    found = find_files(table, ranges)
    for key in keys:
        if key in shape.partition_by:
            found = _of_partitions(found, files, columns[key])
    return found


def _of_partitions(found: Sequence[StagedFile], files: Sequence[StagedFile], key: Column) -> tuple[StagedFile, ...]:
    """Partition values are compared as text, where one value has one text."""
    if key.type.sql("databricks").upper() not in {"STRING", "INT", "BIGINT", "DATE"}:
        return tuple(found)
    values = {file.partition.get(key.name) for file in files}
    return tuple(file for file in found if file.partition.get(key.name) in values)


def _find_effect(
    rows: RowWriter, table: DeltaTable, path: str, merge: Merge, batch: RowInput, files: Sequence[StagedFile]
) -> _Effect:
    looked_at = {KNOWN: _numbered(table, path, files), BATCH: batch}
    found = rows.read_rows(effect_query(merge), looked_at) if files and merge.changes else []
    changed = sorted((int(number), int(updated), int(deleted)) for number, updated, deleted in found)
    inputs = {KNOWN: RowInput(path, tuple(files), columns_of(table)), BATCH: batch}
    inserted = rows.read_rows(count_inserts_query(merge), inputs)[0][0]
    return _Effect(
        tuple(files[number] for number, updated, deleted in changed if updated or deleted),
        sum(updated for _, updated, _ in changed),
        sum(deleted for _, _, deleted in changed),
        int(inserted),
    )
