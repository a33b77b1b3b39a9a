"""Forgetting old runs: rows of the run log that are past their time.

Nothing but people and reports reads these rows. Positions, windows that are done and batches that must be finished
stand in the journal, and the batch numbers in the tables themselves; see docs/decisions/0035-run-log-tables.md.
"""

from __future__ import annotations

import os
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lakelogic.record.control_table import delete_rows, find_control_table
from lakelogic.record.run_schema import LOG_TABLES
from lakelogic.storage.tables import arrow_rows

# Against the order of writing: a row in `runs` means that the others are there, also while rows are removed.
FORGET_ORDER = tuple(reversed(LOG_TABLES))


def count_runs_before(folder: str, name: str, instant: datetime) -> int:
    """How many rows of a table of the log are of runs that began before a moment."""
    table = find_control_table(os.path.join(folder, name))
    if table is None:
        return 0
    moment = pc.field("recorded_at")
    if _has_start(table):
        # Rows of earlier versions do not say when their run began, only when they were written. Not `is_null`: delta-rs
        # tells of files without a column that it lies between NULL and NULL, and Arrow takes that for "is not NULL".
        moment = pc.coalesce(pc.field("started_at"), moment)
    return int(arrow_rows(table).count_rows(filter=moment < pa.scalar(instant)))


def forget_runs_before(folder: str, name: str, instant: datetime) -> int:
    """Remove those rows in one commit; gives how many there were."""
    table = find_control_table(os.path.join(folder, name))
    if table is None:
        return 0
    text = f"'{instant:%Y-%m-%dT%H:%M:%S.%fZ}'"
    early = f"recorded_at < {text}"
    if _has_start(table):
        early = f"started_at < {text} OR (started_at IS NULL AND {early})"
    count = count_runs_before(folder, name, instant)
    delete_rows(table, early)
    return count


def _has_start(table: DeltaTable) -> bool:
    return any(field.name == "started_at" for field in table.schema().fields)
