"""Widening a column: the table is written again with the wider type, so that every reader can read it.

Delta's own type widening leaves the files as they are and turns on a table feature that delta-rs does not know;
such a table could not be read without Spark, nor adopt files any more.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from lakelogic.core.errors import RunError
from lakelogic.plan.files import StagedFile
from lakelogic.storage.files import make_folder
from lakelogic.storage.tables import arrow_place, arrow_rows, open_parquet, reopen_delta
from lakelogic.table.delta_schema import find_widened, widened_schema
from lakelogic.table.features import enable_features
from lakelogic.table.logged_files import logged_file
from lakelogic.table.partition_text import partition_text, partition_value
from lakelogic.table.protocol import TableShape


def widen_columns(table: DeltaTable, shape: TableShape) -> DeltaTable:
    """Write the rows of a table again, in one commit, with the wider types of a batch; else leave it alone."""
    widened = find_widened(table, shape)
    if not widened:
        return table
    table = enable_features(table, shape.columns)
    schema = pa.schema(widened_schema(table, shape))
    columns = {field.name: pc.field(field.name).cast(field.type) for field in schema}
    reader = arrow_rows(table).scanner(columns=columns).to_reader().cast(schema)
    try:
        write_deltalake(
            table,
            reader,
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=table.metadata().partition_columns or None,
            commit_properties=CommitProperties(custom_metadata={"userMetadata": widening_note(shape, widened)}),
        )
    except (DeltaError, pa.ArrowException) as error:
        raise RunError(
            f"the columns of `{table.table_uri}` could not be widened", code="LL441", retryable=True
        ) from error
    return reopen_delta(table)


def write_wider(path: str, table: DeltaTable, shape: TableShape) -> list[StagedFile]:
    """The files of a table once more with the wider types of a batch, each as one file below a new folder.

    For tables with partitions: delta-rs (1.6) would write -1.50 as `-1.-50`, so that the table opens no more, and
    1e-300 as three hundred digits, which no folder can bear as its name.
    """
    old, new = pa.schema(table.schema()), pa.schema(widened_schema(table, shape))
    names = table.metadata().partition_columns
    stored = pa.schema([field for field in new if field.name not in names])
    folder, (disk, inside) = f"widen-{uuid.uuid4().hex[:8]}", arrow_place(path)
    make_folder(os.path.join(path, folder))
    files = []
    for number, row in enumerate(pa.table(table.get_add_actions(flatten=True)).to_pylist()):
        file = logged_file(row, names)
        target = f"{folder}/part-{number:05d}.parquet"
        with (
            open_parquet(os.path.join(path, file.path)) as parquet,
            pq.ParquetWriter(os.path.join(inside, target), stored, filesystem=disk, compression="zstd") as writer,
        ):
            for batch in parquet.iter_batches():
                writer.write_batch(_wider(batch, stored))
            rows = parquet.metadata.num_rows
        files.append(StagedFile(target, 0, rows, _wider_texts(file.partition, old, new)))
    return files


def _wider(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    there = set(batch.schema.names)
    columns = [
        batch.column(field.name).cast(field.type) if field.name in there else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _wider_texts(values: Mapping[str, str | None], old: pa.Schema, new: pa.Schema) -> dict[str, str | None]:
    typed = {name: partition_value(text, old.field(name).type) for name, text in values.items()}
    return {name: partition_text(value.cast(new.field(name).type).as_py()) for name, value in typed.items()}


def widening_note(shape: TableShape, widened: tuple[str, ...]) -> str:
    """What the commit says of itself."""
    types = {column.name: column.type.sql("databricks").lower() for column in shape.columns}
    return "widened " + ", ".join(f"{name} to {types[name]}" for name in widened)
