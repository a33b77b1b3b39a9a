"""A batch on its way into a history, and the part of the table that it concerns."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakelogic.plan.files import StagedFile
from lakelogic.plan.history import staged_columns
from lakelogic.plan.model import DELETE_COLUMN, Column
from lakelogic.plan.writes import visible_keys
from lakelogic.storage.files import list_names, remove_tree
from lakelogic.table.history_files import find_files
from lakelogic.table.history_layout import Layout
from lakelogic.table.protocol import TableShape
from lakelogic.table.pruning import EVERYTHING, Range, key_ranges, render_literal, render_ranges
from lakelogic.table.spark_staged import quoted, with_helpers

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch on its way into a history."""

    path: str
    table: DeltaTable | None  # as it is; None where there is no version yet
    files: Sequence[StagedFile]
    shape: TableShape  # of the table
    layout: Layout
    number: int
    concerned: str = EVERYTHING  # condition over the table as `t`, true for every version of the batch's keys
    sources: tuple[StagedFile, ...] | None = None  # files with all such versions; None: only Delta can read them

    @property
    def staged_shape(self) -> TableShape:
        write = self.layout.write
        shape = TableShape(staged_columns(write, self.shape.columns))
        return with_helpers(shape, [DELETE_COLUMN] if write.deletes else [])

    @property
    def staged_folder(self) -> str:
        """The folder of the staged files, whose name is this batch's alone."""
        return self.files[0].path.split("/")[0] if self.files else f"merge-{self.number:08d}"

    @property
    def keys(self) -> tuple[Column, ...]:
        by_name = {c.name: c for c in self.shape.columns}
        return tuple(by_name[key] for key in self.layout.write.keys)

    @property
    def unknown_member(self) -> str | None:
        """A condition over a table as `t` that holds for the unknown member."""
        write = self.layout.write
        given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
        parts = [f"t.{quoted(c.name)} = {render_literal(given[c.name], c.type)}" for c in self.keys if given]
        return f"({' AND '.join(parts)})" if parts else None


def open_batch(
    path: str, table: DeltaTable | None, files: Sequence[StagedFile], shape: TableShape, layout: Layout, number: int
) -> Batch:
    """A batch with the part of the table that it concerns; values of personal columns stay out of the condition."""
    batch = Batch(path, table, files, shape, layout, number)
    if table is None:
        return batch
    ranges = _key_ranges(batch, table)
    visible = [c for c in batch.keys if c.name in visible_keys(layout.write) and ranges[c.name]]
    parts = [render_ranges(f"t.{quoted(c.name)}", ranges[c.name], c.type) for c in visible]
    condition, unknown = " AND ".join(parts) or EVERYTHING, batch.unknown_member
    batch = replace(batch, sources=find_files(table, shape, _with_unknown(batch, ranges)))
    return replace(batch, concerned=f"({condition} OR {unknown})" if unknown else condition)


def concerned_ranges(batch: Batch, table: DeltaTable) -> dict[str, Sequence[Range]]:
    """Ranges of keys that hold every version which the batch concerns, by column."""
    return _with_unknown(batch, _key_ranges(batch, table))


def _key_ranges(batch: Batch, table: DeltaTable) -> dict[str, list[Range]]:
    return {c.name: key_ranges(table, batch.path, batch.files, c) for c in batch.keys}


def _with_unknown(batch: Batch, ranges: Mapping[str, Sequence[Range]]) -> dict[str, Sequence[Range]]:
    """The ranges with the key of the unknown member, which is in every batch; a type that cannot be named has none."""
    write = batch.layout.write
    given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
    if not given:
        return dict(ranges)
    ends = {name: [end for end in parts[0] if end is not None] for name, parts in ranges.items() if parts}
    kinds = {name: type(known[0]) for name, known in ends.items()}
    points = {name: kind(given[name]) for name, kind in kinds.items() if kind in (int, str)}
    return {name: [*ranges[name], (point, point)] for name, point in points.items()}


def new_folder(batch: Batch) -> str:
    """A folder for files that the table will show; what an attempt left that ended before its commit is removed."""
    prefix = f"batch-{batch.staged_folder.removeprefix('merge-')}-"
    for name in list_names(batch.path) if batch.files else ():
        if name.startswith(prefix):
            remove_tree(os.path.join(batch.path, name))
    return prefix + uuid.uuid4().hex[:8]
