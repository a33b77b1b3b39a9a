"""What a run leaves in the run log, whatever became of it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import GateError, LakeLogicError, Problem
from lakelogic.core.events import Event
from lakelogic.core.redaction import redact
from lakelogic.core.slices import FileSlice, describe_slice
from lakelogic.core.stopping import INTERRUPTED
from lakelogic.core.versions import find_engine_version, find_version
from lakelogic.record.journal import Batch
from lakelogic.record.ledger import Ledger
from lakelogic.record.run_log import RuleRecord, RunRecord, Status, append_run
from lakelogic.run.approvals import APPROVED
from lakelogic.run.manifest import Manifest
from lakelogic.run.result import RunResult

if TYPE_CHECKING:
    # `pipeline` tells the story and calls this module; only its word for a run is needed here.
    from lakelogic.run.pipeline import Run

# A source or a table does not look as the contract says.
SCHEMA_CODES = ("LL32", "LL33")
GATE_HINT = "nothing was published, and the next run reads the same again; mend the source, or the contract"

HELD_CODE, STALE_CODE = "LL501", "LL503"
STALE_HINT = "run the upstream first, or look at `upstream.*.freshness`"
HELD_HINT = "`lakelogic approvals list` shows it; approve it, and run again with --approval-file, or discard it"


def record_published(run: Run, result: RunResult, manifest: Manifest, batch: Batch) -> None:
    """The run of a committed batch."""
    record = _record(run, result.status, batch=batch, ledger=manifest.ledger, result=result)
    approval = manifest.extra.get(APPROVED)
    if approval is not None:
        record = replace(record, digest=approval["digest"], approved_by=approval["by"])
    _append(run, record, manifest.rules, manifest.ledger, manifest.events)


def record_held(run: Run, result: RunResult, manifest: Manifest, batch: Batch) -> None:
    """A batch that waits for an approval: all its numbers, and what would be approved."""
    assert result.held is not None
    problem = Problem(HELD_CODE, f"held for an approval: {result.reason}", None, HELD_HINT)
    record = _record(run, "held", batch=batch, ledger=manifest.ledger, result=result, problem=problem)
    _append(run, replace(record, digest=result.held.digest), manifest.rules, manifest.ledger, manifest.events)


def record_idle(run: Run, result: RunResult, batch: Batch | None = None) -> None:
    """A run that had nothing to do; `batch` is of a window that has no rows."""
    _append(run, _record(run, result.status, batch=batch, result=result), events=result.events)


def record_stale(run: Run, result: RunResult, gates: Sequence[RuleRecord]) -> None:
    """A run that a stale upstream stopped before it read anything."""
    problem = Problem(STALE_CODE, result.reason or "", None, STALE_HINT) if result.status == "gate_failed" else None
    _append(run, _record(run, result.status, result=result, problem=problem), gates, events=result.events)


def record_gate(
    run: Run, result: RunResult, batch: Batch, ledger: Ledger, rules: Sequence[RuleRecord], hint: str | None
) -> None:
    """A run that a gate stopped: all its numbers, and what was wrong with them."""
    problem = Problem(GateError.default_code, result.reason or "a gate said no", None, hint or GATE_HINT)
    record = _record(run, result.status, batch=batch, ledger=ledger, result=result, problem=problem)
    _append(run, record, rules, ledger, result.events)


def record_failure(run: Run, error: Exception) -> None:
    """A run that failed is on record too; that the record cannot be written must not hide why it failed."""
    if isinstance(error, LakeLogicError):
        problems = error.problems
    else:
        # Not the text of an unexpected error: a library may quote a row or a key in it.
        problems = (Problem(LakeLogicError.default_code, f"unexpected {type(error).__name__}"),)
    stopped = problems[0].code == INTERRUPTED
    record = _record(run, "interrupted" if stopped else "failed", problem=problems[0])
    try:
        append_run(_log(run), record, events=_refusals(problems))
    except LakeLogicError as second:
        logger.warning(f"The failed run could not be recorded: {second.problem.message}")


def _refusals(problems: Sequence[Problem]) -> tuple[Event, ...]:
    """A schema that was refused is drift too, and is remembered as such."""
    refused = [problem for problem in problems if problem.code.startswith(SCHEMA_CODES)]
    return tuple(Event("schema_refused", problem.message, "error", {"code": problem.code}) for problem in refused)


def _append(
    run: Run,
    record: RunRecord,
    rules: Sequence[RuleRecord] = (),
    ledger: Ledger | None = None,
    events: Sequence[Event] = (),
) -> None:
    steps = ledger.steps if ledger else ()
    append_run(_log(run), record, rules=rules, steps=steps, events=events, resumed=run.resumed)


def _log(run: Run) -> str:
    assert run.places.state is not None
    return run.places.state


def _record(
    run: Run,
    status: Status,
    *,
    batch: Batch | None = None,
    ledger: Ledger | None = None,
    result: RunResult | None = None,
    problem: Problem | None = None,
) -> RunRecord:
    return RunRecord(
        run_id=run.run_id,
        dataset=run.contract.dataset,
        status=status,
        started_at=run.started_at,
        finished_at=run.context.clock.now(),
        duration_s=round(time.monotonic() - run.begun, 3),
        layer=run.contract.info.target_layer,
        engine=run.context.engine_name,
        engine_version=find_engine_version(run.context.engine_name),
        lakelogic_version=find_version("lakelogic"),
        contract_version=run.contract.version,
        policy_packs=describe_packs(run.contract),
        reason=result.reason if result else None,
        pipeline_run_id=run.context.attempt.pipeline_run_id,
        attempt=run.context.attempt.number,
        **_numbers(ledger, result),
        **_input(run, batch),
        **_output(run, result),
        **_problem(problem),
    )


def describe_packs(contract: Contract) -> str | None:
    """The policy packs of a contract, as the run log keeps them."""
    packs = [asdict(pack) for pack in contract.policy_packs]
    return json.dumps(packs, ensure_ascii=False) if packs else None


def _numbers(ledger: Ledger | None, result: RunResult | None) -> dict[str, Any]:
    changes = result.changes if result else None
    return {
        "rows_read": ledger.read if ledger else None,
        "rows_accepted": ledger.accepted if ledger else None,
        "rows_quarantined": ledger.quarantined if ledger else None,
        "rows_inserted": changes.inserted if changes else None,
        "rows_updated": changes.updated if changes else None,
        "rows_deleted": changes.deleted if changes else None,
        "rows_ignored": changes.ignored if changes else None,
    }


def _input(run: Run, batch: Batch | None) -> dict[str, Any]:
    """What the run was to read: window, source and slice."""
    window = run.context.window
    read = batch.slice if batch else None
    files = read.files if isinstance(read, FileSlice) else None
    return {
        "window_start": window.start if window else None,
        "window_end": window.end if window else None,
        "window_zone": window.zone if window else None,
        "source": redact(run.places.source or _remote_source(run) or "") or None,
        "source_slice": describe_slice(read) if read else None,
        "source_files": len(files) if files is not None else None,
        "source_bytes": sum(file.size for file in files) if files is not None else None,
        "batch": batch.number if batch else None,
        "fingerprint": batch.fingerprint if batch else None,
    }


def _remote_source(run: Run) -> str | None:
    """A source that has no path; never its address, which may have a password in it."""
    source = run.contract.source
    if source is None:
        return None
    if source.kafka is not None:
        return f"kafka topic {source.kafka.topic}"
    if source.database is not None:
        return f"database table {source.database.table}" if source.database.table else "database query"
    return None


def _output(run: Run, result: RunResult | None) -> dict[str, Any]:
    target, quarantine = run.places.target, run.places.quarantine
    return {
        "target": target.path if target else None,
        "target_version": result.target.version if result and result.target else None,
        "quarantine": quarantine.path if quarantine else None,
        "quarantine_version": result.quarantine.version if result and result.quarantine else None,
    }


def _problem(problem: Problem | None) -> dict[str, Any]:
    if problem is None:
        return {}
    return {
        "error_code": problem.code,
        "error_message": redact(problem.message),
        "error_place": str(problem.place) if problem.place else None,
        "error_hint": redact(problem.hint) if problem.hint else None,
    }
