"""Replacing rows by a condition without a JVM: files that hold such rows are written again by delta-rs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.plan.files import StagedFile
from lakelogic.storage.tables import arrow_place
from lakelogic.table.commit_properties import commit_properties
from lakelogic.table.partition_text import partition_value
from lakelogic.table.protocol import CommitId, TableShape
from lakelogic.table.replaced import Replaced


def replace_rows(
    table: DeltaTable,
    root: str,
    files: Sequence[StagedFile],
    shape: TableShape,
    replaced: Replaced,
    commit_id: CommitId,
) -> None:
    """One commit: the rows that the condition names go, the staged ones come."""
    refuse_path(root)
    reader = read_staged_rows(table, root, files, shape).scanner().to_reader()
    try:
        write_deltalake(
            table,
            reader,
            mode="overwrite",
            predicate=replaced.sql("postgres"),
            commit_properties=commit_properties(commit_id),
        )
    except (DeltaError, pa.ArrowException) as error:
        raise RunError(
            f"the commit to `{table.table_uri}` failed",
            code="LL441",
            hint="run again: the staged files are kept, and only the commit is repeated",
            retryable=True,
        ) from error


def refuse_path(root: str) -> None:
    """Raise where delta-rs could not write: it takes the folder for part of an address, and panics."""
    found = next((character for character in root if character in "[]\\^|"), None)
    if found is not None:
        raise CapabilityError(
            f"delta-rs cannot rewrite rows below a folder with `{found}` in its name",
            code="LL312",
            hint="choose another target_path, partition the table by what is replaced, or run with engine spark",
        )


def refuse_fractions(table: DeltaTable) -> None:
    """Raise where delta-rs would write partition values that nobody can read: it writes -1.50 as `-1.-50`."""
    types = pa.schema(table.schema())
    found = [types.field(name).type for name in table.metadata().partition_columns]
    if any(pa.types.is_decimal(type_) or pa.types.is_floating(type_) for type_ in found):
        raise CapabilityError(
            f"delta-rs cannot rewrite rows of `{table.table_uri}`, which is partitioned by numbers with fractions",
            code="LL312",
            hint="partition the table by what is replaced, or run with engine spark",
        )


def read_staged_rows(table: DeltaTable, root: str, files: Sequence[StagedFile], shape: TableShape) -> ds.Dataset:
    """Staged files as rows of the table; partition values come from folder names."""
    schema = pa.schema(table.schema())
    names = [column.name for column in shape.columns]
    wanted = pa.schema([schema.field(name) for name in names])
    format_, (disk, inside) = ds.ParquetFileFormat(), arrow_place(root)
    fragments = [
        format_.make_fragment(os.path.join(inside, file.path), disk, _partition(file, wanted, shape)) for file in files
    ]
    return ds.FileSystemDataset(fragments, wanted, format_, disk)


def _partition(file: StagedFile, schema: pa.Schema, shape: TableShape) -> pc.Expression:
    parts = []
    for name in shape.partition_by:
        value = file.partition[name]
        typed = partition_value(value, schema.field(name).type) if value is not None else None
        parts.append(pc.field(name).is_null() if typed is None else pc.field(name) == typed)
    return reduce(lambda left, right: left & right, parts) if parts else pc.scalar(True)
