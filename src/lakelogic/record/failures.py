"""How a dataset fared lately, by its run log."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc

from lakelogic.record.control_table import find_control_table
from lakelogic.storage.tables import arrow_rows

# A run that was held back or stopped says nothing about the dataset.
_TELLING = ("failed", "succeeded", "no_new_data", "gate_failed", "held")
_COLUMNS = ("status", "started_at", "recorded_at", "attempt", "error_code")


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed, however often it was tried."""

    started_at: datetime
    error_code: str | None


def read_failures(folder: str, dataset: str) -> tuple[Failure, ...]:
    """The failed runs since the last one that did not fail, newest first; the tries of a run count once."""
    table = find_control_table(os.path.join(folder, "runs"))
    if table is None:
        return ()
    data = arrow_rows(table)
    condition = (pc.field("dataset") == dataset) & pc.field("status").isin(_TELLING)
    there = [column for column in _COLUMNS if column in data.schema.names]
    rows: list[dict[str, Any]] = data.to_table(columns=there, filter=condition).to_pylist()
    found: list[Failure] = []
    for row in sorted(rows, key=lambda row: row["recorded_at"], reverse=True):
        if row["status"] != "failed":
            break
        # Rows of earlier versions do not say which try they were.
        if (row.get("attempt") or 1) == 1:
            found.append(Failure(row["started_at"].astimezone(UTC), row["error_code"]))
    return tuple(found)
