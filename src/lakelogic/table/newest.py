"""The newest value of a column of a Delta table, by the statistics of its files where all have them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lakelogic.core.errors import CapabilityError, PlanError
from lakelogic.storage.tables import arrow_rows
from lakelogic.table.adopt import find_table

Newest = date | datetime | int


def find_newest(path: str, column: str) -> Newest | None:
    """The highest value; None where there is no table, or no value in it.

    Statistics cut moments to milliseconds, which errs on the side of an earlier one.
    """
    table = find_table(path)
    if table is None:
        return None
    if column not in {field.name for field in table.schema().fields}:
        raise PlanError(
            f"`{path}` has no column `{column}`, so what was read before cannot be told by it",
            hint="keep source.watermark_field in the target under its name, or use watermark_strategy: pipeline_log",
            code="LL353",
        )
    if "deletionVectors" in (table.protocol().reader_features or ()):
        raise CapabilityError(
            f"`{path}` has deletion vectors, so the newest `{column}` cannot be told from its statistics",
            hint="use watermark_strategy: pipeline_log",
        )
    value = _by_statistics(table, column)
    return value if value is not None else _by_reading(table, path, column)


def _by_statistics(table: DeltaTable, column: str) -> Newest | None:
    actions: Any = table.get_add_actions(flatten=True)
    files = pa.table(actions)
    for name in (f"partition.{column}", f"max.{column}"):
        if name in files.column_names and files.column(name).null_count == 0 and files.num_rows:
            newest: Newest | None = _plain(pc.max(files.column(name)).as_py())
            return newest
    return None


def _by_reading(table: DeltaTable, path: str, column: str) -> Newest | None:
    try:
        newest = None
        for batch in arrow_rows(table).to_batches(columns=[column]):
            found = _plain(pc.max(batch.column(0)).as_py())
            newest = found if newest is None or (found is not None and found > newest) else newest
        return newest
    except DeltaError as error:
        raise CapabilityError(
            f"the newest `{column}` of `{path}` cannot be read: {str(error).splitlines()[0]}",
            hint="use watermark_strategy: pipeline_log",
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value if isinstance(value, date | datetime | int) else None
