"""From what happened to what is told: the result, the run log, the log lines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from loguru import logger

from lakelogic.core.errors import LakeLogicError
from lakelogic.core.events import Event
from lakelogic.engine.protocol import StageInput
from lakelogic.plan.history import staged_columns
from lakelogic.plan.writes import WriteScd2, is_merged
from lakelogic.record.journal import Batch
from lakelogic.record.ledger import Ledger
from lakelogic.record.run_log import RunRecord, Status, append_run
from lakelogic.run.accounts import Accounts
from lakelogic.run.manifest import Manifest
from lakelogic.run.publish import Published
from lakelogic.run.result import Changes, Counts, DatasetOutcome, RuleOutcome, RunResult, TablePlace
from lakelogic.table.protocol import TableLocation

if TYPE_CHECKING:
    # `pipeline` tells the story and calls this module; only its word for a run is needed here.
    from lakelogic.run.pipeline import Run

# A source or a table does not look as the contract says.
SCHEMA_CODES = ("LL32", "LL33")


def published_result(run: Run, batch: Batch, manifest: Manifest, published: Published) -> RunResult:
    """The result of a batch that is in the tables; told to people as well."""
    result = RunResult(
        run_id=batch.run_id,
        dataset=run.contract.dataset,
        status="succeeded",
        counts=_counts(manifest.ledger),
        ledger=manifest.ledger.steps,
        rules=tuple(
            RuleOutcome(rule.name, rule.failed or 0, rule.severity or "error")
            for rule in manifest.rules
            if rule.scope == "row"
        ),
        dataset_rules=tuple(
            DatasetOutcome(rule.name, bool(rule.passed), rule.value)
            for rule in manifest.rules
            if rule.scope == "dataset"
        ),
        target=TablePlace(_path(run.places.target), published.target.version),
        quarantine=TablePlace(
            _path(run.places.quarantine), published.quarantine.version if published.quarantine else None
        ),
        duration_s=time.monotonic() - run.begun,
        reason=manifest.reason,
        warnings=manifest.warnings,
        changes=_changes(manifest, published),
        events=manifest.events,
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


def write_record(run: Run, result: RunResult, manifest: Manifest, batch: Batch) -> None:
    """The run log of a committed batch; exactly once, however often it is repeated."""
    record = _record(run, result.status, batch=batch, ledger=manifest.ledger, result=result)
    assert run.places.state is not None
    append_run(
        run.places.state,
        record,
        rules=manifest.rules,
        steps=manifest.ledger.steps,
        events=manifest.events,
        committed=True,
    )


def idle_result(run: Run, reason: str) -> RunResult:
    """Nothing to read: said, recorded, and no version of any table made."""
    logger.info(f"Nothing to do for '{run.contract.dataset}': {reason}")
    result = _unpublished(run, "no_new_data", Counts(), reason)
    _log(run, result)
    return result


def gate_result(run: Run, accounts: Accounts) -> RunResult:
    """A gate said no; the numbers are told, nothing was published."""
    reason = "; ".join(accounts.closed_gates)
    logger.error(f"Gate closed for '{run.contract.dataset}': {reason}. Nothing was published")
    result = _unpublished(run, "gate_failed", _counts(accounts.ledger), reason)
    result.ledger = accounts.ledger.steps
    result.rules, result.dataset_rules, result.warnings = accounts.rules, accounts.dataset_rules, accounts.warnings
    result.events = accounts.events
    _log(run, result, ledger=accounts.ledger)
    return result


def failed_record(run: Run, error: LakeLogicError) -> None:
    """A run that failed is on record too; that the record cannot be written must not hide why it failed."""
    record = _record(run, "failed", error=error)
    assert run.places.state is not None
    try:
        append_run(run.places.state, record, events=_refusals(error))
    except LakeLogicError as second:
        logger.warning(f"The failed run could not be recorded: {second.problem.message}")


def _refusals(error: LakeLogicError) -> tuple[Event, ...]:
    """A schema that was refused is drift too, and is remembered as such."""
    refused = [problem for problem in error.problems if problem.code.startswith(SCHEMA_CODES)]
    return tuple(Event("schema_refused", problem.message, "error", {"code": problem.code}) for problem in refused)


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


def _log(run: Run, result: RunResult, ledger: Ledger | None = None) -> None:
    assert run.places.state is not None
    append_run(
        run.places.state,
        _record(run, result.status, ledger=ledger, result=result),
        steps=ledger.steps if ledger else (),
        events=result.events,
    )


def _record(
    run: Run,
    status: Status,
    *,
    batch: Batch | None = None,
    ledger: Ledger | None = None,
    result: RunResult | None = None,
    error: LakeLogicError | None = None,
) -> RunRecord:
    target, quarantine = (result.target, result.quarantine) if result else (None, None)
    changes = result.changes if result else None
    return RunRecord(
        run_id=run.run_id,
        dataset=run.contract.dataset,
        status=status,
        started_at=run.started_at,
        finished_at=run.context.clock.now(),
        duration_s=round(time.monotonic() - run.begun, 3),
        batch=batch.number if batch else None,
        rows_read=ledger.read if ledger else None,
        rows_accepted=ledger.accepted if ledger else None,
        rows_quarantined=ledger.quarantined if ledger else None,
        rows_inserted=changes.inserted if changes else None,
        rows_updated=changes.updated if changes else None,
        rows_deleted=changes.deleted if changes else None,
        rows_ignored=changes.ignored if changes else None,
        target=_path(run.places.target),
        target_version=target.version if target else None,
        quarantine=_path(run.places.quarantine),
        quarantine_version=quarantine.version if quarantine else None,
        layer=run.contract.info.target_layer,
        engine=run.context.engine_name,
        contract_version=run.contract.version,
        fingerprint=batch.fingerprint if batch else None,
        reason=result.reason if result else None,
        error_code=error.problem.code if error else None,
        error_message=error.problem.message if error else None,
    )


def _counts(ledger: Ledger) -> Counts:
    return Counts(ledger.read, ledger.accepted, ledger.quarantined)


def _path(location: TableLocation | None) -> str:
    assert location is not None
    return location.path


def _name(location: TableLocation | None) -> str:
    assert location is not None
    return location.name
