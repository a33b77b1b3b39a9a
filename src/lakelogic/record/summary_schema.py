"""The table of summaries: one row for each contract of each pipeline run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from lakelogic.core.pipeline_run import ContractRun, PipelineRun

_TIME = pa.timestamp("us", "UTC")

# Columns are only ever added, at the end: tables that an earlier version began get them too.
SUMMARY_SCHEMA = pa.schema(
    [
        ("pipeline_run_id", pa.string()),
        ("dataset", pa.string()),
        ("status", pa.string()),
        ("layer", pa.string()),
        ("domain", pa.string()),
        ("system", pa.string()),
        ("entity", pa.string()),
        ("owner", pa.string()),
        ("engine", pa.string()),
        ("contract", pa.string()),
        ("contract_version", pa.string()),
        ("started_at", _TIME),
        ("finished_at", _TIME),
        ("duration_s", pa.float64()),
        ("rows_read", pa.int64()),
        ("rows_accepted", pa.int64()),
        ("rows_quarantined", pa.int64()),
        ("quarantine_ratio", pa.float64()),
        ("rows_inserted", pa.int64()),
        ("rows_updated", pa.int64()),
        ("rows_deleted", pa.int64()),
        ("rows_ignored", pa.int64()),
        ("runs", pa.int64()),
        ("run_ids", pa.string()),
        ("reason", pa.string()),
        ("error_code", pa.string()),
        ("error_message", pa.string()),
        ("error_place", pa.string()),
        ("error_hint", pa.string()),
        ("pipeline_status", pa.string()),
        ("pipeline_exit_code", pa.int64()),
        ("pipeline_started_at", _TIME),
        ("pipeline_finished_at", _TIME),
        ("pipeline_duration_s", pa.float64()),
        ("lakelogic_version", pa.string()),
        ("recorded_at", _TIME),
    ]
)


def summary_rows(run: PipelineRun, recorded_at: datetime) -> pa.Table:
    """The rows that a run adds to the table."""
    rows = [{**_of_contract(each), **_of_pipeline(run), "recorded_at": recorded_at} for each in run.contracts]
    return pa.Table.from_pylist(rows, schema=SUMMARY_SCHEMA)


def _of_contract(contract: ContractRun) -> dict[str, Any]:
    row = contract.to_dict()
    problem = contract.problem
    return {
        **{name: row[name] for name in SUMMARY_SCHEMA.names if name in row},
        "started_at": contract.started_at,
        "finished_at": contract.finished_at,
        "runs": len(contract.run_ids),
        "run_ids": ",".join(contract.run_ids) or None,
        "error_code": problem.code if problem else None,
        "error_message": problem.message if problem else None,
        "error_place": str(problem.place) if problem and problem.place else None,
        "error_hint": problem.hint if problem else None,
    }


def _of_pipeline(run: PipelineRun) -> dict[str, Any]:
    return {
        "pipeline_run_id": run.run_id,
        "pipeline_status": run.status,
        "pipeline_exit_code": run.exit_code,
        "pipeline_started_at": run.started_at,
        "pipeline_finished_at": run.finished_at,
        "pipeline_duration_s": round(run.duration_s, 3),
        "lakelogic_version": run.version,
    }
