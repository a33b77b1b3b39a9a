"""The ledger: every row that was read is accounted for, step by step.

Law of a step: rows in + added = rows out + removed + quarantined, and what goes into a step is what came
out of the one before. So rows read = accepted + quarantined + removed - added. The numbers come from the
pass that wrote the files; a ledger that does not balance means that rows were lost or doubled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from lakelogic.core.errors import RunError
from lakelogic.plan.files import Staged
from lakelogic.plan.model import Effect, Segment, Stage

READ_STEP = "read"
SPLIT_STEP = "split"
QUARANTINE_STEP = "quarantine"
UNBALANCED = "LL420"


@dataclass(frozen=True, slots=True)
class LedgerStep:
    """What one step did to the number of rows."""

    step: str
    rows_in: int
    rows_out: int
    removed: int = 0
    added: int = 0
    quarantined: int = 0
    effect: Effect = "same"  # what the step may do to the number of rows

    def balance(self) -> None:
        """Raise when the numbers of this step contradict each other or its declared effect."""
        if self.rows_in + self.added != self.rows_out + self.removed + self.quarantined:
            raise _unbalanced(
                self.step,
                f"{self.rows_in} in + {self.added} added is not {self.rows_out} out + {self.removed} removed"
                f" + {self.quarantined} quarantined",
            )
        if (self.removed and not _may_remove(self.effect)) or (self.added and not _may_add(self.effect)):
            raise _unbalanced(
                self.step, f"{self.rows_in} rows in, {self.rows_out} out, but its effect is `{self.effect}`"
            )


@dataclass(frozen=True, slots=True)
class Ledger:
    """The steps of a run in order, and the three numbers that they must lead from and to."""

    steps: tuple[LedgerStep, ...]
    read: int
    accepted: int
    quarantined: int

    @property
    def removed(self) -> int:
        """Rows that declared steps removed; lines without a row in them (header, blank) are not rows."""
        return sum(step.removed for step in self.steps if step.step != READ_STEP)

    @property
    def added(self) -> int:
        return sum(step.added for step in self.steps)

    def balance(self) -> None:
        """Raise RunError LL420 that names the step at which rows went missing or came from nowhere."""
        rows = self.read
        for step in self.steps:
            step.balance()
            if step.step != READ_STEP and step.rows_in != rows:
                raise _unbalanced(step.step, f"{rows} rows came out of the step before, {step.rows_in} went in")
            rows = step.rows_out
        if rows != self.accepted:
            last = self.steps[-1].step if self.steps else READ_STEP
            raise _unbalanced(last, f"{rows} rows came out, {self.accepted} stand in the accepted files")
        passed_on = sum(step.quarantined for step in self.steps)
        if passed_on != self.quarantined:
            raise _unbalanced(
                QUARANTINE_STEP,
                f"{passed_on} rows were rejected, {self.quarantined} stand in the quarantine files",
            )


def build_ledger(stages: Sequence[tuple[Stage, Staged]], *, quarantined: int, skipped: int = 0) -> Ledger:
    """Put the counts of all stages in order.

    `quarantined` is counted in the files of the quarantine table, `skipped` are lines that hold no row
    (headers, blank lines).
    """
    first_stage, first = stages[0]
    read = first.counts[first_stage.input]
    steps = [LedgerStep(READ_STEP, read + skipped, read, removed=skipped, effect="removes")]
    for number, (stage, staged) in enumerate(stages, start=1):
        # The stage's own count of its input, where it took one: it shows rows lost between two stages.
        rows = staged.counts.get(stage.input, steps[-1].rows_out)
        counted = _counted_steps(stage, rows, staged.counts)
        steps.extend(counted)
        name = f"{SPLIT_STEP} {number}" if len(stages) > 1 else SPLIT_STEP
        steps.append(_split_step(name, counted[-1].rows_out if counted else rows, staged))
    return Ledger(tuple(steps), read=read, accepted=stages[-1][1].accepted_rows, quarantined=quarantined)


def _counted_steps(stage: Stage, rows: int, counts: Mapping[str, int]) -> list[LedgerStep]:
    steps: list[LedgerStep] = []
    for segment in (segment for segment in stage.segments if segment.counted):
        out = counts[segment.name]
        steps.append(_counted_step(segment, rows, out))
        rows = out
    return steps


def _counted_step(segment: Segment, rows: int, out: int) -> LedgerStep:
    return LedgerStep(
        segment.label, rows, out, removed=max(rows - out, 0), added=max(out - rows, 0), effect=segment.effect
    )


def _split_step(name: str, rows: int, staged: Staged) -> LedgerStep:
    return LedgerStep(name, rows, staged.accepted_rows, quarantined=staged.rejected_rows)


def is_split(step: LedgerStep) -> bool:
    """Whether a step is where a stage told accepted rows from rejected ones."""
    return step.effect == "same" and step.step.partition(" ")[0] == SPLIT_STEP


def _may_remove(effect: Effect) -> bool:
    match effect:
        case "removes" | "changes":
            return True
        case "same" | "adds":
            return False
        case _:
            assert_never(effect)


def _may_add(effect: Effect) -> bool:
    match effect:
        case "adds" | "changes":
            return True
        case "same" | "removes":
            return False
        case _:
            assert_never(effect)


def _unbalanced(step: str, what: str) -> RunError:
    return RunError(
        f"the ledger does not balance at step `{step}`: {what}",
        code=UNBALANCED,
        hint="nothing was published; this is a fault of LakeLogic or of the storage, please report it",
    )
