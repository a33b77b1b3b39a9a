"""A small table from rows in memory, written without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from lakelogic.core.errors import PlanError, RunError
from lakelogic.storage.files import make_folder
from lakelogic.storage.resolver import store_options
from lakelogic.storage.tables import arrow_rows, open_delta
from lakelogic.table.adopt import find_table
from lakelogic.table.delta_schema import delta_schema
from lakelogic.table.protocol import TableShape
from lakelogic.table.rewrite import refuse_path


def replace_table(path: str, shape: TableShape, rows: Sequence[Mapping[str, Any]]) -> int:
    """Let a table have exactly these rows, in one commit or none; gives its version."""
    schema = delta_schema(shape.columns)
    data = pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(schema))
    table = find_table(path)
    if table is None:
        make_folder(path)
    elif [(f.name, str(f.type)) for f in table.schema().fields] != [(f.name, str(f.type)) for f in schema.fields]:
        raise PlanError(
            f"`{path}` is a table with other columns",
            code="LL335",
            hint="choose another folder; nothing was written",
        )
    elif _same_rows(table, data):
        return table.version()
    refuse_path(path)
    try:
        if table is None:
            table = DeltaTable.create(path, schema, description=shape.description, storage_options=store_options(path))
        write_deltalake(table, data, mode="overwrite")
    except (DeltaError, OSError) as error:
        raise RunError(f"the table `{path}` could not be written: {error}", code="LL446") from error
    return open_delta(path).version()


def _same_rows(table: DeltaTable, data: pa.Table) -> bool:
    key = data.column_names[0]
    there = arrow_rows(table).to_table().sort_by(key)
    return bool(there.cast(data.schema).equals(data.sort_by(key)))
