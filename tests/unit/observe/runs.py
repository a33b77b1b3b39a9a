"""A pipeline run with every kind of contract in it, and names that need escaping."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lakelogic.core.errors import Place, Problem
from lakelogic.core.pipeline_run import ContractRun, PipelineRun, RowCounts

BEGAN = datetime(2026, 11, 16, 12, tzinfo=UTC)
ODD = 'sil"ver\\odd\nname,|#:100%'


def sample_run() -> PipelineRun:
    def at(seconds: float) -> datetime:
        return BEGAN + timedelta(seconds=seconds)

    contracts = (
        ContractRun(
            "bronze_orders", "succeeded", "bronze", "sales", place=Place("c/bronze.yaml", 1, 1),
            started_at=at(0), finished_at=at(4), duration_s=4.0, rows=RowCounts(10, 8, 2),
            run_ids=("r1", "r2"), failed_rules=(("positive", 2),), last_success_at=at(4),
        ),
        ContractRun(
            ODD, "failed", "silver", "sales", place=Place("c/odd.yaml", 1, 1), needs=("bronze_orders",),
            started_at=at(4), finished_at=at(6), duration_s=2.0, reason="no disk\x00 left",
            problem=Problem("LL441", "no disk left", Place("c/odd.yaml", 7, 3), "make room: 100%"),
            last_success_at=at(-60),
        ),
        ContractRun("gold_orders", "skipped", "gold", "sales", reason="upstream failed", finished_at=at(6)),
        ContractRun("ref_codes", "running", None, None, started_at=at(1), duration_s=5.0),
    )  # fmt: skip
    return PipelineRun("p1", "failed", BEGAN, contracts, at(6), 6.0, 4, (), "0.1.0")
