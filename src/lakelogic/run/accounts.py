"""The accounts of a staged batch: what each rule came to, which gates are closed, what the record will say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import GateError
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
from lakelogic.run.approvals import APPROVABLE
from lakelogic.run.gates import closed_gates, judge_dataset, judge_gates
from lakelogic.run.manifest import Manifest
from lakelogic.run.result import DatasetOutcome, RuleOutcome
from lakelogic.run.rule_records import (
    closed_gate,
    dataset_outcomes,
    dataset_records,
    gate_records,
    row_outcomes,
    row_records,
)
from lakelogic.run.shapes import quarantine_shape, target_shape
from lakelogic.run.staging import StagedBatch


@dataclass(frozen=True, slots=True)
class Accounts:
    """Numbers and judgements of one batch."""

    ledger: Ledger
    records: tuple[RuleRecord, ...]  # of rules and gates
    closed_gates: tuple[str, ...]
    warnings: tuple[str, ...]
    events: tuple[Event, ...] = ()
    hint: str | None = None  # what to do about a closed gate
    approvable: bool = True  # no gate is closed that an approval cannot open

    @property
    def rules(self) -> tuple[RuleOutcome, ...]:
        return row_outcomes(self.records)

    @property
    def dataset_rules(self) -> tuple[DatasetOutcome, ...]:
        return dataset_outcomes(self.records)

    def beside(self, noticed: tuple[Event, ...]) -> Accounts:
        """The same with what was noticed before anything was read."""
        told = tuple(event.message for event in noticed)
        return replace(self, events=(*noticed, *self.events), warnings=(*told, *self.warnings))

    def closed_by(self, error: GateError) -> Accounts:
        """The same batch, which a gate of a table holds back."""
        records = (*self.records, closed_gate(error.gate))
        return replace(self, closed_gates=(error.problem.message,), records=records, hint=error.problem.hint)

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
            rules=self.records,
            warnings=self.warnings,
            events=self.events,
            personal=plan.personal,
            reason=reason,
        )

    def _write(self, write: Write, day: date) -> Write:
        # A rejected row is not gone from the source, and without rows the source is not likely to be whole.
        whole = self.ledger.accepted and not self.ledger.quarantined
        return write_of_day(write if whole else without_deletes(write), day)


def account_for(contract: Contract, plan: Plan, staged: StagedBatch) -> Accounts:
    """Judge a staged batch; nothing of it is visible yet."""
    outcomes = judge_dataset(plan.dataset_checks, staged.dataset_values)
    gates = judge_gates(contract, staged.ledger, staged.failed.get("malformed", 0))
    warnings = _warnings(contract, plan, staged, outcomes)
    for warning in warnings:
        logger.warning(warning)
    records = (
        *row_records(plan, staged.ledger, staged.failed),
        *dataset_records(plan.dataset_checks, outcomes),
        *gate_records(gates),
    )
    closed = closed_gates(contract, gates, plan.dataset_checks, outcomes)
    approvable = not any(gate.reason and gate.name not in APPROVABLE for gate in gates)
    return Accounts(staged.ledger, records, tuple(closed), tuple(warnings), plan.drift, approvable=approvable)


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
