"""Looking after held batches outside of a run: which there are, and giving one up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lakelogic.contract.contract import Contract
from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import RunError
from lakelogic.core.faults import fault_point
from lakelogic.core.settings import Settings
from lakelogic.record.journal import Journal, open_journal
from lakelogic.run.approvals import HeldBatch, describe_held
from lakelogic.run.hold import OpenSpark, locate, lock_dataset
from lakelogic.run.holding import finish_discard
from lakelogic.run.manifest import decode_manifest
from lakelogic.run.places import Places, find_places

NOT_HELD = "LL466"


@dataclass(frozen=True, slots=True)
class FoundBatch:
    """A held batch, and the contract that it is of."""

    contract: Contract
    held: HeldBatch
    accepted: int
    quarantined: int

    def to_dict(self) -> dict[str, object]:
        return {**self.held.to_dict(), "accepted": self.accepted, "quarantined": self.quarantined}


def find_held(contracts: Iterable[Contract], settings: Settings) -> tuple[FoundBatch, ...]:
    """The held batches of some contracts; no lock is taken, and no engine started."""
    found = []
    for contract in contracts:
        control = find_places(contract, settings).control
        held = _held_in(contract, open_journal(control)) if control is not None else None
        if held is not None:
            found.append(held)
    return tuple(found)


def choose_held(found: Sequence[FoundBatch], run: str) -> FoundBatch:
    """The one whose run id begins so; raises where it is not one."""
    mine = [each for each in found if each.held.run_id.startswith(run)]
    if len(mine) != 1:
        what = f"{len(mine)} held batches are of runs that begin with `{run}`" if mine else f"no run `{run}` is held"
        listed = ", ".join(f"{each.held.run_id} ({each.held.dataset})" for each in (mine or found))
        raise RunError(what, code=NOT_HELD, hint=f"held: {listed}" if listed else "nothing is held here")
    return mine[0]


def discard_held(
    contract: Contract,
    settings: Settings,
    run_id: str,
    *,
    by: str,
    reason: str | None = None,
    open_spark: OpenSpark = None,
    wait_s: float = 0,
    clock: Clock | None = None,
) -> HeldBatch:
    """Give a held batch up: its files go, and the next run reads its rows again."""
    places = _places(contract, settings, open_spark)
    clock = clock or SystemClock()
    with lock_dataset(contract, places, clock=clock, wait_s=wait_s) as dataset:
        journal = dataset.journal
        batch = journal.pending()
        if batch is None or batch.run_id != run_id or batch.state not in ("held", "discarded"):
            raise RunError(f"run `{run_id}` of `{contract.dataset}` is not held any more", code=NOT_HELD)
        if batch.state == "held":
            told = {"by": by, "reason": reason or "", "at": clock.now().isoformat(timespec="seconds")}
            batch = journal.mark_discarded(batch, told)
            fault_point("after_mark_discarded")
        held = describe_held(contract.dataset, batch)
        finish_discard(contract, places, journal, batch, clock)
    return held


def _places(contract: Contract, settings: Settings, open_spark: OpenSpark) -> Places:
    plain = contract.materialization is None or contract.materialization.format != "delta"
    return find_places(contract, settings) if plain else locate(contract, settings, open_spark, ask=False)


def _held_in(contract: Contract, journal: Journal) -> FoundBatch | None:
    batch = journal.pending()
    if batch is None or batch.state != "held" or batch.manifest is None:
        return None
    ledger = decode_manifest(batch.manifest).ledger
    return FoundBatch(contract, describe_held(contract.dataset, batch), ledger.accepted, ledger.quarantined)
