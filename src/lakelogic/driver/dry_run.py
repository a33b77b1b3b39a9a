"""The plan of a pipeline run: what would run when, what it would read and what it would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import LakeLogicError
from lakelogic.core.slices import FileSlice, Slice, TableSlice
from lakelogic.driver.pipeline import Order, Prepared, nearest_above
from lakelogic.driver.worker import Request
from lakelogic.record.journal import open_journal
from lakelogic.run.choose import Asked, choose_slice
from lakelogic.run.places import Places, find_places


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One contract of the plan."""

    wave: int  # all of one wave could run at once
    dataset: str
    layer: str | None
    engine: str
    after: tuple[str, ...]
    window: str
    reads: str
    writes: str
    held: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan_pipeline(prepared: Prepared, request: Request, order: Order) -> tuple[PlannedRun, ...]:
    """The plan, without starting an engine; sources are listed, no row is read and nothing is written."""
    rules = prepared.rules(order)
    waves: dict[str, int] = {}
    planned = []
    for name in prepared.names(order):
        contract = prepared.contracts[name]
        needs = nearest_above(prepared.dag, name, prepared.names(order))
        waves[name] = 1 + max((waves[other] for other in (*needs, *rules.after.get(name, ()))), default=0)
        places = find_places(contract, request.settings)
        asked = prepared.request_for(name, request)
        planned.append(
            PlannedRun(
                wave=waves[name],
                dataset=name,
                layer=prepared.dag.members[name].layer,
                engine=request.engine_of(contract),
                after=needs,
                window=_window_words(contract, asked),
                reads=_reads(contract, places, asked, needs, prepared.dag.tables),
                writes=_writes(contract, places),
                held=prepared.held.get(name),
            )
        )
    return tuple(sorted(planned, key=lambda each: each.wave))


def _window_words(contract: Contract, request: Request) -> str:
    windows = request.windows_of(contract, request.clock.now())
    if request.backfill is not None:
        span = f", {windows[0]} to {windows[-1]}" if windows else ""
        return f"{len(windows)} windows of a {request.backfill}{span}"
    if windows[0] is not None:
        return str(windows[0])
    return "everything" if request.window == "none" else "what is new"


def _reads(
    contract: Contract, places: Places, request: Request, needs: tuple[str, ...], tables: Mapping[str, Places]
) -> str:
    """What would be read now; where an upstream runs first, only that can tell."""
    pending = open_journal(places.control).pending() if places.control else None
    if pending is not None and pending.state == "held":
        return f"nothing: the batch of run {pending.run_id} is held for an approval"
    for name in needs:
        target = tables[name].target if name in tables else None
        if target is not None and places.source is not None and places.source.rstrip("/") == target.path.rstrip("/"):
            return f"what `{name}` writes"
    source = places.source or (contract.source.kafka.topic if contract.source and contract.source.kafka else None)
    if source is None:
        return "nothing: the contract names no source"
    if contract.source is not None and contract.source.kafka is not None:
        return f"topic {source}"  # to ask the broker would need one
    whole = request.window != "last_success" or request.backfill is not None
    asked = Asked(request.engine_of(contract), whole=whole, now=request.clock.now())
    try:
        journal = open_journal(places.control) if places.control else None
        chosen, reason = choose_slice(contract, places, journal, asked)
    except LakeLogicError as error:
        return f"{source}: {error.problem.message}"
    return f"{source}: {_slice_words(chosen)}{reason}"


def _slice_words(chosen: Slice | None) -> str:
    match chosen:
        case None:
            return "nothing, "
        case FileSlice(files=files):
            return f"{len(files)} file{'s' if len(files) != 1 else ''}, "
        case TableSlice(version=version):
            return f"version {version}, "
        case _:
            return ""


def _writes(contract: Contract, places: Places) -> str:
    if places.target is None or contract.materialization is None:
        return "nothing: checks only"
    return f"{contract.materialization.strategy} -> {places.target.name}"
