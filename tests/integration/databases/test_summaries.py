"""Summaries of pipeline runs in a real PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.servers.postgresql import PASSWORD, Server

from lakelogic.core.errors import RunError
from lakelogic.core.pipeline_run import ContractRun, PipelineRun, RowCounts
from lakelogic.record.summary_schema import summary_rows
from lakelogic.record.summary_table import append_summary, find_summary_table

AT = datetime(2026, 11, 16, 12, 30, 0, 250_000, tzinfo=UTC)


def summary(run_id: str) -> Any:
    contract = ContractRun("orders", "succeeded", started_at=AT, duration_s=1.5, rows=RowCounts(4, 3, 1))
    return summary_rows(PipelineRun(run_id, "succeeded", AT, (contract,), AT, 2.0, 0), AT)


def test_the_schema_and_the_table_are_made_and_rows_are_added(postgresql: Server) -> None:
    table = find_summary_table("postgres", "Lakelogic.pipeline_runs", postgresql.url)
    append_summary(table, summary("p1"))
    append_summary(table, summary("p2"))
    found = postgresql.rows(
        "SELECT pipeline_run_id, dataset, rows_read, quarantine_ratio, started_at, rows_inserted "
        'FROM "Lakelogic".pipeline_runs ORDER BY 1'
    )
    common = {"dataset": "orders", "rows_read": 4, "quarantine_ratio": 0.25, "started_at": AT, "rows_inserted": None}
    assert found == [{"pipeline_run_id": run_id, **common} for run_id in ("p1", "p2")]
    types = postgresql.rows(
        "SELECT data_type::text FROM information_schema.columns WHERE table_name = 'pipeline_runs' "
        "AND column_name IN ('started_at', 'rows_read', 'duration_s') ORDER BY 1"
    )
    assert [row["data_type"] for row in types] == ["bigint", "double precision", "timestamp with time zone"]


def test_whoever_may_only_write_to_the_table_can(postgresql: Server) -> None:
    append_summary(find_summary_table("postgres", "ops.runs", postgresql.url), summary("p1"))
    postgresql.run(
        "ALTER TABLE ops.runs DROP COLUMN reason, ADD COLUMN mine TEXT",
        "CREATE ROLE writer LOGIN PASSWORD 'needle-5678'",
        "GRANT USAGE ON SCHEMA ops TO writer",
        "GRANT SELECT, INSERT ON ops.runs TO writer",
    )
    url = f"postgresql://writer:needle-5678@127.0.0.1:{postgresql.port}/postgres"
    table = find_summary_table("postgres", "ops.runs", url)
    with pytest.raises(RunError) as caught:
        append_summary(table, summary("p2"))
    assert "must be owner" in str(caught.value)
    append_summary(find_summary_table("postgres", "ops.runs", postgresql.url), summary("p3"))
    append_summary(table, summary("p4"))
    assert [row["pipeline_run_id"] for row in postgresql.rows("SELECT pipeline_run_id FROM ops.runs")] == [
        "p1", "p3", "p4",
    ]  # fmt: skip


def test_a_wrong_password_is_one_sentence_without_it(postgresql: Server) -> None:
    url = postgresql.url.replace("lake:", "lake:needle-9999")
    with pytest.raises(RunError) as caught:
        append_summary(find_summary_table("postgres", "runs", url), summary("p1"))
    assert caught.value.problem.code == "LL497" and "the summary table `runs` (postgres)" in str(caught.value)
    assert "needle" not in str(caught.value) and PASSWORD not in str(caught.value)
