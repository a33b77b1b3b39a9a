"""What every rule and every gate came to, as the run log has it; results tell the same in fewer words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lakelogic.plan.model import DatasetCheck, Plan
from lakelogic.record.ledger import Ledger, is_split
from lakelogic.record.run_log import RuleRecord
from lakelogic.run.gates import Gate
from lakelogic.run.result import DatasetOutcome, RuleOutcome


def row_records(plan: Plan, ledger: Ledger, failed: Mapping[str, int]) -> tuple[RuleRecord, ...]:
    """One for each name under which rows can fail, in the order of the plan."""
    # Rows are judged where a stage is split: failed rows are carried up to there, whatever steps come before.
    judged = [step.rows_in for step in ledger.steps if is_split(step)]
    found: dict[str, RuleRecord] = {}
    for stage, rows in zip(plan.stages, judged, strict=True):
        # A rule that could not be computed fails under the rule's name, and the rule keeps its own category.
        declared = {check.name: check.category for check in stage.checks if check.kind != "rule_error"}
        for check in stage.checks:
            count = failed.get(check.name, 0)
            record = RuleRecord(
                check.name,
                "row",
                check.severity,
                count,
                count == 0,
                category=declared.get(check.name, check.category),
                phase=check.phase,
                evaluated=rows > 0,
                judged=rows,
            )
            found.setdefault(check.name, record)
    return tuple(found.values())


def dataset_records(checks: Sequence[DatasetCheck], outcomes: Sequence[DatasetOutcome]) -> tuple[RuleRecord, ...]:
    return tuple(
        RuleRecord(
            check.name,
            "dataset",
            check.severity,
            passed=outcome.passed,
            value=outcome.value,
            phase="post",
            evaluated=outcome.value is not None,
            minimum=check.minimum,
            maximum=check.maximum,
        )
        for check, outcome in zip(checks, outcomes, strict=True)
    )


def gate_records(gates: Iterable[Gate]) -> tuple[RuleRecord, ...]:
    return tuple(
        RuleRecord(
            gate.name,
            "gate",
            "error",
            passed=gate.reason is None,
            value=gate.value,
            evaluated=True,
            maximum=gate.maximum,
        )
        for gate in gates
    )


def closed_gate(name: str) -> RuleRecord:
    """A gate of a table, which gives its reason in words only."""
    return RuleRecord(name, "gate", "error", passed=False, evaluated=True)


def row_outcomes(records: Iterable[RuleRecord]) -> tuple[RuleOutcome, ...]:
    return tuple(RuleOutcome(r.name, r.failed or 0, r.severity or "error") for r in records if r.scope == "row")


def dataset_outcomes(records: Iterable[RuleRecord]) -> tuple[DatasetOutcome, ...]:
    return tuple(DatasetOutcome(r.name, bool(r.passed), r.value) for r in records if r.scope == "dataset")
