"""The one path. Read `run_contract` first: it is the product in one function."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import GateError, LakeLogicError
from lakelogic.core.events import Event
from lakelogic.core.faults import fault_point
from lakelogic.core.settings import Settings
from lakelogic.core.slices import FileSlice, Slice
from lakelogic.core.stopping import Stop
from lakelogic.core.watermark import Watermark, decode_watermark, encode_watermark
from lakelogic.core.window import Window, decode_window, encode_window
from lakelogic.engine.protocol import Engine, ReadSpec
from lakelogic.plan.model import LinkRead, Plan
from lakelogic.plan.writes import is_merged
from lakelogic.record.holders import Holder
from lakelogic.record.journal import (
    APPROVAL_SETTING,
    PIPELINE_SETTING,
    SOURCE_SETTING,
    UNREAD_SETTING,
    WATERMARK_SETTING,
    WINDOW_SETTING,
    Batch,
    Journal,
    open_journal,
)
from lakelogic.record.lock import acquire
from lakelogic.run.accounts import account_for
from lakelogic.run.approvals import Approvals
from lakelogic.run.attempt import Attempt
from lakelogic.run.choose import Asked, SourceChangedError, choose_slice, declared_path, lost_slice, without_changed
from lakelogic.run.endings import end_closed, end_empty_window, end_idle
from lakelogic.run.freshness import judge_upstreams
from lakelogic.run.holding import asks_approval, finish_discard, hold_batch, judge_tables, release
from lakelogic.run.links import FindContract
from lakelogic.run.manifest import Manifest, decode_manifest, encode_manifest
from lakelogic.run.outcome import published_result, stale_result
from lakelogic.run.places import Places, all_paths, find_places
from lakelogic.run.planning import make_plan
from lakelogic.run.publish import Tables, newest_batch, publish, sweep_scratch
from lakelogic.run.recording import record_failure, record_published
from lakelogic.run.references import ReferenceCache
from lakelogic.run.resetting import finish_reset, is_reset
from lakelogic.run.result import RunResult
from lakelogic.run.staging import StagingArea, discard, stage_batch, staging_prefix
from lakelogic.run.stopped import error_of, taken_back_when_stopped
from lakelogic.run.watermarks import find_watermark
from lakelogic.source.files import changed_files
from lakelogic.storage.address import is_remote
from lakelogic.storage.objects import check_access
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.location import is_catalog_name
from lakelogic.table.registry import open_table


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run needs beside the contract: the operator's choices, an engine, a clock."""

    settings: Settings
    engine_name: str
    open_engine: Callable[[], Engine]  # an engine is started only when there is something to read
    clock: Clock = field(default_factory=SystemClock)
    wait_s: float = 0
    source: str | None = None  # a path given by the caller instead of the contract's
    on_phase: Callable[[str], None] = lambda phase: None
    window: Window | None = None  # what this run is for; None: what is new
    everything: bool = False  # read all of the source, also what was read before
    watermark: Watermark | None = None  # of what is read, only rows from this value on
    attempt: Attempt = field(default_factory=Attempt)
    approvals: Approvals = field(default_factory=Approvals)
    references: ReferenceCache | None = None  # links that other contracts of a pipeline run read too
    find_contract: FindContract = lambda dataset: None  # of an upstream

    @property
    def engine(self) -> Engine:
        return self.open_engine()

    @property
    def stop(self) -> Stop:
        return self.attempt.stop

    @property
    def asked(self) -> Asked:
        given, whole = self.source is not None, self.everything or self.window is not None
        return Asked(
            self.engine_name,
            path_given=given,
            whole=whole,
            now=self.clock.now(),
            most_files=self.settings.max_files_per_batch,
            root=self.settings.root,
            windowed=self.window is not None,
            window=self.window,
        )


def run_contract(contract: Contract, context: RunContext) -> RunResult:
    """Carry out a contract: finish what an interrupted run left, then read, check and publish what is new."""
    run = _begin(contract, context)
    try:
        with acquire(run.control, run.holder, wait_s=context.wait_s, sleep=context.stop.sleep) as lock:
            fault_point("after_lock")
            journal = open_journal(run.control, confirm=lock.confirm)
            pending = journal.pending()
            finished = _finish_pending(run, journal, pending) if pending is not None else None
            if finished is not None and (finished.stopped or _is_answer(run, finished, pending)):
                return finished
            fresh = judge_upstreams(contract, context.settings, run.places, context.find_contract, context.clock.now())
            if fresh.status is not None:
                return stale_result(run, fresh)
            run = replace(run, noticed=tuple(each.event for each in fresh.stale))
            sweep_scratch(run.places, journal.last_batch(), contract.dataset)
            chosen, reason = choose_slice(contract, run.places, journal, context.asked)
            if chosen is None or (finished and pending and _is_repeat(run, pending, chosen)):
                return finished or end_idle(run, journal, reason)
            result = _run_slice(_from_watermark(run), journal, chosen, reason)
            result.waiting = chosen.waiting if isinstance(chosen, FileSlice) else 0
            return result
    except Exception as error:
        told = error_of(context.stop, error)
        record_failure(run, told)
        if told is error:
            raise
        raise told from error


def _is_answer(run: Run, finished: RunResult, pending: Batch | None) -> bool:
    """Whether a batch is what this very run is for: an earlier attempt of the same pipeline run began it, or somebody
    approved it; reading a full source once more would only be held again."""
    if pending is None or _window_of(pending) != run.context.window:
        return False
    own = run.context.attempt.pipeline_run_id
    return finished.approved_by is not None or (own is not None and pending.settings.get(PIPELINE_SETTING) == own)


def _is_repeat(run: Run, pending: Batch, chosen: Slice) -> bool:
    """Whether this run would append once more what it has just finished: it is the retry of the one that was killed.

    With any other strategy a second load changes nothing, or is what is wanted: a snapshot of another day.
    """
    target = run.contract.materialization
    appends = target is not None and target.strategy == "append" and run.context.window is None
    if not appends or chosen != pending.slice or _window_of(pending) is not None:
        return False
    # Rows that were staged already are those of the contract as it was then.
    now = make_plan(run.contract, run.context, chosen)[0].fingerprint
    return pending.state != "staged" or now == pending.fingerprint


def _run_slice(run: Run, journal: Journal, chosen: Slice, reason: str) -> RunResult:
    """A file that changes while it is read is left for a later run; it must not hold up the others."""
    while True:
        try:
            return _run_batch(run, journal, chosen, reason)
        except SourceChangedError as changed:
            left = without_changed(run.contract, run.context.asked, chosen, changed)
            if left is None:
                raise
            logger.warning(f"{len(changed.files)} files changed while they were read, and are left for a later run")
            chosen, reason = left, f"{reason}; {len(changed.files)} changed while they were read, left for later"


def _from_watermark(run: Run) -> Run:
    """Where the target says what was read, the run is for the rows after that."""
    if run.context.asked.whole or run.context.source is not None:
        return run
    return replace(run, context=replace(run.context, watermark=find_watermark(run.contract, run.places)))


def _run_batch(run: Run, journal: Journal, chosen: Slice, reason: str) -> RunResult:
    run.context.stop.check()
    plan, spec, links = make_plan(run.contract, run.context, chosen)
    narrowed = {
        WINDOW_SETTING: encode_window(run.context.window),
        WATERMARK_SETTING: encode_watermark(run.context.watermark),
        UNREAD_SETTING: run.contract.is_raw and run.context.window is not None,
        PIPELINE_SETTING: run.context.attempt.pipeline_run_id,
        SOURCE_SETTING: declared_path(run.contract) if run.context.source is None else None,
        APPROVAL_SETTING: run.context.approvals.required,
    }
    batch = journal.prepare(
        chosen,
        run_id=run.run_id,
        fingerprint=plan.fingerprint,
        started_at=run.started_at,
        holder=run.holder,
        settings={"reason": reason, **{name: value for name, value in narrowed.items() if value}},
        carried=newest_batch(run.tables, run.contract.dataset),
    )
    fault_point("after_prepare")
    return _stage_and_publish(run, journal, batch, plan, spec, links, reason)


def _stage_and_publish(
    run: Run, journal: Journal, batch: Batch, plan: Plan, spec: ReadSpec, links: tuple[LinkRead, ...], reason: str
) -> RunResult:
    area = _area(run.places, batch, run.contract.dataset, merge=is_merged(plan.write))
    discard(area, batch.number, run.contract.dataset)
    run.phase("reading and checking rows")
    with taken_back_when_stopped(run, journal, batch, area):
        staged = stage_batch(
            run.engine, plan, spec, batch.slice, links, area, run_id=run.run_id, started_at=run.started_at
        )
        run.context.stop.check()
    if changed := changed_files(batch.slice):
        journal.abandon(batch, f"`{changed[0]}` changed while it was read")
        discard(area, batch.number, run.contract.dataset)
        raise SourceChangedError(changed)
    staged.ledger.balance()
    accounts = account_for(run.contract, plan, staged).beside(run.noticed)
    if run.context.window is not None and not staged.ledger.accepted and not staged.ledger.quarantined:
        return end_empty_window(run, journal, batch, area, run.context.window)
    if accounts.closed_gates and not (accounts.approvable and asks_approval(run, batch)):
        return end_closed(run, journal, batch, area, accounts)
    manifest = accounts.manifest(run.contract, plan, staged, reason, day=run.started_at.date())
    try:
        manifest, held_for = judge_tables(run, batch, accounts, manifest)
    except GateError as error:
        return end_closed(run, journal, batch, area, accounts.closed_by(error))
    except LakeLogicError as error:
        journal.abandon(batch, error.problem.message)
        discard(area, batch.number, run.contract.dataset)
        raise
    if held_for:
        return hold_batch(run, journal, batch, manifest, held_for)
    with taken_back_when_stopped(run, journal, batch, area):
        run.context.stop.begin_publishing()
    batch = journal.mark_staged(batch, encode_manifest(manifest))
    fault_point("after_mark_staged")
    return _publish(run, journal, batch, manifest)


def _publish(run: Run, journal: Journal, batch: Batch, manifest: Manifest) -> RunResult:
    run.phase("committing")
    published = publish(run.tables, manifest, dataset=run.contract.dataset, batch=batch.number, run_id=batch.run_id)
    result = published_result(run, batch, manifest, published)
    record_published(run, result, manifest, batch)
    fault_point("after_run_log")
    journal.mark_committed(batch)
    fault_point("after_mark_committed")
    run.context.stop.end_publishing()
    return result


def _finish_pending(run: Run, journal: Journal, pending: Batch) -> RunResult | None:
    """A batch that was prepared but not committed comes first: same slice, same run id, same clock."""
    if pending.state != "held":
        logger.warning(f"Finishing batch {pending.number} of an interrupted run ({pending.run_id}, {pending.state})")
    if is_reset(pending):
        spark = getattr(run.engine, "spark", None)
        open_spark = (lambda: spark) if spark is not None else None
        finish_reset(pending, journal, run.places, run.contract.dataset, open_spark)
        return None
    narrowed = replace(
        run.context,
        window=_window_of(pending),
        watermark=decode_watermark(pending.settings.get(WATERMARK_SETTING)),
        attempt=replace(run.context.attempt, pipeline_run_id=pending.settings.get(PIPELINE_SETTING)),
    )
    again = replace(run, run_id=pending.run_id, started_at=pending.started_at, context=narrowed)
    if pending.state == "discarded":
        finish_discard(run.contract, run.places, journal, pending, run.context.clock)
        return None
    if pending.state == "held":
        pending, held = release(again, journal, pending)
        if held is not None:
            return held
    if pending.state == "staged" and pending.manifest is not None:
        run.context.stop.begin_publishing()
        return _publish(again, journal, pending, decode_manifest(pending.manifest))
    if pending.slice == FileSlice(()):
        journal.abandon(pending, "it was about nothing")
        return None
    if lost := lost_slice(run.contract, pending.slice, pending.settings.get(SOURCE_SETTING)):
        # Nothing of it was published; what is there now is a new slice.
        journal.abandon(pending, lost)
        return None
    plan, spec, links = make_plan(again.contract, again.context, pending.slice)
    reason = str(pending.settings.get("reason", "")) or "finishing an interrupted run"
    try:
        return _stage_and_publish(again, journal, pending, plan, spec, links, reason)
    except SourceChangedError:
        return None  # it was given up, and what is there now is a new slice


def _window_of(batch: Batch) -> Window | None:
    return decode_window(batch.settings.get(WINDOW_SETTING))


def _area(places: Places, batch: Batch, dataset: str, *, merge: bool) -> StagingArea:
    assert places.target is not None and places.quarantine is not None
    kind = "merge" if merge else "batch"
    folder = staging_prefix(kind, batch.number, dataset) + uuid.uuid4().hex[:8]
    return StagingArea(places.target.root, places.quarantine.path, folder)


@dataclass(frozen=True, slots=True)
class Run:
    """One run under way."""

    contract: Contract
    context: RunContext
    places: Places
    run_id: str
    started_at: datetime
    holder: Holder
    begun: float = field(default_factory=time.monotonic)
    noticed: tuple[Event, ...] = ()  # before anything was read

    @property
    def resumed(self) -> bool:
        """Whether it goes on with the batch of another run, under that one's id."""
        return self.run_id != self.holder.run_id

    @property
    def engine(self) -> Engine:
        return self.context.engine

    @property
    def tables(self) -> Tables:
        """The two tables; opening one may ask the engine's catalog where it lies."""
        spark = getattr(self.engine, "spark", None)
        assert self.places.target is not None and self.places.quarantine is not None
        assert self.contract.materialization is not None
        rows = self.engine if isinstance(self.engine, RowWriter) else None
        return Tables(
            open_table(self.contract.materialization.format, self.places.target, spark=spark, rows=rows),
            # Reasons are looked up, released and forgotten row by row, whatever the target's format is.
            open_table("delta", self.places.quarantine, spark=spark),
        )

    @property
    def control(self) -> str:
        assert self.places.control is not None
        return self.places.control

    @property
    def has_key(self) -> bool:
        return self.context.settings.pii_key is not None

    def phase(self, name: str) -> None:
        self.context.on_phase(name)


def new_run_id(now: datetime) -> str:
    """Sorts by time, and is told apart from others of the same second."""
    return f"{now:%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"


def _begin(contract: Contract, context: RunContext) -> Run:
    started_at = context.clock.now()
    run_id = new_run_id(started_at)
    places = find_places(contract, context.settings, source=context.source, catalogs=_catalogs(contract, context))
    check_access(path for path in all_paths(contract, context.settings) if is_remote(path))
    holder = Holder(socket.gethostname(), os.getpid(), run_id, started_at)
    run = Run(contract, context, places, run_id, started_at, holder)
    if places.target is None or places.target.catalog_name is None:
        return run
    # A table that a catalog knows lies where the catalog says.
    tables = run.tables
    return replace(run, places=replace(places, target=tables.target.location, quarantine=tables.quarantine.location))


def _catalogs(contract: Contract, context: RunContext) -> frozenset[str]:
    """Catalogs of the engine's session; a target that is a path needs none, and so no engine to ask."""
    target = contract.materialization.target_path if contract.materialization else None
    if target is None or not is_catalog_name(target):
        return frozenset()
    spark = getattr(context.engine, "spark", None)
    if spark is None:
        return frozenset()
    from lakelogic.table.delta_spark import session_catalogs

    return session_catalogs(spark)
