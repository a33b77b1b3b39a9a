"""What the store remembers that can matter to a batch, as rows for an engine of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.types import family, is_whole
from lakelogic.table.adopt import find_table
from lakelogic.table.history_batch import Batch
from lakelogic.table.history_layout import AT
from lakelogic.table.history_store import store_path, store_shape
from lakelogic.table.local_files import find_files
from lakelogic.table.pruning import Range, first_value, typed_bound

if TYPE_CHECKING:
    from deltalake import DeltaTable


def find_stored(batch: Batch) -> RowInput | None:
    """The store's files with rows not older than the batch; None where there are none."""
    path = store_path(batch.path)
    table = find_table(path) if batch.table is not None else None
    files = _files(batch, table) if table is not None else ()
    if table is None or not files:
        return None
    there = {field.name for field in table.schema().fields}
    known = {c.name: c for c in (*batch.shape.columns, *store_shape(batch.shape, batch.layout).columns)}
    return RowInput(path, files, tuple(column for name, column in known.items() if name in there))


def _files(batch: Batch, table: DeltaTable) -> tuple[StagedFile, ...]:
    moment = next(c for c in batch.shape.columns if c.name == batch.layout.write.timestamp)
    since = first_value(batch.path, batch.files, moment)
    found = find_files(table, {} if since is None else {AT: [(typed_bound(since, moment.type), None)]})
    if not batch.layout.write.unknown_names:
        return found
    # It is observed at the beginning of time, so everything remembered of it counts.
    unknown = find_files(table, _unknown_ranges(batch))
    return tuple({file.path: file for file in (*found, *unknown)}.values())


def _unknown_ranges(batch: Batch) -> dict[str, list[Range]]:
    write = batch.layout.write
    given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
    points = {c.name: int(given[c.name]) if is_whole(c.type) else given[c.name] for c in batch.keys}
    plain = [c.name for c in batch.keys if is_whole(c.type) or family(c.type) == "text"]
    return {name: [(points[name], points[name])] for name in plain}
