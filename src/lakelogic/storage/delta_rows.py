"""The rows of a Delta table as an Arrow dataset, also where delta-rs' own reader fails."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable

from lakelogic.storage.tables import arrow_place, arrow_rows


def delta_dataset(table: DeltaTable, path: str) -> ds.Dataset:
    """The rows of a table, which is opened at a version."""
    try:
        return arrow_rows(table)
    except pa.ArrowInvalid:
        # delta-rs (1.6) takes the partition value -1.50 for the text `-1.-50`.
        return _by_files(table, path)


def _by_files(table: DeltaTable, path: str) -> ds.Dataset:
    schema, names = pa.schema(table.schema()), table.metadata().partition_columns
    format_, (disk, inside) = ds.ParquetFileFormat(), arrow_place(path)
    fragments = [
        format_.make_fragment(os.path.join(inside, unquote(row["path"])), disk, _partition(row, names, schema))
        for row in pa.table(table.get_add_actions(flatten=True)).to_pylist()
    ]
    return ds.FileSystemDataset(fragments, schema, format_, disk)


def _partition(row: Mapping[str, Any], names: Sequence[str], schema: pa.Schema) -> pc.Expression:
    values = {name: row.get(f"partition.{name}") for name in names}
    parts = [
        pc.field(name).is_null() if value is None else pc.field(name) == pa.scalar(value, schema.field(name).type)
        for name, value in values.items()
    ]
    return reduce(lambda left, right: left & right, parts) if parts else pc.scalar(True)
