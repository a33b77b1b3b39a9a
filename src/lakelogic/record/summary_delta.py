"""Summaries as a Delta table: the folder of the schema, then that of the table, below the one that is named."""

from __future__ import annotations

import pyarrow as pa

from lakelogic.record.control_table import append_rows, open_control_table
from lakelogic.record.summary_schema import SUMMARY_SCHEMA
from lakelogic.record.summary_table import SummaryTable


def append(table: SummaryTable, rows: pa.Table) -> None:
    """Add rows in one commit."""
    parts = [table.database.rstrip("/"), *([table.schema] if table.schema else []), table.name]
    opened = open_control_table("/".join(parts), SUMMARY_SCHEMA)
    append_rows(opened, SUMMARY_SCHEMA, rows.to_pylist())
