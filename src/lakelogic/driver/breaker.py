"""The circuit breaker: a dataset whose runs fail again and again is left alone until somebody has looked at it."""

from __future__ import annotations

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import LakeLogicError, Problem
from lakelogic.core.settings import Settings
from lakelogic.record.failures import read_failures
from lakelogic.run.places import find_places


def find_break(contract: Contract, settings: Settings) -> Problem | None:
    """Why a dataset must not be started, if so many of its runs in a row failed; its own success closes the breaker."""
    most = contract.resilience.max_consecutive_failures if contract.resilience else None
    if not most:
        return None
    try:
        state = find_places(contract, settings).state
        failures = read_failures(state, contract.dataset) if state else ()
    except LakeLogicError:
        return None  # the run meets the same, and tells of it
    if len(failures) < most:
        return None
    last = failures[0]
    when = f"{last.started_at:%Y-%m-%d %H:%M:%S} UTC"
    return Problem(
        "LL422",
        f"the circuit breaker is open: {len(failures)} runs in a row failed, the last at {when} with {last.error_code}",
        contract.at("resilience.max_consecutive_failures"),
        "mend it and run the contract alone with `lakelogic run`, or the pipeline with --ignore-circuit-breaker; "
        "the first run that succeeds closes it",
    )
