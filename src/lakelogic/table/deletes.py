"""The memory of deletes: keys and positions, kept beside a target so that no older event brings a row back.

A small Delta table under `_lakelogic/deletes/`: the key columns, `_lakelogic_position`, `_lakelogic_deleted_at`,
`_lakelogic_reason` (`delete` or `truncate`; a truncate has no key) and `_lakelogic_batch`. A batch appends to it
before it commits its target, once. Whoever computes a batch reads only older ones, so that doing it again gives
the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa
from deltalake import CommitProperties, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from lakelogic.core.errors import RunError
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import DELETE_COLUMN, EVENT_TIME_COLUMN, POSITION_COLUMN
from lakelogic.storage.resolver import store_options
from lakelogic.storage.tables import open_parquet
from lakelogic.table.adopt import find_committed, find_table
from lakelogic.table.delta_schema import delta_schema
from lakelogic.table.partition_text import partition_value
from lakelogic.table.protocol import CommitId, TableShape
from lakelogic.table.widen import widen_columns

DELETED_AT, REASON, BATCH = "_lakelogic_deleted_at", "_lakelogic_reason", "_lakelogic_batch"


def deletes_path(target: str) -> str:
    """Where the deletes of a target are remembered."""
    folder, name = os.path.split(target.rstrip("/"))
    return os.path.join(folder, "_lakelogic", "deletes", name)


def remember_deletes(
    target: str, files: Sequence[StagedFile], shape: TableShape, keys: Sequence[str], commit_id: CommitId
) -> None:
    """Append the deletes of a batch in one commit that carries the batch; a second time changes nothing."""
    path = deletes_path(target)
    table = find_table(path)
    carried = find_committed(table, commit_id.app_id)
    if carried is not None and carried >= commit_id.batch:
        return
    if table is not None:
        widen_columns(table, TableShape(tuple(c for c in shape.columns if c.name in keys)))
    schema = _schema(shape, keys)
    found = [_deletes_of(target, file, schema, keys, commit_id.batch) for file in files]
    rows = pa.concat_tables([table for table in found if table.num_rows] or [schema.empty_table()])
    try:
        write_deltalake(
            path,
            rows,
            mode="append",
            storage_options=store_options(path),
            commit_properties=CommitProperties(app_transactions=[Transaction(commit_id.app_id, commit_id.batch)]),
        )
    except (DeltaError, OSError) as error:
        raise RunError(f"deletes could not be remembered in `{path}`: {error}", code="LL447", retryable=True) from error


def _schema(shape: TableShape, keys: Sequence[str]) -> pa.Schema:
    columns = {column.name: column for column in shape.columns}
    declared = pa.schema(delta_schema([columns[key] for key in keys]).to_arrow())
    own = [
        pa.field(POSITION_COLUMN, pa.string()),
        pa.field(DELETED_AT, pa.timestamp("us", "UTC")),
        pa.field(REASON, pa.string()),
        pa.field(BATCH, pa.int64()),
    ]
    # A truncate has no key, whatever the target promises of its columns.
    return pa.schema([*[pa.field(field.name, field.type) for field in declared], *own])


def _deletes_of(root: str, file: StagedFile, schema: pa.Schema, keys: Sequence[str], batch: int) -> pa.Table:
    """The deletes of one staged file; a key that files are partitioned by stands in the folder's name."""
    stored = [key for key in keys if key not in file.partition]
    names = [*stored, POSITION_COLUMN, EVENT_TIME_COLUMN]
    # A file of its own, not a dataset: `column=value` in its path must not become a column.
    with open_parquet(os.path.join(root, file.path)) as parquet:
        rows = parquet.read(columns=[*names, DELETE_COLUMN])
    rows = rows.filter(rows.column(DELETE_COLUMN))
    columns: dict[str, pa.Array | pa.ChunkedArray] = {name: rows.column(name) for name in stored}
    for key in keys:
        if key in file.partition:
            value = partition_value(file.partition[key], schema.field(key).type)
            columns[key] = pa.repeat(value, rows.num_rows)
    columns[POSITION_COLUMN], columns[DELETED_AT] = rows.column(POSITION_COLUMN), rows.column(EVENT_TIME_COLUMN)
    keyless = columns[keys[0]].is_null().to_pylist()
    columns[REASON] = pa.array(["truncate" if none else "delete" for none in keyless], pa.string())
    columns[BATCH] = pa.repeat(pa.scalar(batch, pa.int64()), rows.num_rows)
    return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)
