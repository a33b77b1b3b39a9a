"""What monitoring systems are told, read back with the parser of Prometheus itself."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.observe.runs import BEGAN, ODD, sample_run

from lakelogic.core.errors import RunError
from lakelogic.core.pipeline_run import PipelineRun
from lakelogic.observe.metrics import build_metrics, render_json
from lakelogic.observe.prometheus import MetricsServer, render_text
from lakelogic.observe.statsd import contract_lines, pack, pipeline_lines

NOW = BEGAN + timedelta(seconds=10)


@pytest.fixture
def run() -> PipelineRun:
    return sample_run()


def samples(run: PipelineRun) -> dict[str, dict[str, float]]:
    """By family and dataset."""
    found: dict[str, dict[str, float]] = {}
    for family in text_string_to_metric_families(render_text(build_metrics(run, NOW))):
        assert family.documentation and family.type == "gauge"
        for sample in family.samples:
            key = sample.labels.get("dataset") or sample.labels.get("status", "")
            found.setdefault(family.name, {})[key] = sample.value
    return found


def test_prometheus_reads_what_happened(run: PipelineRun) -> None:
    found = samples(run)
    assert found["lakelogic_rows_read"] == {"bronze_orders": 10}
    assert found["lakelogic_rows_accepted"] == {"bronze_orders": 8}
    assert found["lakelogic_rows_quarantined"] == {"bronze_orders": 2}
    assert found["lakelogic_quarantine_ratio"] == {"bronze_orders": 0.2}
    assert found["lakelogic_contract_duration_seconds"] == {"bronze_orders": 4, ODD: 2, "ref_codes": 5}
    assert found["lakelogic_freshness_seconds"] == {"bronze_orders": 6, ODD: 70}
    assert found["lakelogic_last_success_timestamp_seconds"][ODD] == BEGAN.timestamp() - 60
    assert found["lakelogic_runs"] == {"bronze_orders": 2, ODD: 1, "gold_orders": 0, "ref_codes": 1}
    by_status = found["lakelogic_contracts"]
    assert {name: count for name, count in by_status.items() if count} == {
        "succeeded": 1, "failed": 1, "skipped": 1, "running": 1,
    }  # fmt: skip
    assert found["lakelogic_pipeline_duration_seconds"] == {"": 6.0}


def test_labels_of_any_text_come_back_as_they_were(run: PipelineRun) -> None:
    families = text_string_to_metric_families(render_text(build_metrics(run, NOW)))
    durations = next(each for each in families if each.name == "lakelogic_contract_duration_seconds")
    odd = next(sample for sample in durations.samples if sample.labels["status"] == "failed")
    assert odd.labels == {"dataset": ODD, "layer": "silver", "domain": "sales", "status": "failed"}


def test_the_file_says_the_same_as_json(run: PipelineRun) -> None:
    told = json.loads(render_json(run, NOW))
    assert told["run_id"] == "p1"
    families = {family["name"]: family for family in told["metrics"]}
    assert families["lakelogic_quarantine_ratio"]["samples"] == [
        {
            "labels": {"dataset": "bronze_orders", "layer": "bronze", "domain": "sales", "status": "succeeded"},
            "value": 0.2,
        }
    ]


def test_statsd_gets_counts_times_and_tags(run: PipelineRun) -> None:
    tags = "|#dataset:bronze_orders,layer:bronze,domain:sales,status:succeeded"
    assert list(contract_lines(run.contracts[0], NOW)) == [
        f"lakelogic.runs:2|c{tags}",
        f"lakelogic.rows_read:10|c{tags}",
        f"lakelogic.rows_accepted:8|c{tags}",
        f"lakelogic.rows_quarantined:2|c{tags}",
        f"lakelogic.quarantine_ratio:0.200000|g{tags}",
        f"lakelogic.contract_duration:4000|ms{tags}",
        f"lakelogic.freshness_seconds:6|g{tags}",
    ]
    odd = list(contract_lines(run.contracts[1], NOW))
    assert odd[0] == "lakelogic.runs:1|c|#dataset:sil_ver_odd_name_100_,layer:silver,domain:sales,status:failed"
    assert "lakelogic.pipeline_duration:6000|ms|#status:failed" in list(pipeline_lines(run))


def test_packets_fit_into_a_frame_and_lose_nothing() -> None:
    lines = [f"lakelogic.rows_read:{number}|c|#dataset:{'x' * 90}" for number in range(100)]
    packets = list(pack(lines))
    assert all(len(packet) <= 1400 for packet in packets) and len(packets) < 12
    assert b"\n".join(packets).decode().split("\n") == lines


def test_a_host_that_is_not_here_is_one_error_with_a_hint() -> None:
    # An address of documentation, which no machine has.
    with pytest.raises(RunError) as caught:
        MetricsServer(lambda: (), "203.0.113.1", 0)
    assert caught.value.problem.code == "LL495" and "203.0.113.1:0" in str(caught.value)
