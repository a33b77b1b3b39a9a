"""Contracts of a pipeline run that left no record themselves: the run log tells of them too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import LakeLogicError
from lakelogic.core.stopping import NOT_STOPPED
from lakelogic.core.versions import find_version
from lakelogic.driver.outcome import Outcome
from lakelogic.driver.worker import Request
from lakelogic.record.run_log import RunRecord, append_records
from lakelogic.run.pipeline import new_run_id
from lakelogic.run.places import Places, find_places
from lakelogic.run.recording import describe_packs


def left_no_record(outcome: Outcome) -> bool:
    """Whether a run that was started could not put its own end on record: it never stopped."""
    return outcome.problem is not None and outcome.problem.code == NOT_STOPPED


def record_outcomes(
    outcomes: Iterable[Outcome], contracts: Mapping[str, Contract], request: Request, pipeline_run_id: str | None
) -> None:
    """Put them on record, all of one log in one commit: hundreds may be held back at once."""
    by_log: dict[str, list[RunRecord]] = {}
    for outcome in outcomes:
        contract = contracts[outcome.dataset]
        try:
            places = find_places(contract, request.settings)
        except LakeLogicError as error:
            _complain(outcome.dataset, error)
            continue
        if places.state is not None and places.target is not None:
            record = _record(outcome, contract, places, request, pipeline_run_id)
            by_log.setdefault(places.state, []).append(record)
    for log, records in by_log.items():
        try:
            append_records(log, records)
        except LakeLogicError as error:
            _complain(", ".join(record.dataset for record in records), error)


def _record(
    outcome: Outcome, contract: Contract, places: Places, request: Request, pipeline_run_id: str | None
) -> RunRecord:
    now, problem = request.clock.now(), outcome.problem
    return RunRecord(
        run_id=new_run_id(now),
        dataset=outcome.dataset,
        status=outcome.status,
        started_at=now,
        finished_at=now,
        duration_s=round(outcome.duration_s, 3),
        target=places.target.path if places.target else None,
        layer=contract.info.target_layer,
        engine=request.engine_of(contract),
        lakelogic_version=find_version("lakelogic"),
        contract_version=contract.version,
        policy_packs=describe_packs(contract),
        reason=outcome.reason,
        error_code=problem.code if problem else None,
        error_message=problem.message if problem else None,
        error_place=str(problem.place) if problem and problem.place else None,
        error_hint=problem.hint if problem else None,
        pipeline_run_id=pipeline_run_id,
    )


def _complain(who: str, error: LakeLogicError) -> None:
    """That it cannot be recorded must not stop the others."""
    logger.warning(f"'{who}' could not be recorded: {error.problem.message}")
