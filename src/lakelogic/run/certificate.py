"""What a comparison of engines says: a certificate that they agree, or where they do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.slices import StoredSlice
from lakelogic.run.result import RunResult

Verdict = Literal["equal", "different", "refused", "not_compared"]


@dataclass(frozen=True, slots=True)
class Input:
    """What all engines read."""

    described: str
    digest: str


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One engine's run, or why there is none."""

    engine: str
    version: str | None
    result: RunResult | None = None
    error: LakeLogicError | None = None
    target: str = ""
    quarantine: str = ""
    slice: StoredSlice | None = None
    fingerprint: str | None = None
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        if self.result is not None:
            return self.result.status
        return "refused" if self.refused else "failed"

    @property
    def refused(self) -> bool:
        return isinstance(self.error, CapabilityError)


@dataclass(frozen=True, slots=True)
class ShownPair:
    """Two rows that should be one, side by side; None where an engine has no such row."""

    left: Mapping[str, Any] | None
    right: Mapping[str, Any] | None
    differing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which two engines differ: a number, a list of columns, or rows."""

    what: str  # `target rows`, `ledger`, `rules`, ...
    left_engine: str
    right_engine: str
    left: Any
    right: Any
    pairs: tuple[ShownPair, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """The outcome of a comparison; equal only where engines were really compared."""

    contract: str
    dataset: str
    version: str
    contract_digest: str
    input: Input
    runs: tuple[EngineRun, ...]
    rows: Mapping[str, int] = field(default_factory=dict)  # how many of each table were compared
    differences: tuple[Difference, ...] = ()
    allow_refusals: bool = False

    @property
    def verdict(self) -> Verdict:
        """A failure beside a success is a difference; a refusal is none, but it is no agreement either."""
        if self.differences or any(run.error is not None and not run.refused for run in self.runs):
            return "different"
        if any(run.refused for run in self.runs) and not self.allow_refusals:
            return "refused"
        return "equal" if sum(run.error is None for run in self.runs) > 1 else "not_compared"

    def to_dict(self) -> dict[str, Any]:
        """The certificate as `lakelogic verify --output json` prints it."""
        return {
            "verdict": self.verdict,
            "contract": self.contract,
            "dataset": self.dataset,
            "version": self.version,
            "contract_digest": self.contract_digest,
            "input": {"read": self.input.described, "digest": self.input.digest},
            "engines": [_tell_run(run) for run in self.runs],
            "rows_compared": dict(self.rows),
            "differences": [_tell_difference(each) for each in self.differences],
        }


def _tell_run(run: EngineRun) -> dict[str, Any]:
    told: dict[str, Any] = {"engine": run.engine, "version": run.version, "outcome": run.outcome}
    if run.result is not None:
        counts = run.result.counts
        told["counts"] = {"read": counts.read, "accepted": counts.accepted, "quarantined": counts.quarantined}
        told["plan"] = run.fingerprint
    if run.error is not None:
        told["error"] = str(run.error)
    return {**told, "seconds": round(run.seconds, 3)}


def _tell_difference(difference: Difference) -> dict[str, Any]:
    left, right = difference.left_engine, difference.right_engine
    told: dict[str, Any] = {"what": difference.what, left: difference.left, right: difference.right}
    if difference.pairs:
        told["rows"] = [
            {left: pair.left, right: pair.right, "differing": list(pair.differing)} for pair in difference.pairs
        ]
    return told
