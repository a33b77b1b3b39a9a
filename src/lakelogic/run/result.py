"""What a run gives back."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from lakelogic.core.events import Event
from lakelogic.record.ledger import LedgerStep
from lakelogic.record.run_log import Status
from lakelogic.run.approvals import HeldBatch


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows read, and what became of them."""

    read: int = 0
    accepted: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """What a merge did to the target's rows; `ignored` rows of the batch changed nothing: stale ones, for one."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """How many rows failed a row rule."""

    name: str
    failed: int
    severity: str = "error"


@dataclass(frozen=True, slots=True)
class DatasetOutcome:
    """Whether a dataset rule held, and the number it was judged by."""

    name: str
    passed: bool
    value: float | None = None


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A table and the version that this run left."""

    path: str
    version: int | None = None


@dataclass(eq=False)
class RunResult:
    """The outcome of one run. `good` and `bad` are frames of the engine, made when they are asked for."""

    run_id: str
    dataset: str
    status: Status
    counts: Counts
    ledger: tuple[LedgerStep, ...] = ()
    rules: tuple[RuleOutcome, ...] = ()
    dataset_rules: tuple[DatasetOutcome, ...] = ()
    target: TablePlace | None = None
    quarantine: TablePlace | None = None
    duration_s: float = 0.0
    reason: str | None = None  # why this slice was read, or why nothing was, or which gate said no
    warnings: tuple[str, ...] = ()
    changes: Changes | None = None  # of strategies that merge
    events: tuple[Event, ...] = ()  # what was noticed beside rows: drift of schemas, columns that were added
    waiting: int = 0  # files that are new and were left for later batches
    held: HeldBatch | None = None  # what waits for an approval
    approved_by: str | None = None
    _good: Callable[[], Any] = field(default=lambda: None, repr=False)
    _bad: Callable[[], Any] = field(default=lambda: None, repr=False)

    @property
    def good(self) -> Any:
        """The rows that this run accepted, as the target shows them."""
        return self._good()

    @property
    def bad(self) -> Any:
        """The rows that this run rejected, with reasons; personal data is readable to whoever holds the key."""
        return self._bad()

    @property
    def stopped(self) -> bool:
        """Whether a gate said no, so that what comes after this run must wait."""
        return self.status in ("gate_failed", "held")

    @property
    def dataset_rules_failed(self) -> bool:
        return any(not rule.passed for rule in self.dataset_rules)

    def __iter__(self) -> Iterator[Any]:
        """`good, bad = processor.run_source(path)`."""
        yield self.good
        yield self.bad

    def keep_until_gone(self, folder: str) -> None:
        """Delete scratch files when nobody holds this result any more, or at exit."""
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def to_dict(self) -> dict[str, Any]:
        """The result as `lakelogic run --output json` prints it; what there is nothing to say of is left out."""
        told = {
            # Of runs that read something the reason is about the slice, which is no news.
            "reason": self.reason if self.stopped or self.status == "skipped" else None,
            "changes": asdict(self.changes) if self.changes else None,
            "warnings": list(self.warnings),
            "events": [asdict(event) for event in self.events],
            "waiting": self.waiting,
            "held": self.held.to_dict() if self.held else None,
            "approved_by": self.approved_by,
        }
        return {
            "run_id": self.run_id,
            "dataset": self.dataset,
            "status": self.status,
            "counts": asdict(self.counts),
            "ledger": [_ledger_line(step) for step in self.ledger],
            "target": asdict(self.target) if self.target else None,
            "quarantine": asdict(self.quarantine) if self.quarantine else None,
            "rules": [{"name": rule.name, "failed": rule.failed} for rule in self.rules],
            **{name: value for name, value in told.items() if value},
            "duration_s": round(self.duration_s, 3),
        }


def _ledger_line(step: LedgerStep) -> dict[str, Any]:
    names = ("step", "rows_in", "rows_out", "removed", "added", "quarantined")
    return {name: getattr(step, name) for name in names}
