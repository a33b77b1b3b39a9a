"""Past runs of a contract or of a folder, put together from the run log's tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lakelogic.contract.loader import load_contract
from lakelogic.core.errors import RunError
from lakelogic.core.settings import Settings
from lakelogic.record.events import read_events
from lakelogic.record.run_log import RunRecord, read_rules, read_runs, read_steps
from lakelogic.run.places import find_places
from lakelogic.table.location import CONTROL_FOLDER

_LEDGER_LINE = ("step", "rows_in", "rows_out", "removed", "added", "quarantined")


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A run, and the folder of the log that tells of it."""

    record: RunRecord
    log: str

    @property
    def run_id(self) -> str:
        return self.record.run_id

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
        """All of it, with the keys that `run --output json` has, and those that only the log knows."""
        record = self.record
        steps = read_steps(self.log, run_id=record.run_id, dataset=record.dataset)
        rules = read_rules(self.log, run_id=record.run_id, dataset=record.dataset)
        return {
            "run_id": record.run_id,
            "dataset": record.dataset,
            "status": record.status,
            "counts": {
                "read": record.rows_read or 0,
                "accepted": record.rows_accepted or 0,
                "quarantined": record.rows_quarantined or 0,
            },
            "ledger": [{name: getattr(step, name) for name in _LEDGER_LINE} for step in steps],
            "target": {"path": record.target, "version": record.target_version},
            "quarantine": {"path": record.quarantine, "version": record.quarantine_version},
            "rules": [{"name": rule.name, "failed": rule.failed} for rule in rules if rule.scope == "row"],
            "dataset_rules": [{"name": rule.name, "passed": rule.passed} for rule in rules if rule.scope == "dataset"],
            "events": [asdict(event) for event in read_events(self.log, run_id=record.run_id, dataset=record.dataset)],
            "duration_s": record.duration_s or 0.0,
            "started_at": record.started_at.isoformat(),
            "engine": record.engine,
            "contract_version": record.contract_version,
            "reason": record.reason,
            "error": {"code": record.error_code, "message": record.error_message} if record.error_code else None,
        }


def find_runs(where: Path, settings: Settings, *, limit: int | None = None) -> list[LoggedRun]:
    """The newest runs of one contract, or of every log below a folder."""
    if not where.exists():
        raise RunError(f"`{where}` is not there", hint="name a contract or a folder", code="LL482")
    if where.is_dir():
        logs = [str(found.parent.parent) for found in where.rglob(f"{CONTROL_FOLDER}/runs/_delta_log")]
        found = [LoggedRun(record, log) for log in sorted(logs) for record in read_runs(log, limit=limit)]
    else:
        log, dataset = _log_of_contract(where, settings)
        found = [LoggedRun(record, log) for record in read_runs(log, dataset=dataset, limit=limit)]
    found.sort(key=lambda run: run.record.started_at, reverse=True)
    return found[:limit]


def _log_of_contract(path: Path, settings: Settings) -> tuple[str, str]:
    contract = load_contract(path, env=settings.env)
    places = find_places(contract, settings)
    if places.state is None:
        raise RunError(f"`{path}` has no target, so it leaves no run log", code="LL482")
    return places.state, contract.dataset
