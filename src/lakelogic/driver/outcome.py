"""What became of each contract of a pipeline run, and of the run as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lakelogic.core.errors import Problem
from lakelogic.record.run_log import Status
from lakelogic.run.approvals import HeldBatch
from lakelogic.run.result import Counts, RunResult

EXIT_FAILED, EXIT_GATE = 4, 5
GOOD = ("succeeded", "no_new_data")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one contract; several results where it ran for several windows."""

    dataset: str
    status: Status
    reason: str | None = None
    results: tuple[RunResult, ...] = field(default=(), repr=False)
    problem: Problem | None = None
    duration_s: float = 0.0

    @property
    def good(self) -> bool:
        # One that was skipped by its own rule (it has a result) leaves what builds on it alone.
        return self.status in GOOD or (self.status == "skipped" and bool(self.results))

    @property
    def failed(self) -> bool:
        return self.status == "failed"

    @property
    def interrupted(self) -> bool:
        """Whether a signal stopped it, or kept it from starting."""
        return self.status == "interrupted"

    @property
    def story(self) -> str:
        """What is told to those that build on it."""
        match self.status:
            case "failed":
                return f"failed: {self.reason}"
            case "gate_failed":
                return f"was stopped by a gate: {self.reason}"
            case "interrupted":
                return f"was stopped: {self.reason}"
            case "held":
                return f"is held for an approval: {self.reason}"
            case "skipped":
                return f"was held back ({self.reason})"
            case _:
                return "ended well"

    @property
    def counts(self) -> Counts:
        counts = [result.counts for result in self.results]
        return Counts(
            sum(each.read for each in counts),
            sum(each.accepted for each in counts),
            sum(each.quarantined for each in counts),
        )

    @property
    def held(self) -> HeldBatch | None:
        """What waits for an approval."""
        return self.results[-1].held if self.results else None

    def to_dict(self) -> dict[str, Any]:
        counts = self.counts
        return {
            "dataset": self.dataset,
            "status": self.status,
            "reason": self.reason,
            "code": self.problem.code if self.problem else None,
            "read": counts.read,
            "accepted": counts.accepted,
            "quarantined": counts.quarantined,
            "runs": [result.run_id for result in self.results],
            "duration_s": round(self.duration_s, 3),
            **({"held": self.held.to_dict()} if self.held else {}),
        }


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """All outcomes, in the order of the graph."""

    outcomes: Mapping[str, Outcome]
    duration_s: float = 0.0
    run_id: str = ""  # of the pipeline; each outcome has those of its contract

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it before all was done."""
        return any(outcome.interrupted for outcome in self.outcomes.values())

    @property
    def unfinished(self) -> bool:
        """Whether something did not end well, however."""
        return not all(outcome.good for outcome in self.outcomes.values())

    @property
    def exit_code(self) -> int:
        """4 where a contract failed, 5 where only gates said no, 0 where all is well."""
        statuses = {outcome.status for outcome in self.outcomes.values()}
        if "failed" in statuses or any(outcome.problem for outcome in self.outcomes.values()):
            return EXIT_FAILED
        return EXIT_GATE if statuses & {"gate_failed", "held"} else 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "exit_code": self.exit_code,
            "duration_s": round(self.duration_s, 3),
            "contracts": [outcome.to_dict() for outcome in self.outcomes.values()],
        }
