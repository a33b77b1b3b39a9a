"""Widening a column: the table is written again with the wider type, so that every reader can read it.

Delta's own type widening leaves the files as they are and turns on a table feature that delta-rs does not know;
such a table could not be read without Spark, nor adopt files any more.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from lakelogic.core.errors import RunError
from lakelogic.storage.tables import arrow_rows, reopen_delta
from lakelogic.table.delta_schema import find_widened, widened_schema
from lakelogic.table.features import enable_features
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


def widening_note(shape: TableShape, widened: tuple[str, ...]) -> str:
    """What the commit says of itself."""
    types = {column.name: column.type.sql("databricks").lower() for column in shape.columns}
    return "widened " + ", ".join(f"{name} to {types[name]}" for name in widened)
