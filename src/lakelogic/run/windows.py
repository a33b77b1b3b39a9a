"""Which window a run is for, and which windows of a dataset are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import PlanError
from lakelogic.core.settings import Settings
from lakelogic.core.slices import FileSlice
from lakelogic.core.window import (
    Granularity,
    Window,
    encode_window,
    missing_slices,
    slice_window,
    window_of_days,
)
from lakelogic.record.holders import Holder
from lakelogic.record.journal import WINDOW_SETTING, DoneWindow, Journal, open_journal
from lakelogic.run.places import Places, find_places
from lakelogic.run.publish import app_id
from lakelogic.table.adopt import find_committed, find_table

WindowKind = Literal["last_success", "yesterday", "none", "range"]


@dataclass(frozen=True, slots=True)
class Span:
    """The days that a caller named, both included."""

    first: date
    last: date | None = None


def zone_of(contract: Contract) -> str:
    """The zone whose days a contract's windows are of."""
    reprocess = contract.materialization.reprocess if contract.materialization else None
    return reprocess.timezone if reprocess and reprocess.timezone else "UTC"


def find_window(contract: Contract, kind: WindowKind, span: Span | None, now: datetime) -> Window | None:
    """The window of a run; None where it reads what is new (`last_success`), or everything (`none`)."""
    zone = zone_of(contract)
    match kind:
        case "yesterday":
            return window_of_days(now.astimezone(ZoneInfo(zone)).date() - timedelta(days=1), zone=zone)
        case "range":
            assert span is not None
            return window_of_days(span.first, span.last, zone)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Intervals:
    """The interval ledger of a dataset: the windows that are done, and the slices of a span that are not."""

    done: tuple[DoneWindow, ...]
    missing: tuple[Window, ...]


def find_intervals(
    contract: Contract, settings: Settings, span: Span | None = None, granularity: Granularity = "day"
) -> Intervals:
    """Look into the journal; without a span, from the first window that was done to the last."""
    places = find_places(contract, settings)
    if places.control is None:
        raise PlanError("a contract without a target has no windows", code="LL355")
    done = open_journal(places.control).done_windows()
    whole = _whole(contract, span, done)
    slices = slice_window(whole, granularity) if whole else ()
    return Intervals(done, tuple(missing_slices(slices, [entry.window for entry in done])))


def _whole(contract: Contract, span: Span | None, done: Sequence[DoneWindow]) -> Window | None:
    if span is not None:
        return window_of_days(span.first, span.last, zone_of(contract))
    if not done:
        return None
    windows = [entry.window for entry in done]
    return Window(min(w.start for w in windows), max(w.end for w in windows), zone_of(contract))


def plan_backfill(
    contract: Contract, settings: Settings, span: Span, granularity: Granularity, *, only_gaps: bool
) -> tuple[Window, ...]:
    """The slices to run, in order; with `only_gaps` those that no committed run was for."""
    if only_gaps:
        return find_intervals(contract, settings, span, granularity).missing
    return tuple(slice_window(window_of_days(span.first, span.last, zone_of(contract)), granularity))


def note_window(journal: Journal, places: Places, dataset: str, window: Window, holder: Holder) -> None:
    """Put on record that a window was looked at and had nothing to read; no table is touched."""
    assert places.target is not None and places.quarantine is not None
    name = app_id(dataset)
    tables = (find_table(location.path) for location in (places.target, places.quarantine))
    batch = journal.prepare(
        FileSlice(()),
        run_id=holder.run_id,
        fingerprint="",
        started_at=holder.started_at,
        holder=holder,
        settings={WINDOW_SETTING: encode_window(window)},
        carried=max(find_committed(table, name) or 0 for table in tables),
    )
    journal.mark_committed(batch, note="no rows in the window")
