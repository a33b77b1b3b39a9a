"""How often and how long a run is tried: by the contract's `resilience`, unless the operator says otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from lakelogic.contract.contract import Contract

# Kubernetes kills a process 30 seconds after it asked it to end.
GRACE = timedelta(seconds=25)


@dataclass(frozen=True, slots=True)
class Limits:
    """What an operator says; None leaves it to the contract."""

    retries: int | None = None
    timeout: timedelta | None = None
    grace: timedelta = GRACE


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long one contract is tried."""

    retries: int = 0
    backoff: timedelta = timedelta(seconds=2)  # before the first retry at most; doubles with each
    timeout: timedelta | None = None  # of one attempt
    grace: timedelta = GRACE  # for work that was asked to stop


def patience_of(contract: Contract, limits: Limits) -> Patience:
    """The patience with a contract; without `resilience` and options a run is tried once, without a limit."""
    declared = contract.resilience
    retries = limits.retries if limits.retries is not None else declared.retries if declared else 0
    timeout = limits.timeout or (declared.timeout if declared else None)
    return Patience(retries, declared.backoff if declared else Patience().backoff, timeout or None, limits.grace)
