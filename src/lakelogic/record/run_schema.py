"""The columns of the run log's tables; docs/reference/run_log.md says what each of them means."""

from __future__ import annotations

import pyarrow as pa

_INSTANT = pa.timestamp("us", "UTC")
_RUN = [pa.field("run_id", pa.string(), nullable=False), pa.field("dataset", pa.string(), nullable=False)]
_RECORDED = pa.field("recorded_at", _INSTANT, nullable=False)
# What a run is about stands in every row of it: nobody needs a join to see how a rule did over the last month.
# Logs of earlier versions have rows without it.
_STARTED = pa.field("started_at", _INSTANT)
_POSITION = pa.field("position", pa.int64(), nullable=False)


def _texts(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.string()) for name in names]


def _numbers(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.int64()) for name in names]


RUNS_SCHEMA = pa.schema(
    [
        *_RUN,
        pa.field("status", pa.string(), nullable=False),
        pa.field("started_at", _INSTANT, nullable=False),
        pa.field("finished_at", _INSTANT),
        pa.field("duration_s", pa.float64()),
        *_numbers("batch", "rows_read", "rows_accepted", "rows_quarantined"),
        *_numbers("rows_inserted", "rows_updated", "rows_deleted", "rows_ignored"),
        pa.field("window_start", _INSTANT),
        pa.field("window_end", _INSTANT),
        *_texts("window_zone", "source", "source_slice"),
        *_numbers("source_files", "source_bytes"),
        *_texts("target"),
        *_numbers("target_version"),
        *_texts("quarantine"),
        *_numbers("quarantine_version"),
        *_texts("layer", "engine", "engine_version", "lakelogic_version", "contract_version", "fingerprint"),
        *_texts("reason", "error_code", "error_message", "error_place", "error_hint", "policy_packs"),
        *_texts("pipeline_run_id"),
        *_numbers("attempt"),
        *_texts("digest", "approved_by"),
        _RECORDED,
    ]
)
RULES_SCHEMA = pa.schema(
    [
        *_RUN,
        _STARTED,
        _POSITION,
        pa.field("name", pa.string(), nullable=False),
        pa.field("scope", pa.string(), nullable=False),
        *_texts("category", "severity", "phase"),
        pa.field("evaluated", pa.bool_()),
        *_numbers("judged", "failed"),
        pa.field("passed", pa.bool_()),
        *(pa.field(name, pa.float64()) for name in ("value", "minimum", "maximum")),
        _RECORDED,
    ]
)
STEPS_SCHEMA = pa.schema(
    [
        *_RUN,
        _STARTED,
        _POSITION,
        pa.field("step", pa.string(), nullable=False),
        *_numbers("rows_in", "rows_out", "removed", "added", "quarantined"),
        _RECORDED,
    ]
)
EVENTS_SCHEMA = pa.schema(
    [
        *_RUN,
        _STARTED,
        _POSITION,
        pa.field("kind", pa.string(), nullable=False),
        pa.field("severity", pa.string(), nullable=False),
        *_texts("message", "detail"),
        _RECORDED,
    ]
)
# In the order in which a run writes them: a row in `runs` means that its rows in the others are there.
LOG_TABLES = {"rules": RULES_SCHEMA, "steps": STEPS_SCHEMA, "events": EVENTS_SCHEMA, "runs": RUNS_SCHEMA}
