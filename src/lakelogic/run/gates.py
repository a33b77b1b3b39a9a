"""Gates: the numbers of a batch against what the contract allows, judged before anybody sees a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakelogic.contract.contract import Contract
from lakelogic.plan.model import DatasetCheck
from lakelogic.record.ledger import Ledger
from lakelogic.run.result import DatasetOutcome


@dataclass(frozen=True, slots=True)
class Gate:
    """A number of the batch and how large it may be; `reason` is why the gate is closed, None where it is open."""

    name: str  # the key of the contract that asks for it
    value: float
    maximum: float
    reason: str | None = None


def judge_dataset(checks: Sequence[DatasetCheck], values: Mapping[str, float | None]) -> tuple[DatasetOutcome, ...]:
    """Whether each dataset rule holds; a number that is not there (no rows) breaks no bound but a row count."""
    return tuple(DatasetOutcome(check.name, _holds(check, values[check.name]), values[check.name]) for check in checks)


def _holds(check: DatasetCheck, value: float | None) -> bool:
    if value is None:
        return True
    below = check.minimum is not None and (value <= check.minimum if check.exclusive_minimum else value < check.minimum)
    above = check.maximum is not None and (value >= check.maximum if check.exclusive_maximum else value > check.maximum)
    return not (below or above)


def judge_gates(contract: Contract, ledger: Ledger, malformed: int) -> tuple[Gate, ...]:
    """The gates that the contract has beside its dataset rules."""
    gates = []
    if contract.source is not None and contract.source.malformed == "fail":
        reason = f"{malformed} malformed records (source.malformed is fail)" if malformed else None
        gates.append(Gate("source.malformed", malformed, 0, reason))
    if contract.quarantine.fail_on_quarantine:
        quarantined = ledger.quarantined
        reason = f"{quarantined} rows quarantined (quarantine.fail_on_quarantine)" if quarantined else None
        gates.append(Gate("quarantine.fail_on_quarantine", quarantined, 0, reason))
    if contract.quality.max_quarantine_ratio is not None:
        limit, judged = float(contract.quality.max_quarantine_ratio), ledger.accepted + ledger.quarantined
        ratio = ledger.quarantined / judged if judged else 0.0
        reason = f"quarantine ratio {ratio:.1%} is above {limit:.1%}" if ratio > limit else None
        gates.append(Gate("quality.max_quarantine_ratio", ratio, limit, reason))
    return tuple(gates)


def closed_gates(
    contract: Contract, gates: Sequence[Gate], checks: Sequence[DatasetCheck], outcomes: Sequence[DatasetOutcome]
) -> list[str]:
    """Why this batch must not be published; empty when it may."""
    reasons = [gate.reason for gate in gates if gate.reason is not None]
    if contract.quality.on_dataset_failure == "block":
        reasons += [
            f"dataset rule `{outcome.name}` failed (value {outcome.value:g})"
            for check, outcome in zip(checks, outcomes, strict=True)
            if not outcome.passed and check.severity == "error" and outcome.value is not None
        ]
    return reasons
