"""From what happened to what is told: the result, and the log lines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from loguru import logger

from lakelogic.engine.protocol import StageInput
from lakelogic.plan.history import staged_columns
from lakelogic.plan.writes import WriteScd2, is_merged
from lakelogic.record.journal import Batch
from lakelogic.record.ledger import Ledger
from lakelogic.record.run_log import Status
from lakelogic.run.accounts import Accounts
from lakelogic.run.approvals import APPROVED, HeldBatch
from lakelogic.run.freshness import Freshness
from lakelogic.run.manifest import Manifest
from lakelogic.run.publish import Published
from lakelogic.run.recording import record_gate, record_held, record_idle, record_stale
from lakelogic.run.result import Changes, Counts, RunResult, TablePlace
from lakelogic.run.rule_records import dataset_outcomes, row_outcomes
from lakelogic.table.protocol import TableLocation

if TYPE_CHECKING:
    # `pipeline` tells the story and calls this module; only its word for a run is needed here.
    from lakelogic.run.pipeline import Run


def published_result(run: Run, batch: Batch, manifest: Manifest, published: Published) -> RunResult:
    """The result of a batch that is in the tables; told to people as well."""
    result = RunResult(
        run_id=batch.run_id,
        dataset=run.contract.dataset,
        status="succeeded",
        counts=_counts(manifest.ledger),
        ledger=manifest.ledger.steps,
        rules=row_outcomes(manifest.rules),
        dataset_rules=dataset_outcomes(manifest.rules),
        target=TablePlace(_path(run.places.target), published.target.version),
        quarantine=TablePlace(
            _path(run.places.quarantine), published.quarantine.version if published.quarantine else None
        ),
        duration_s=time.monotonic() - run.begun,
        reason=manifest.reason,
        warnings=manifest.warnings,
        changes=_changes(manifest, published),
        events=manifest.events,
        approved_by=manifest.extra.get(APPROVED, {}).get("by"),
        _good=lambda: _frame(run, manifest, good=True),
        _bad=lambda: _frame(run, manifest, good=False),
    )
    _tell(run, manifest)
    return result


def _changes(manifest: Manifest, published: Published) -> Changes | None:
    """What the commit did to the target's rows, by the numbers that it left in the table's log."""
    if not is_merged(manifest.write):
        return None
    metrics = published.target.metrics
    # A first batch is adopted: all its rows are new.
    inserted = metrics.get("numTargetRowsInserted", metrics.get("numOutputRows", 0))
    updated, deleted = (metrics.get(f"numTargetRows{what}", 0) for what in ("Updated", "Deleted"))
    # In a history one row may open a version, close another and number the later ones anew.
    changed = inserted if isinstance(manifest.write, WriteScd2) else inserted + updated + deleted
    ignored = max(manifest.ledger.accepted - changed, 0)
    return Changes(inserted, updated, deleted, ignored)


def _frame(run: Run, manifest: Manifest, *, good: bool) -> Any:
    place = run.places.target if good else run.places.quarantine
    files = manifest.target_files if good else manifest.quarantine_files
    shape = manifest.target if good else manifest.quarantine
    hidden = manifest.personal if not good and run.has_key else ()
    assert place is not None
    columns = staged_columns(manifest.write, shape.columns) if good else shape.columns
    staged = StageInput(staged_root=place.root, staged=files, columns=columns)
    return run.engine.frame(staged, decrypt=hidden)


def _tell(run: Run, manifest: Manifest) -> None:
    ledger = manifest.ledger
    if ledger.quarantined:
        logger.warning(
            f"LakeLogic Alert: {ledger.quarantined} records quarantined in '{run.contract.dataset}'. "
            f"Total: {ledger.read}"
        )
        logger.info(f"Wrote {ledger.quarantined} quarantined rows to {_name(run.places.quarantine)}")
    logger.info(f"Wrote {ledger.accepted} valid rows to {_name(run.places.target)}")
    judged = ledger.accepted + ledger.quarantined
    ratio = ledger.quarantined / judged if judged else 0.0
    layer = run.contract.info.target_layer or "none"
    logger.info(
        f"Run complete [layer={layer}] | Total: {ledger.read} | Good: {ledger.accepted} | "
        f"Quarantine: {ledger.quarantined} | Ratio: {ratio:.1%}"
    )


def idle_result(run: Run, reason: str, batch: Batch | None = None) -> RunResult:
    """Nothing to read: said, recorded, and no version of any table made."""
    logger.info(f"Nothing to do for '{run.contract.dataset}': {reason}")
    result = _unpublished(run, "no_new_data", Counts(), reason)
    result.events, result.warnings = run.noticed, tuple(event.message for event in run.noticed)
    record_idle(run, result, batch)
    return result


def stale_result(run: Run, fresh: Freshness) -> RunResult:
    """An upstream is older than it may be; nothing is read."""
    assert fresh.status is not None
    blocked = fresh.status == "gate_failed"
    tell = logger.error if blocked else logger.warning
    tell(f"{'Gate closed for' if blocked else 'Skipped'} '{run.contract.dataset}': {fresh.reason}")
    result = _unpublished(run, fresh.status, Counts(), fresh.reason)
    result.events = tuple(each.event for each in fresh.stale)
    record_stale(run, result, tuple(each.gate for each in fresh.of("block")))
    return result


def gate_result(run: Run, batch: Batch, accounts: Accounts) -> RunResult:
    """A gate said no; the numbers are told, nothing was published."""
    reason = "; ".join(accounts.closed_gates)
    logger.error(f"Gate closed for '{run.contract.dataset}': {reason}. Nothing was published")
    result = _unpublished(run, "gate_failed", _counts(accounts.ledger), reason)
    result.ledger = accounts.ledger.steps
    result.rules, result.dataset_rules, result.warnings = accounts.rules, accounts.dataset_rules, accounts.warnings
    result.events = accounts.events
    record_gate(run, result, batch, accounts.ledger, accounts.records, accounts.hint)
    return result


def held_result(run: Run, batch: Batch, manifest: Manifest, held: HeldBatch) -> RunResult:
    """A batch waits for an approval; told each time that a run comes upon it, and recorded once."""
    logger.error(
        f"Held for an approval: batch {batch.number} of '{run.contract.dataset}' (run {batch.run_id}): {held.reason}. "
        "Readers see the version before it"
    )
    for refusal in held.refusals:
        logger.warning(f"'{run.contract.dataset}' is not released: {refusal}")
    result = _unpublished(run, "held", _counts(manifest.ledger), held.reason)
    result.ledger, result.warnings, result.events = manifest.ledger.steps, manifest.warnings, manifest.events
    result.rules, result.dataset_rules = row_outcomes(manifest.rules), dataset_outcomes(manifest.rules)
    result.held = held
    record_held(run, result, manifest, batch)
    return result


def _unpublished(run: Run, status: Status, counts: Counts, reason: str) -> RunResult:
    return RunResult(
        run_id=run.run_id,
        dataset=run.contract.dataset,
        status=status,
        counts=counts,
        target=TablePlace(_path(run.places.target)),
        quarantine=TablePlace(_path(run.places.quarantine)),
        duration_s=time.monotonic() - run.begun,
        reason=reason,
    )


def _counts(ledger: Ledger) -> Counts:
    return Counts(ledger.read, ledger.accepted, ledger.quarantined)


def _path(location: TableLocation | None) -> str:
    assert location is not None
    return location.path


def _name(location: TableLocation | None) -> str:
    assert location is not None
    return location.name
