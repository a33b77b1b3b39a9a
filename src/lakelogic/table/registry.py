"""Which table implementation serves a format on an engine; its library is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic.core.errors import CapabilityError
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.protocol import Table, TableLocation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE_FORMATS = ("delta", "parquet")


def open_table(
    format: str, location: TableLocation, *, spark: SparkSession | None = None, rows: RowWriter | None = None
) -> Table:
    """The table at a location: through Spark when there is a session, else through delta-rs and who does row work."""
    if format not in TABLE_FORMATS:
        raise CapabilityError(
            f"table format `{format}` is not supported yet", hint=f"use one of: {', '.join(TABLE_FORMATS)}"
        )
    if format == "parquet":
        from lakelogic.table.parquet_files import ParquetTable

        return ParquetTable(location)
    if spark is not None:
        from lakelogic.table.delta_spark import SparkDeltaTable

        return SparkDeltaTable(location, spark)
    from lakelogic.table.delta_rs import DeltaRsTable

    return DeltaRsTable(location, rows)
