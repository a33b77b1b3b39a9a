"""Work on a dataset outside of a run: its places, its journal and its lock, held while the work lasts."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.core.settings import Settings
from lakelogic.record.holders import Holder
from lakelogic.record.journal import Batch, Journal, open_journal
from lakelogic.record.lock import acquire
from lakelogic.run.pipeline import new_run_id
from lakelogic.run.places import Places, find_places
from lakelogic.table.adopt import find_table
from lakelogic.table.delta_spark import locate_in_catalog, session_catalogs
from lakelogic.table.location import is_catalog_name
from lakelogic.table.protocol import TableLocation

OpenSpark = Callable[[], Any] | None  # None: the operator chose an engine without Spark


@dataclass(frozen=True, slots=True)
class Held:
    """A dataset that nobody else writes to at the moment."""

    contract: Contract
    journal: Journal
    run_id: str
    holder: Holder
    now: datetime


@contextmanager
def hold(
    contract: Contract,
    places: Places,
    *,
    clock: Clock | None = None,
    wait_s: float = 0,
    settled: bool = True,
    beside_held: bool = False,
) -> Iterator[Held]:
    """Take the dataset's lock; `settled` refuses while a batch of an interrupted run is unfinished.

    Work that leaves alone what a batch that waits for an approval has staged may be done `beside_held`.
    """
    require_target(contract, places)
    with lock_dataset(contract, places, clock=clock, wait_s=wait_s) as held:
        if settled:
            _refuse_pending(held.journal, beside_held=beside_held)
        yield held


@contextmanager
def lock_dataset(
    contract: Contract, places: Places, *, clock: Clock | None = None, wait_s: float = 0
) -> Iterator[Held]:
    """Take the dataset's lock, whatever state its journal is in."""
    now = (clock or SystemClock()).now()
    run_id = new_run_id(now)
    holder = Holder(socket.gethostname(), os.getpid(), run_id, now)
    assert places.control is not None
    with acquire(places.control, holder, wait_s=wait_s) as lock:
        yield Held(contract, open_journal(places.control, clock=clock, confirm=lock.confirm), run_id, holder, now)


def locate(contract: Contract, settings: Settings, open_spark: OpenSpark, *, ask: bool = True) -> Places:
    """The places of a contract; a table that a catalog knows lies where the catalog says.

    Without `ask` the catalog, which takes an engine, is asked only where no table lies in the warehouse.
    """
    places = find_places(contract, settings)
    target, _ = require_target(contract, places)
    found = not ask and find_table(target.path) is not None
    if open_spark is None or not is_catalog_name(target.name) or found:
        return places
    spark = open_spark()
    places = find_places(contract, settings, catalogs=session_catalogs(spark))
    target, quarantine = require_target(contract, places)
    return replace(places, target=locate_in_catalog(spark, target), quarantine=locate_in_catalog(spark, quarantine))


def require_target(contract: Contract, places: Places) -> tuple[TableLocation, TableLocation]:
    """The target and the quarantine of a contract that has them."""
    if places.target is None or places.quarantine is None:
        raise PlanError(
            "the contract has no target, so there is no table to work on",
            where=contract.at("materialization"),
            hint="set materialization.target_path",
            code="LL349",
        )
    if contract.materialization is not None and contract.materialization.format != "delta":
        raise CapabilityError(
            f"this is for Delta tables, and the target is {contract.materialization.format}",
            where=contract.at("materialization.format"),
            hint="plain Parquet needs no upkeep; its former versions lie beside it",
        )
    return places.target, places.quarantine


def refuse_held(batch: Batch) -> None:
    """Raise where a batch waits for somebody's decision."""
    if batch.state == "held":
        raise RunError(
            f"batch {batch.number} ({batch.run_id}) is held for an approval",
            code="LL467",
            hint="`lakelogic approvals list` shows it; approve it and run again, or discard it; then try again",
        )


def _refuse_pending(journal: Journal, *, beside_held: bool) -> None:
    pending = journal.pending()
    if pending is None or (beside_held and pending.state == "held"):
        return
    refuse_held(pending)
    raise RunError(
        f"batch {pending.number} of an interrupted run ({pending.run_id}) is not finished",
        code="LL464",
        hint="`lakelogic run` finishes it; then try again",
    )
