"""`reset`: a dataset begins anew, previewed, and can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.core.clock import Clock, FixedClock
from lakelogic.core.errors import RunError
from lakelogic.core.faults import fault_point
from lakelogic.core.settings import Settings
from lakelogic.core.slices import FileSlice
from lakelogic.record.journal import RESET_SETTING, UNDO_SETTING, Journal, open_journal
from lakelogic.run.hold import Held, OpenSpark, hold, locate, refuse_held, require_target
from lakelogic.run.holding import finish_discard
from lakelogic.run.places import Places
from lakelogic.run.publish import app_id
from lakelogic.run.resetting import companion, finish_reset, is_reset
from lakelogic.table.adopt import find_committed, find_table
from lakelogic.table.emptying import check_emptying, count_missing
from lakelogic.table.facts import find_facts
from lakelogic.table.location import find_companions
from lakelogic.table.protocol import TableLocation

TABLES = ("target", "quarantine")


@dataclass(frozen=True, slots=True)
class TableReset:
    """One table: what stands in it now, and the version that shows it for as long as its files are kept."""

    table: str
    path: str
    rows: int | None
    files: int
    version: int | None  # None: there is no table

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "path": self.path,
            "rows": self.rows,
            "files": self.files,
            "back_to_version": self.version,
        }


@dataclass(frozen=True, slots=True)
class ResetReport:
    """What a reset removes from sight and forgets."""

    dataset: str
    tables: tuple[TableReset, ...]
    batches: int  # loads that the journal forgets, so that the next run reads everything
    done: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "tables": [table.to_dict() for table in self.tables],
            "batches": self.batches,
            "done": self.done,
        }


def preview_reset(
    contract: Contract, settings: Settings, open_spark: OpenSpark = None, *, only: Sequence[str] = TABLES
) -> ResetReport:
    """Say what a reset would do; nothing is changed."""
    places = locate(contract, settings, open_spark, ask=False)
    assert require_target(contract, places) and places.control is not None
    return _look(contract, places, open_journal(places.control), only)


def reset(
    contract: Contract,
    settings: Settings,
    open_spark: OpenSpark = None,
    *,
    only: Sequence[str] = TABLES,
    wait_s: float = 0,
    clock: Clock | None = None,
) -> ResetReport:
    """Empty the tables, each by one commit, and forget which slices were read."""
    places = locate(contract, settings, open_spark, ask=False)
    require_target(contract, places)
    with hold(contract, places, clock=clock, wait_s=wait_s, settled=False) as held:
        for location in _locations(contract, places, only).values():
            check_emptying(location, open_spark)
        _settle(held, places, open_spark, only)
        report = _look(contract, places, held.journal, only)
        versions = {table.table: table.version for table in report.tables}
        about = {"tables": list(only), "versions": versions}
        _begin(held, places, open_spark, {RESET_SETTING: about})
    return replace(report, done=True)


def undo_reset(
    contract: Contract,
    settings: Settings,
    open_spark: OpenSpark = None,
    *,
    wait_s: float = 0,
    clock: Clock | None = None,
) -> ResetReport:
    """Show the rows from before the last reset again, and remember what was read; only before the next load."""
    places = locate(contract, settings, open_spark, ask=False)
    require_target(contract, places)
    with hold(contract, places, clock=clock, wait_s=wait_s) as held:
        last = held.journal.last_reset()
        if last is None or held.journal.loads():
            what = "rows were loaded since the last reset" if last else f"`{contract.dataset}` was not reset"
            raise RunError(f"{what}, so there is nothing to take back", code="LL465")
        number, about = last
        _check_versions(_locations(contract, places, TABLES), about["versions"])
        _begin(held, places, open_spark, {UNDO_SETTING: number, "versions": about["versions"]})
        return replace(_look(contract, places, held.journal, about["tables"]), done=True)


def _look(contract: Contract, places: Places, journal: Journal, only: Sequence[str]) -> ResetReport:
    tables = tuple(_look_at(name, place) for name, place in _locations(contract, places, only).items())
    return ResetReport(contract.dataset, tables, len(journal.loads()) if "target" in only else 0)


def _locations(contract: Contract, places: Places, only: Sequence[str]) -> dict[str, TableLocation]:
    """The tables that a reset is about; what a strategy remembers beside the target goes with the target."""
    target, quarantine = require_target(contract, places)
    found = {"target": target} if "target" in only else {}
    if "target" in only:
        found |= {companion(name): place for name, place in find_companions(target.path).items()}
    return {**found, "quarantine": quarantine} if "quarantine" in only else found


def _look_at(name: str, location: TableLocation) -> TableReset:
    table, facts = find_table(location.path), find_facts(location.path)
    if table is None or facts is None:
        return TableReset(name, location.path, 0, 0, None)
    return TableReset(name, location.path, facts.rows, len(table.file_uris()), table.version())


def _settle(held: Held, places: Places, open_spark: OpenSpark, only: Sequence[str]) -> None:
    """An unfinished reset is finished; an unfinished load is given up, since its rows would go anyway."""
    pending = held.journal.pending()
    if pending is None:
        return
    if is_reset(pending):
        finish_reset(pending, held.journal, places, held.contract.dataset, open_spark)
    elif set(only) == set(TABLES) and pending.state == "held":
        decision = {"by": "lakelogic reset", "reason": "", "at": held.now.isoformat(timespec="seconds")}
        discarded = held.journal.mark_discarded(pending, decision)
        finish_discard(held.contract, places, held.journal, discarded, FixedClock(held.now))
    elif set(only) == set(TABLES):
        held.journal.abandon(pending, "the dataset was reset")
    else:
        refuse_held(pending)
        raise RunError(
            f"batch {pending.number} of an interrupted run ({pending.run_id}) is not finished",
            code="LL464",
            hint="`lakelogic run` finishes it; or reset target and quarantine together",
        )


def _begin(held: Held, places: Places, open_spark: OpenSpark, settings: dict[str, Any]) -> None:
    name = app_id(held.contract.dataset)
    locations = require_target(held.contract, places)
    carried = max(find_committed(find_table(location.path), name) or 0 for location in locations)
    batch = held.journal.prepare(
        FileSlice(()),
        run_id=held.run_id,
        fingerprint="",
        started_at=held.now,
        holder=held.holder,
        settings=settings,
        carried=carried,
    )
    fault_point("after_prepare")
    finish_reset(batch, held.journal, places, held.contract.dataset, open_spark)


def _check_versions(locations: dict[str, TableLocation], versions: dict[str, int | None]) -> None:
    """The files of an older version may have been vacuumed."""
    for name, version in versions.items():
        location = locations.get(name)
        if version is None or location is None:
            continue
        missing = count_missing(location.path, version)
        if missing:
            raise RunError(
                f"version {version} of the {name} can no longer be read: {missing} of its files were removed",
                code="LL465",
                hint="`lakelogic maintain` removes files after maintenance.vacuum_retain",
            )
