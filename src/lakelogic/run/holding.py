"""Batches behind a gate that somebody may open: held, then published from their manifest, or discarded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.clock import Clock
from lakelogic.core.errors import GateError
from lakelogic.core.events import Event
from lakelogic.core.faults import fault_point
from lakelogic.core.versions import find_version
from lakelogic.plan.writes import WriteMerge
from lakelogic.record.journal import APPROVAL_SETTING, DISCARD_SETTING, Batch, Journal
from lakelogic.record.run_log import RunRecord, append_run, read_events, read_runs
from lakelogic.run.accounts import Accounts
from lakelogic.run.approvals import APPROVABLE, DRIFT_GATE, HELD, describe_held, mark_approved, new_drift
from lakelogic.run.manifest import Manifest, decode_manifest, encode_manifest
from lakelogic.run.outcome import held_result
from lakelogic.run.places import Places
from lakelogic.run.publish import check_tables
from lakelogic.run.result import RunResult
from lakelogic.run.rule_records import closed_gate
from lakelogic.run.staging import StagingArea, discard

if TYPE_CHECKING:
    # `pipeline` tells the story and calls this module; only its word for a run is needed here.
    from lakelogic.run.pipeline import Run


def asks_approval(run: Run, batch: Batch) -> bool:
    """Whether closed gates hold this batch; one of an interrupted run is finished as it was begun."""
    return run.context.approvals.required or bool(batch.settings.get(APPROVAL_SETTING))


def judge_tables(run: Run, batch: Batch, accounts: Accounts, manifest: Manifest) -> tuple[Manifest, tuple[str, ...]]:
    """The manifest after a look at the tables, and why it needs an approval; no reason where it needs none."""
    policy = run.contract.schema_policy.evolution
    if not asks_approval(run, batch):
        return check_tables(run.tables, manifest, policy=policy), ()
    reasons = list(accounts.closed_gates)
    try:
        checked = check_tables(run.tables, manifest, policy=policy)
    except GateError as error:
        if error.gate not in APPROVABLE:
            raise
        # Whatever else is wrong with it must be known before somebody is asked.
        checked = check_tables(run.tables, _without_limit(manifest), policy=policy)
        checked = replace(checked, rules=(*checked.rules, closed_gate(error.gate)))
        reasons.append(error.problem.message)
    drift = new_drift(checked.events, _published_events(run)) if checked.events else ()
    if drift:
        checked = replace(checked, rules=(*checked.rules, closed_gate(DRIFT_GATE)))
    return checked, (*reasons, *drift)


def _without_limit(manifest: Manifest) -> Manifest:
    assert isinstance(manifest.write, WriteMerge)
    return replace(manifest, write=replace(manifest.write, max_delete_ratio=None))


def _published_events(run: Run) -> tuple[Event, ...] | None:
    """What the last run that published had noticed; None before the first."""
    assert run.places.state is not None
    last = read_runs(run.places.state, dataset=run.contract.dataset, status="succeeded", limit=1)
    return read_events(run.places.state, run_id=last[0].run_id, dataset=run.contract.dataset) if last else None


def hold_batch(run: Run, journal: Journal, batch: Batch, manifest: Manifest, reasons: tuple[str, ...]) -> RunResult:
    """Keep a staged batch until somebody decides; readers see nothing of it."""
    told = {"reasons": list(reasons), "held_at": run.context.clock.now().isoformat(timespec="seconds")}
    kept = replace(manifest, extra={**manifest.extra, HELD: told})
    # The journal first: the record names a digest, and only what the journal holds has one that stays.
    batch = journal.mark_held(batch, encode_manifest(kept))
    fault_point("after_mark_held")
    return _tell_held(run, batch, ())


def release(run: Run, journal: Journal, batch: Batch) -> tuple[Batch, RunResult | None]:
    """The batch as approved, ready to be published; else the result that says that it is still held."""
    assert batch.manifest is not None
    now = run.context.clock.now()
    held = describe_held(run.contract.dataset, batch)
    approval, refusals = run.context.approvals.find(held, now)
    if approval is None:
        return batch, _tell_held(run, batch, refusals)
    # Once it is staged the batch is published by whoever comes next, also after the approval has expired.
    approved = journal.mark_staged(batch, mark_approved(batch.manifest, approval, held.digest, now))
    fault_point("after_approval")
    logger.info(f"Batch {batch.number} of '{run.contract.dataset}' was approved by {approval.approver}")
    return approved, None


def _tell_held(run: Run, batch: Batch, refusals: tuple[str, ...]) -> RunResult:
    assert batch.manifest is not None
    held = describe_held(run.contract.dataset, batch, refusals)
    result = held_result(run, batch, decode_manifest(batch.manifest), held)
    fault_point("after_run_log")
    return result


def finish_discard(contract: Contract, places: Places, journal: Journal, batch: Batch, clock: Clock) -> None:
    """Record, clean up, and give the batch's slice back, so that the next run reads it; may be done twice."""
    assert places.target is not None and places.quarantine is not None and places.state is not None
    append_run(places.state, _discarded(contract, places, batch, clock), resumed=True)
    discard(StagingArea(places.target.root, places.quarantine.path, ""), batch.number, contract.dataset)
    fault_point("after_discarded_files")
    decision = batch.settings[DISCARD_SETTING]
    journal.abandon(batch, f"discarded by {decision['by']}")
    logger.info(f"Batch {batch.number} of '{contract.dataset}' was discarded by {decision['by']}")


def _discarded(contract: Contract, places: Places, batch: Batch, clock: Clock) -> RunRecord:
    decision = batch.settings[DISCARD_SETTING]
    assert places.target is not None and places.quarantine is not None and batch.manifest is not None
    ledger = decode_manifest(batch.manifest).ledger
    return RunRecord(
        run_id=batch.run_id,
        dataset=contract.dataset,
        status="discarded",
        started_at=batch.started_at,
        finished_at=clock.now(),
        duration_s=0.0,
        batch=batch.number,
        rows_read=ledger.read,
        rows_accepted=ledger.accepted,
        rows_quarantined=ledger.quarantined,
        target=places.target.path,
        quarantine=places.quarantine.path,
        layer=contract.info.target_layer,
        lakelogic_version=find_version("lakelogic"),
        contract_version=contract.version,
        fingerprint=batch.fingerprint,
        reason=f"discarded by {decision['by']}" + (f": {decision['reason']}" if decision.get("reason") else ""),
        digest=describe_held(contract.dataset, batch).digest,
    )
