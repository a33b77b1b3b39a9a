"""The events of runs, in the run log's folder.

``events``: run_id STRING, dataset STRING, position LONG, kind STRING, severity STRING (`info` | `warning` |
`error`), message STRING, detail STRING (JSON), recorded_at TIMESTAMP.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from lakelogic.core.events import Event
from lakelogic.record.control_table import append_rows, find_control_table, open_control_table

SCHEMA = pa.schema(
    [
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("severity", pa.string(), nullable=False),
        pa.field("message", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("recorded_at", pa.timestamp("us", "UTC"), nullable=False),
    ]
)


def append_events(
    folder: str,
    events: Sequence[Event],
    *,
    run_id: str,
    dataset: str,
    recorded_at: datetime,
    once: Mapping[str, int],
) -> None:
    """Write the events of a run; under the transactions `once`, a repeated call changes nothing."""
    if not events:
        return
    table = open_control_table(os.path.join(folder, "events"), SCHEMA)
    if any((table.transaction_version(app_id) or 0) >= version for app_id, version in once.items()):
        return
    stamp = {"run_id": run_id, "dataset": dataset, "recorded_at": recorded_at}
    rows = [
        {
            **stamp,
            "position": position,
            "kind": event.kind,
            "severity": event.severity,
            "message": event.message,
            "detail": json.dumps(dict(event.detail), ensure_ascii=False),
        }
        for position, event in enumerate(events)
    ]
    append_rows(table, SCHEMA, rows, transactions=once)


def read_events(folder: str, *, run_id: str | None = None, dataset: str | None = None) -> tuple[Event, ...]:
    """The events of a run, or of all runs of a dataset, in the order of their recording."""
    table = find_control_table(os.path.join(folder, "events"))
    if table is None:
        return ()
    condition = pc.scalar(True)
    for name, value in (("run_id", run_id), ("dataset", dataset)):
        condition = condition if value is None else condition & (pc.field(name) == value)
    rows = table.to_pyarrow_dataset().to_table(filter=condition).to_pylist()
    rows.sort(key=lambda row: (row["recorded_at"], row["run_id"], row["position"]))
    return tuple(Event(row["kind"], row["message"], row["severity"], json.loads(row["detail"])) for row in rows)
