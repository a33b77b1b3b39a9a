"""Checking without publishing: the same plan and the same stages, in a scratch folder that goes away."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.slices import FrameSlice, Slice
from lakelogic.engine.protocol import StageInput
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column, Plan
from lakelogic.run.accounts import account_for
from lakelogic.run.choose import choose_slice
from lakelogic.run.freshness import judge_upstreams
from lakelogic.run.pipeline import RunContext, new_run_id
from lakelogic.run.places import find_places
from lakelogic.run.planning import make_plan
from lakelogic.run.result import Counts, RunResult
from lakelogic.run.staging import StagedBatch, StagingArea, stage_batch


def check_frame(contract: Contract, frame: Any, context: RunContext) -> RunResult:
    """Check the rows of a frame that the caller holds; no table is touched."""
    return _check(contract, FrameSlice(frame), context, "the caller's frame")


def check_source(contract: Contract, context: RunContext) -> RunResult:
    """Check a source for a contract that has no target."""
    places = find_places(contract, context.settings, source=context.source)
    fresh = judge_upstreams(contract, context.settings, places, context.find_contract, context.clock.now())
    if fresh.status is not None:
        run_id = new_run_id(context.clock.now())
        return RunResult(run_id, contract.dataset, fresh.status, Counts(), reason=fresh.reason)
    for each in fresh.stale:
        logger.warning(each.reason)
    chosen, reason = choose_slice(contract, places, None, context.asked)
    if chosen is None:
        started_at = context.clock.now()
        return RunResult(new_run_id(started_at), contract.dataset, "no_new_data", Counts(), reason=reason)
    return _check(contract, chosen, context, reason)


def _check(contract: Contract, chosen: Slice, context: RunContext, reason: str) -> RunResult:
    begun = time.monotonic()
    started_at = context.clock.now()
    run_id = new_run_id(started_at)
    plan, spec, links = make_plan(contract, context, chosen)
    scratch = tempfile.mkdtemp(prefix="lakelogic-")
    area = StagingArea(os.path.join(scratch, "good"), os.path.join(scratch, "bad"), "rows")
    context.on_phase("reading and checking rows")
    staged = stage_batch(context.engine, plan, spec, chosen, links, area, run_id=run_id, started_at=started_at)
    staged.ledger.balance()
    accounts = account_for(contract, plan, staged)
    result = RunResult(
        run_id=run_id,
        dataset=contract.dataset,
        status="gate_failed" if accounts.closed_gates else "succeeded",
        counts=Counts(staged.ledger.read, staged.ledger.accepted, staged.ledger.quarantined),
        ledger=staged.ledger.steps,
        rules=accounts.rules,
        dataset_rules=accounts.dataset_rules,
        duration_s=time.monotonic() - begun,
        reason="; ".join(accounts.closed_gates) or reason,
        warnings=accounts.warnings,
        events=accounts.events,
        _good=_frames(context, area.target_root, staged.accepted, staged.output),
        _bad=_bad_frames(context, area, staged, plan),
    )
    result.keep_until_gone(scratch)
    return result


def _frames(
    context: RunContext,
    root: str,
    files: tuple[StagedFile, ...],
    columns: tuple[Column, ...],
    decrypt: tuple[str, ...] = (),
) -> Any:
    return lambda: context.engine.frame(StageInput(staged_root=root, staged=files, columns=columns), decrypt=decrypt)


def _bad_frames(context: RunContext, area: StagingArea, staged: StagedBatch, plan: Plan) -> Any:
    hidden = plan.personal if context.settings.pii_key is not None else ()
    return _frames(context, area.quarantine_root, staged.rejected, staged.quarantine_columns, hidden)
