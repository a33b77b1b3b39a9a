"""Past runs of a contract, a registry or a folder, put together from the run log's tables."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lakelogic.contract.loader import load_contract
from lakelogic.core.errors import RunError
from lakelogic.core.settings import Settings
from lakelogic.driver.estate import read_estate
from lakelogic.driver.files import is_registry
from lakelogic.record.run_log import RuleRecord, RunRecord, read_events, read_rules, read_runs, read_steps
from lakelogic.run.places import find_places
from lakelogic.table.location import CONTROL_FOLDER

SHOWN_CANDIDATES = 10
_LEDGER_LINE = ("step", "rows_in", "rows_out", "removed", "added", "quarantined")
_CHANGES = ("inserted", "updated", "deleted", "ignored")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant."""

    dataset: str | None = None
    status: str | None = None
    since: datetime | None = None
    prefix: str | None = None  # of the run id
    limit: int | None = None  # the newest so many


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A run, the folder of the log that tells of it, and former attempts at it that failed."""

    record: RunRecord
    log: str
    earlier: tuple[RunRecord, ...] = ()

    def to_line(self) -> dict[str, Any]:
        """What a list shows of it."""
        record = self.record
        return {
            "started_at": record.started_at.isoformat(timespec="seconds"),
            "run_id": record.run_id,
            "dataset": record.dataset,
            "status": record.status,
            "read": record.rows_read,
            "accepted": record.rows_accepted,
            "quarantined": record.rows_quarantined,
            "duration_s": record.duration_s,
            "error_code": record.error_code,
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it; docs/reference/run_log.md promises this shape, every key in every answer."""
        record = self.record
        rules = read_rules(self.log, run_id=record.run_id, dataset=record.dataset)
        steps = read_steps(self.log, run_id=record.run_id, dataset=record.dataset)
        events = read_events(self.log, run_id=record.run_id, dataset=record.dataset)
        return {
            "run_id": record.run_id,
            "dataset": record.dataset,
            "status": record.status,
            "started_at": record.started_at.isoformat(),
            "finished_at": _moment(record.finished_at),
            "duration_s": record.duration_s or 0.0,
            "batch": record.batch,
            "layer": record.layer,
            "engine": record.engine,
            "engine_version": record.engine_version,
            "lakelogic_version": record.lakelogic_version,
            "contract_version": record.contract_version,
            "fingerprint": record.fingerprint,
            "policy_packs": json.loads(record.policy_packs) if record.policy_packs else [],
            "digest": record.digest,
            "approved_by": record.approved_by,
            "window": _window(record),
            "source": {
                "path": record.source,
                "slice": record.source_slice,
                "files": record.source_files,
                "bytes": record.source_bytes,
            },
            "reason": record.reason,
            "counts": {
                "read": record.rows_read or 0,
                "accepted": record.rows_accepted or 0,
                "quarantined": record.rows_quarantined or 0,
            },
            "changes": _changes(record),
            "ledger": [{name: getattr(step, name) for name in _LEDGER_LINE} for step in steps],
            "rules": [_row_rule(rule) for rule in rules if rule.scope == "row"],
            "dataset_rules": [_bounded(rule) for rule in rules if rule.scope == "dataset"],
            "gates": [_bounded(rule) for rule in rules if rule.scope == "gate"],
            "events": [asdict(event) for event in events],
            "target": {"path": record.target, "version": record.target_version},
            "quarantine": {"path": record.quarantine, "version": record.quarantine_version},
            "error": _error(record),
            "earlier_attempts": [_attempt(attempt) for attempt in self.earlier],
        }


def find_runs(where: Path, settings: Settings, wanted: RunFilter) -> list[LoggedRun]:
    """The runs of a contract, of the contracts of a registry, or of every log below a folder; newest first."""
    if not where.exists():
        raise RunError(f"`{where}` is not there", hint="name a contract, a registry or a folder", code="LL482")
    found = [
        LoggedRun(record, log)
        for log, datasets in _logs(where, settings)
        for record in read_runs(
            log,
            dataset=wanted.dataset,
            datasets=datasets,
            status=wanted.status,
            since=wanted.since,
            prefix=wanted.prefix,
            limit=wanted.limit,
        )
    ]
    found.sort(key=lambda run: run.record.started_at, reverse=True)
    return found[: wanted.limit]


def find_run(where: Path, settings: Settings, wanted: RunFilter) -> LoggedRun:
    """The one run whose id begins so; raises with the candidates where it is not one."""
    attempts: dict[tuple[str, str, str], list[LoggedRun]] = {}
    for run in find_runs(where, settings, wanted):
        attempts.setdefault((run.log, run.record.run_id, run.record.dataset), []).append(run)
    if len(attempts) != 1:
        raise _not_one(where, wanted.prefix or "", [runs[0].record for runs in attempts.values()])
    [runs] = attempts.values()
    # Attempts of one run have one start; the one that ended last says what became of it.
    ordered = sorted(runs, key=lambda run: run.record.finished_at or run.record.started_at)
    return LoggedRun(ordered[-1].record, ordered[-1].log, tuple(run.record for run in ordered[:-1]))


def _not_one(where: Path, prefix: str, found: list[RunRecord]) -> RunError:
    if not found:
        return RunError(f"no run `{prefix}` in {where}", hint=f"`lakelogic runs {where}` lists them", code="LL480")
    lines = [
        f"{run.run_id}  {run.dataset}, {run.status}, {run.started_at:%Y-%m-%d %H:%M}Z"
        for run in found[:SHOWN_CANDIDATES]
    ]
    more = [f"and {len(found) - SHOWN_CANDIDATES} more"] if len(found) > SHOWN_CANDIDATES else []
    hint = "\n        ".join(["write more of the id, or name the --dataset:", *lines, *more])
    return RunError(f"{len(found)} runs begin with `{prefix}`", hint=hint, code="LL480")


def _logs_below(folder: str) -> Iterator[str]:
    for place, names, _ in os.walk(folder):
        if "_delta_log" in names:
            names.clear()  # a table; there may be millions of files below it, and no log
        elif CONTROL_FOLDER in names:
            names.remove(CONTROL_FOLDER)
            log = os.path.join(place, CONTROL_FOLDER)
            if os.path.isdir(os.path.join(log, "runs", "_delta_log")):
                yield log


def _logs(where: Path, settings: Settings) -> list[tuple[str, Collection[str] | None]]:
    """Folders of logs, each with the datasets that are meant; None: all of them."""
    if where.is_dir():
        return [(log, None) for log in sorted(_logs_below(str(where)))]
    if is_registry(where):
        contracts = read_estate([where], env=settings.env, settings=settings, checked=False).contracts
    else:
        contracts = (load_contract(where, env=settings.env),)
    logs: dict[str, set[str]] = {}
    for contract in contracts:
        places = find_places(contract, settings)
        if places.state is not None:
            logs.setdefault(places.state, set()).add(contract.dataset)
    if not logs:
        raise RunError(f"`{where}` has no target, so it leaves no run log", code="LL482")
    return sorted(logs.items())


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _window(record: RunRecord) -> dict[str, Any] | None:
    if record.window_start is None:
        return None
    return {
        "start": _moment(record.window_start),
        "end": _moment(record.window_end),
        "zone": record.window_zone,
    }


def _changes(record: RunRecord) -> dict[str, int] | None:
    if record.rows_inserted is None:
        return None
    return {what: getattr(record, f"rows_{what}") or 0 for what in _CHANGES}


def _row_rule(rule: RuleRecord) -> dict[str, Any]:
    ratio = rule.failed / rule.judged if rule.failed is not None and rule.judged else None
    names = ("name", "category", "severity", "phase", "evaluated", "judged", "failed")
    return {**{name: getattr(rule, name) for name in names}, "ratio": ratio, "passed": rule.passed}


def _bounded(rule: RuleRecord) -> dict[str, Any]:
    names = ("name", "severity", "evaluated", "value", "minimum", "maximum", "passed")
    return {name: getattr(rule, name) for name in names}


def _error(record: RunRecord) -> dict[str, Any] | None:
    if record.error_code is None:
        return None
    return {
        "code": record.error_code,
        "message": record.error_message,
        "place": record.error_place,
        "hint": record.error_hint,
    }


def _attempt(record: RunRecord) -> dict[str, Any]:
    return {"status": record.status, "finished_at": _moment(record.finished_at), "error": _error(record)}
