"""The accounts of a staged batch: what each rule came to, which gates are closed, what the record will say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.events import Event
from lakelogic.plan.history import history_columns
from lakelogic.plan.model import FLAG_SEVERITY, Plan
from lakelogic.plan.writes import (
    Write,
    WriteMerge,
    WriteOverwritePartitions,
    WriteReplace,
    without_deletes,
    write_of_day,
)
from lakelogic.record.ledger import Ledger
from lakelogic.record.run_log import RuleRecord
from lakelogic.run.gates import closed_gates, judge_dataset
from lakelogic.run.manifest import Manifest
from lakelogic.run.result import DatasetOutcome, RuleOutcome
from lakelogic.run.shapes import quarantine_shape, target_shape
from lakelogic.run.staging import StagedBatch


@dataclass(frozen=True, slots=True)
class Accounts:
    """Numbers and judgements of one batch."""

    ledger: Ledger
    rules: tuple[RuleOutcome, ...]
    dataset_rules: tuple[DatasetOutcome, ...]
    closed_gates: tuple[str, ...]
    warnings: tuple[str, ...]
    events: tuple[Event, ...] = ()

    def manifest(self, contract: Contract, plan: Plan, staged: StagedBatch, reason: str, *, day: date) -> Manifest:
        """All that is needed to publish this batch, now or after a crash."""
        assert plan.write is not None
        return Manifest(
            write=self._write(plan.write, day),
            target_files=staged.accepted,
            target=target_shape(contract, history_columns(plan.write, staged.output)),
            quarantine_files=staged.rejected,
            quarantine=quarantine_shape(contract, staged.quarantine_columns),
            ledger=self.ledger,
            rules=self.records(plan),
            warnings=self.warnings,
            events=self.events,
            personal=plan.personal,
            reason=reason,
        )

    def _write(self, write: Write, day: date) -> Write:
        # A rejected row is not gone from the source, and without rows the source is not likely to be whole.
        whole = self.ledger.accepted and not self.ledger.quarantined
        return write_of_day(write if whole else without_deletes(write), day)

    def records(self, plan: Plan) -> tuple[RuleRecord, ...]:
        severity = {check.name: check.severity for check in plan.dataset_checks}
        rows = [RuleRecord(rule.name, "row", rule.severity, rule.failed, rule.failed == 0) for rule in self.rules]
        sets = [
            RuleRecord(rule.name, "dataset", severity[rule.name], None, rule.passed, rule.value)
            for rule in self.dataset_rules
        ]
        return (*rows, *sets)


def account_for(contract: Contract, plan: Plan, staged: StagedBatch) -> Accounts:
    """Judge a staged batch; nothing of it is visible yet."""
    rules = _rule_outcomes(plan, staged)
    outcomes = judge_dataset(plan.dataset_checks, staged.dataset_values)
    malformed = staged.failed.get("malformed", 0)
    gates = closed_gates(contract, staged.ledger, plan.dataset_checks, outcomes, malformed)
    warnings = _warnings(contract, plan, staged, outcomes)
    for warning in warnings:
        logger.warning(warning)
    return Accounts(staged.ledger, rules, outcomes, tuple(gates), tuple(warnings), plan.drift)


def _rule_outcomes(plan: Plan, staged: StagedBatch) -> tuple[RuleOutcome, ...]:
    found: dict[str, RuleOutcome] = {}
    for stage in plan.stages:
        for check in stage.checks:
            found.setdefault(check.name, RuleOutcome(check.name, staged.failed.get(check.name, 0), check.severity))
    return tuple(found.values())


def _warnings(contract: Contract, plan: Plan, staged: StagedBatch, outcomes: tuple[DatasetOutcome, ...]) -> list[str]:
    warnings = [event.message for event in plan.drift if event.severity == "warning"]
    ledger = staged.ledger
    if ledger.quarantined and not ledger.accepted:
        warnings.append(f"All {ledger.quarantined} rows of '{contract.dataset}' were quarantined; nothing was accepted")
    if not ledger.accepted and isinstance(plan.write, WriteOverwritePartitions | WriteReplace):
        warnings.append(f"No row was accepted, so nothing of '{contract.dataset}' was replaced")
    if isinstance(plan.write, WriteMerge) and plan.write.delete_missing and (ledger.quarantined or not ledger.accepted):
        why = f"{ledger.quarantined} rows were quarantined" if ledger.quarantined else "no row was accepted"
        warnings.append(f"Rows of '{contract.dataset}' that are gone from the source were not deleted: {why}")
    for outcome in outcomes:
        if not outcome.passed:
            warnings.append(f"Dataset rule failed: {outcome.name}")
    for stage in plan.stages:
        for check in stage.checks:
            failed = staged.failed.get(check.name, 0)
            if check.severity == "warning" and failed:
                warnings.append(f"{failed} rows failed the warning rule `{check.name}`")
            if check.severity == FLAG_SEVERITY and failed:
                warnings.append(f"{failed} rows failed the rule `{check.name}`, which rejects none (dq_flags)")
    return list(dict.fromkeys(warnings))
