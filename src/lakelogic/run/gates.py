"""Gates: the numbers of a batch against what the contract allows, judged before anybody sees a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakelogic.contract.contract import Contract
from lakelogic.plan.model import DatasetCheck
from lakelogic.record.ledger import Ledger
from lakelogic.run.result import DatasetOutcome


def judge_dataset(checks: Sequence[DatasetCheck], values: Mapping[str, float | None]) -> tuple[DatasetOutcome, ...]:
    """Whether each dataset rule holds; a number that is not there (no rows) breaks no bound but a row count."""
    return tuple(DatasetOutcome(check.name, _holds(check, values[check.name]), values[check.name]) for check in checks)


def _holds(check: DatasetCheck, value: float | None) -> bool:
    if value is None:
        return True
    below = check.minimum is not None and (value <= check.minimum if check.exclusive_minimum else value < check.minimum)
    above = check.maximum is not None and (value >= check.maximum if check.exclusive_maximum else value > check.maximum)
    return not (below or above)


def closed_gates(
    contract: Contract,
    ledger: Ledger,
    checks: Sequence[DatasetCheck],
    outcomes: Sequence[DatasetOutcome],
    malformed: int,
) -> list[str]:
    """Why this batch must not be published; empty when it may."""
    reasons = []
    if malformed and contract.source is not None and contract.source.malformed == "fail":
        reasons.append(f"{malformed} malformed records (source.malformed is fail)")
    if ledger.quarantined and contract.quarantine.fail_on_quarantine:
        reasons.append(f"{ledger.quarantined} rows quarantined (quarantine.fail_on_quarantine)")
    limit = contract.quality.max_quarantine_ratio
    judged = ledger.accepted + ledger.quarantined
    if limit is not None and judged and ledger.quarantined / judged > float(limit):
        reasons.append(f"quarantine ratio {ledger.quarantined / judged:.1%} is above {float(limit):.1%}")
    if contract.quality.on_dataset_failure == "block":
        reasons += [
            f"dataset rule `{outcome.name}` failed (value {outcome.value:g})"
            for check, outcome in zip(checks, outcomes, strict=True)
            if not outcome.passed and check.severity == "error" and outcome.value is not None
        ]
    return reasons
