"""A pipeline run as it is told to others: summaries, metrics and reports all begin here.

Holds no secret and no value of a data row, like the run log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from lakelogic.core.errors import Place, Problem

# Of a contract: those of the run log, and before and beside them:
WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
REFUSED = "refused"  # of a whole run: a mistake was found before the first contract began
STATUSES: Final = (
    "succeeded", "no_new_data", "gate_failed", "held", "failed", "skipped", INTERRUPTED, WAITING, RUNNING,
)  # fmt: skip
GOOD: Final = frozenset({"succeeded", "no_new_data"})


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows of one contract; the last four only of strategies that merge."""

    read: int = 0
    accepted: int = 0
    quarantined: int = 0
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    ignored: int | None = None

    @property
    def quarantine_ratio(self) -> float | None:
        """Rejected rows among those that were read; None where nothing was."""
        return self.quarantined / self.read if self.read else None


@dataclass(frozen=True, slots=True)
class ContractRun:
    """What became of one contract in a pipeline run; several run ids where it ran for several windows."""

    dataset: str
    status: str = WAITING
    layer: str | None = None
    domain: str | None = None
    system: str | None = None
    entity: str | None = None
    owner: str | None = None
    engine: str | None = None
    contract_version: str | None = None
    place: Place | None = None  # where the contract is
    needs: tuple[str, ...] = ()  # datasets of this run that must have ended well before
    after: tuple[str, ...] = ()  # datasets that must have ended before, however
    started_at: datetime | None = None
    finished_at: datetime | None = None
    duration_s: float | None = None
    rows: RowCounts = RowCounts()
    run_ids: tuple[str, ...] = ()
    failed_rules: tuple[tuple[str, int], ...] = ()  # rules that set rows aside, and how many, most first
    reason: str | None = None
    problem: Problem | None = None
    last_success_at: datetime | None = None  # of any run, this one included; None: never, or not known

    @property
    def ended_well(self) -> bool:
        return self.status in GOOD

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "status": self.status,
            "layer": self.layer,
            "domain": self.domain,
            "system": self.system,
            "entity": self.entity,
            "owner": self.owner,
            "engine": self.engine,
            "contract": self.place.file if self.place else None,
            "contract_version": self.contract_version,
            "needs": list(self.needs),
            "started_at": told_time(self.started_at),
            "finished_at": told_time(self.finished_at),
            "duration_s": None if self.duration_s is None else round(self.duration_s, 3),
            "rows_read": self.rows.read,
            "rows_accepted": self.rows.accepted,
            "rows_quarantined": self.rows.quarantined,
            "quarantine_ratio": self.rows.quarantine_ratio,
            "rows_inserted": self.rows.inserted,
            "rows_updated": self.rows.updated,
            "rows_deleted": self.rows.deleted,
            "rows_ignored": self.rows.ignored,
            "run_ids": list(self.run_ids),
            "failed_rules": [{"name": name, "failed": failed} for name, failed in self.failed_rules],
            "reason": self.reason,
            "error": told_problem(self.problem),
        }


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """A run of many contracts, while it lasts or when it is over."""

    run_id: str
    status: str
    started_at: datetime
    contracts: tuple[ContractRun, ...] = field(default=(), repr=False)
    finished_at: datetime | None = None
    duration_s: float = 0.0
    exit_code: int | None = None  # None: it still runs, or it was interrupted
    problems: tuple[Problem, ...] = ()  # why it was refused
    version: str | None = None  # of LakeLogic

    def count(self, *statuses: str) -> int:
        return sum(each.status in statuses for each in self.contracts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "status": self.status,
            "exit_code": self.exit_code,
            "started_at": told_time(self.started_at),
            "finished_at": told_time(self.finished_at),
            "duration_s": round(self.duration_s, 3),
            "lakelogic_version": self.version,
            "totals": {
                "contracts": len(self.contracts),
                **{status: count for status in STATUSES if (count := self.count(status))},
                "rows_read": sum(each.rows.read for each in self.contracts),
                "rows_accepted": sum(each.rows.accepted for each in self.contracts),
                "rows_quarantined": sum(each.rows.quarantined for each in self.contracts),
            },
            "contracts": [each.to_dict() for each in self.contracts],
            "problems": [told_problem(problem) for problem in self.problems],
        }


def told_time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="milliseconds")


def told_problem(problem: Problem | None) -> dict[str, Any] | None:
    if problem is None:
        return None
    place = str(problem.place) if problem.place else None
    return {"code": problem.code, "message": problem.message, "place": place, "hint": problem.hint}
