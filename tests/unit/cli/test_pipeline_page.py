"""A pipeline run on a terminal of 80 columns: while it runs, and when it is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from lakelogic.cli.live import LiveView, draw_progress
from lakelogic.cli.pipeline_page import draw_pipeline, told_seconds
from lakelogic.core.errors import Place, Problem
from lakelogic.core.pipeline_run import ContractRun, PipelineRun, RowCounts
from lakelogic.driver.outcome import PipelineResult
from lakelogic.driver.watch import Beginning, Ending

AT = datetime(2026, 11, 16, 12, tzinfo=UTC)
LONG = "the source `s3://bucket/landing/orders/2026/11/16` cannot be reached: " + "no route to the host, " * 6


def shown(drawing: RenderableType, width: int = 80) -> list[str]:
    out = StringIO()
    Console(file=out, width=width).print(drawing)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def done(dataset: str, layer: str | None, seconds: float = 2.0, rows: RowCounts | None = None) -> ContractRun:
    return ContractRun(
        dataset, "succeeded", layer, started_at=AT, finished_at=AT + timedelta(seconds=seconds), duration_s=seconds,
        rows=rows or RowCounts(10, 10, 0), run_ids=("r",),
    )  # fmt: skip


def finished() -> PipelineRun:
    problem = Problem("LL430", LONG, Place("orders.yaml", 4, 3), "look at the network")
    contracts = (
        replace(done("bronze_orders", "bronze"), status="failed", run_ids=(), rows=RowCounts(), problem=problem,
                place=Place("odd name.yaml", 1, 1)),
        done("bronze_customers", "bronze", 4.0, RowCounts(12_345_678, 12_345_578, 100)),
        ContractRun("silver_orders", "skipped", "silver", needs=("bronze_orders",), reason="upstream failed"),
        replace(done("silver_customers", "silver", 75.0, RowCounts(10, 6, 4)), failed_rules=(("has_email", 3),)),
        ContractRun("gold_all", "skipped", "gold", needs=("silver_customers", "silver_orders"), reason="held"),
        ContractRun("gold_off", "skipped", "gold", reason="upstream `x` is switched off"),
        ContractRun("calendar", "no_new_data"),
    )  # fmt: skip
    return PipelineRun("20261116T120000-abcd", "failed", AT, contracts, AT, 80.0, 4)


def test_the_page_has_layers_totals_and_what_needs_attention() -> None:
    lines = shown(draw_pipeline(finished()))
    assert max(map(len, lines)) <= 80
    assert lines[1] == "pipeline 20261116T120000-abcd: failed after 1:20"
    order = [line.strip() for line in lines if line.strip() in ("bronze", "silver", "gold", "no layer")]
    assert order == ["bronze", "silver", "gold", "no layer"]
    table = lines[: lines.index("Needs attention")]
    by_word = {line.split()[0]: line.split() for line in table if line.strip()}
    assert by_word["silver_customers"] == ["silver_customers", "succeeded", "10", "6", "4", "1:15"]
    assert by_word["bronze_customers"][2:5] == ["12,345,678", "12,345,578", "100"]
    assert by_word["calendar"] == ["calendar", "done", "before"]
    assert by_word["silver_orders"] == ["silver_orders", "held", "back"]
    assert by_word["7"] == ["7", "contracts", "12,345,688", "12,345,584", "104", "1:20"]


def test_a_long_reason_is_indented_and_says_what_to_do() -> None:
    lines = shown(draw_pipeline(finished()))
    start = next(number for number, line in enumerate(lines) if line.startswith("  • bronze_orders failed (LL430):"))
    told = lines[start + 1 : lines.index("Quarantine") - 2]
    assert lines[lines.index("Quarantine") - 2] == "  then the same command with --resume goes on with what is left"
    assert all(line.startswith(("    ", "  • ")) for line in told)
    text = " ".join(" ".join(told).split())
    assert "hint: look at the network at orders.yaml:4:3 next: lakelogic run 'odd name.yaml' --debug" in text
    assert "held back with it: silver_orders, gold_all" in text
    assert "• gold_off held back: upstream `x` is switched off" in text
    assert "  • silver_customers: 4 of 10 rows (40.0%), most by `has_email`" in lines
    assert lines[lines.index("Slowest") + 1] == "  silver_customers 1:15, bronze_customers 4.0 s, bronze_orders 2.0 s"


def test_whoever_was_not_started_after_a_failure_is_named_once() -> None:
    held = [
        ContractRun("a", "skipped", "bronze", reason="not started: `x` failed"),
        ContractRun("b", "skipped", "silver", needs=("a",), reason="upstream `a` was held back (not started: ...)"),
    ]
    lines = shown(draw_pipeline(PipelineRun("p", "failed", AT, tuple(held), AT, 1.0, 4)))
    assert [line for line in lines if "•" in line] == ["  • a, b held back: not started: `x` failed"]


def running(number: int = 40) -> PipelineRun:
    contracts = [
        replace(done("bronze_bad", "bronze"), status="failed", reason=LONG),
        done("bronze_good", "bronze", 3.0, RowCounts(1200, 1100, 100)),
        ContractRun("silver_now", "running", "silver", started_at=AT, duration_s=12.0),
        ContractRun("silver_held", "skipped", "silver", reason=LONG),
        ContractRun("silver_next", "waiting", "silver"),
        ContractRun("gold_all", "waiting", "gold", needs=("silver_now", "silver_next", "bronze_good")),
    ]
    contracts += [
        ContractRun(f"gold_{each:02d}", "waiting", "gold", needs=("gold_all", "silver_now", "silver_next", "gold_01"))
        for each in range(number)
    ]
    return PipelineRun("p", "running", AT, tuple(contracts), duration_s=12.0)


def test_the_view_says_what_runs_what_waits_for_what_and_what_is_done() -> None:
    lines = shown(draw_progress(running(), 24))
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    words = [line.split() for line in lines]
    assert words[0][:2] == ["failed", "bronze_bad"]
    assert words[1] == ["done", "bronze_good", "1,100", "rows,", "100", "quarantined,", "3.0", "s"]
    assert words[2] == ["running", "silver_now", "12.0", "s"]
    assert words[3] == ["waiting", "silver_next", "for", "a", "free", "worker"]
    assert words[4] == ["waiting", "gold_all", "for", "silver_now,", "silver_next"]
    assert lines[5].rstrip().endswith("for gold_all, silver_now, silver_next and 1 more")
    assert words[-2][1:] == ["3", "of", "46", "12.0", "s"]
    assert lines[-1] == "1 done · 1 failed · 1 held back · 1 running · 42 waiting"


@pytest.mark.parametrize("height", [1, 8, 10, 12, 40, 200])
def test_the_view_fits_into_any_terminal(height: int) -> None:
    lines = shown(draw_progress(running(), height))
    assert len(lines) <= max(height, 8)
    assert any("silver_now" in line for line in lines)


def test_the_view_is_gone_when_the_run_is_over() -> None:
    out = StringIO()
    view = LiveView(running, Console(file=out, width=80, height=24, force_terminal=True))
    view.pipeline_began(Beginning("p", AT, {}))
    view.pipeline_ended(Ending(PipelineResult({}), AT))
    text = out.getvalue()
    assert "silver_now" in text
    assert text.index("\x1b[?25l") < text.index("\x1b[?25h")  # the cursor is hidden, and shown again
    view.pipeline_ended(Ending(PipelineResult({}), AT))
    assert out.getvalue() == text


@pytest.mark.parametrize(
    ("seconds", "told"), [(None, ""), (0.04, "0.0 s"), (59.9, "59.9 s"), (60, "1:00"), (3599.6, "1:00:00")]
)
def test_times_are_short(seconds: float | None, told: str) -> None:
    assert told_seconds(seconds) == told
