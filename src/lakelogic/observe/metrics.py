"""The numbers of a pipeline run, as families of samples with labels: what Prometheus, StatsD and files are told.

All are gauges of this one run. A process that ends after each run cannot keep counters that only grow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakelogic.core.pipeline_run import RUNNING, STATUSES, ContractRun, PipelineRun, told_time

LABELS = ("dataset", "layer", "domain", "status")


@dataclass(frozen=True, slots=True)
class Sample:
    """One number; the values of the labels are in the order of the family's."""

    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of one name."""

    name: str
    help: str
    labels: tuple[str, ...]
    samples: tuple[Sample, ...]


def build_metrics(run: PipelineRun, now: datetime) -> tuple[Family, ...]:
    """The numbers of a run at a moment; a contract has samples of a family only where there is something to say."""
    of_run = (run.run_id, run.status, run.version or "")
    contracts = run.contracts
    return (
        Family(
            "lakelogic_pipeline_info",
            "The pipeline run that the other numbers are of; always 1.",
            ("run_id", "status", "version"),
            (Sample(of_run, 1),),
        ),
        _single("lakelogic_pipeline_running", "1 while the pipeline runs, else 0.", float(run.status == RUNNING)),
        _single(
            "lakelogic_pipeline_started_timestamp_seconds",
            "When the pipeline began, in seconds since 1970.",
            run.started_at.timestamp(),
        ),
        _single("lakelogic_pipeline_duration_seconds", "How long the pipeline took or has run.", run.duration_s),
        Family(
            "lakelogic_contracts",
            "Contracts of the pipeline by status.",
            ("status",),
            tuple(Sample((status,), run.count(status)) for status in STATUSES),
        ),
        _each("lakelogic_runs", "Runs of a contract: one for each window.", contracts, _runs),
        _each("lakelogic_rows_read", "Rows that a contract read.", contracts, _if_judged(lambda c: c.rows.read)),
        _each("lakelogic_rows_accepted", "Rows that passed.", contracts, _if_judged(lambda c: c.rows.accepted)),
        _each("lakelogic_rows_quarantined", "Rows that failed.", contracts, _if_judged(lambda c: c.rows.quarantined)),
        _each(
            "lakelogic_quarantine_ratio",
            "Rows that failed, of those that were read (0 to 1).",
            contracts,
            lambda c: c.rows.quarantine_ratio,
        ),
        _each(
            "lakelogic_contract_duration_seconds",
            "How long a contract took, or has run so far.",
            contracts,
            lambda c: c.duration_s if c.started_at else None,
        ),
        _each(
            "lakelogic_last_success_timestamp_seconds",
            "When a contract last ended well, in seconds since 1970.",
            contracts,
            lambda c: c.last_success_at.timestamp() if c.last_success_at else None,
        ),
        _each(
            "lakelogic_freshness_seconds",
            "Seconds since a contract last ended well.",
            contracts,
            lambda c: max((now - c.last_success_at).total_seconds(), 0.0) if c.last_success_at else None,
        ),
    )


def describe_metrics(run: PipelineRun, now: datetime) -> dict[str, Any]:
    """The same as data."""
    return {
        "run_id": run.run_id,
        "status": run.status,
        "written_at": told_time(now),
        "metrics": [
            {
                "name": family.name,
                "type": "gauge",
                "help": family.help,
                "samples": [
                    {"labels": dict(zip(family.labels, sample.labels, strict=True)), "value": sample.value}
                    for sample in family.samples
                ],
            }
            for family in build_metrics(run, now)
        ],
    }


def render_json(run: PipelineRun, now: datetime) -> str:
    return json.dumps(describe_metrics(run, now), indent=2, ensure_ascii=False) + "\n"


def label_values(contract: ContractRun) -> tuple[str, ...]:
    return (contract.dataset, contract.layer or "", contract.domain or "", contract.status)


def _single(name: str, help_text: str, value: float) -> Family:
    return Family(name, help_text, (), (Sample((), value),))


def _each(
    name: str, help_text: str, contracts: Iterable[ContractRun], value_of: Callable[[ContractRun], float | None]
) -> Family:
    values = ((contract, value_of(contract)) for contract in contracts)
    samples = tuple(Sample(label_values(contract), value) for contract, value in values if value is not None)
    return Family(name, help_text, LABELS, samples)


def _runs(contract: ContractRun) -> float:
    """A contract that failed before its run had a result counts too: it was tried."""
    return 0 if contract.started_at is None else max(len(contract.run_ids), 1)


def _if_judged(value_of: Callable[[ContractRun], float]) -> Callable[[ContractRun], float | None]:
    return lambda contract: value_of(contract) if contract.run_ids else None
