"""Upkeep of a dataset's tables: what needs it by the evidence gets it, and everything says why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from loguru import logger

from lakelogic.contract.contract import Contract
from lakelogic.contract.materialization import Maintenance
from lakelogic.core.clock import Clock
from lakelogic.core.errors import PlanError
from lakelogic.core.settings import RUN_LOG_DAYS, Settings
from lakelogic.plan.lineage import PROCESSED_AT
from lakelogic.plan.upkeep import Finding, judge_count, judge_layout, judge_log
from lakelogic.record.control_table import compact_control_table, find_control_table
from lakelogic.record.run_retention import FORGET_ORDER, count_runs_before, forget_runs_before
from lakelogic.run.hold import OpenSpark, hold, locate, require_target
from lakelogic.run.pending import owned_folders
from lakelogic.run.places import Places
from lakelogic.run.resetting import companion
from lakelogic.table import spark_upkeep, upkeep
from lakelogic.table.adopt import find_table
from lakelogic.table.location import find_companions
from lakelogic.table.obstacles import adoption_obstacle

DEFAULT_RETENTION = timedelta(hours=168)
# A batch that was staged and given up; another dataset may be staging into the same folder right now.
ORPHAN_HOURS = 24
CONTROL_FILES = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of upkeep of one table: whether it was needed, the evidence, and what was done."""

    table: str
    action: str
    state: str  # done | needed (dry run) | not needed | not due | off | skipped
    evidence: str
    result: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "action": self.action,
            "state": self.state,
            "evidence": self.evidence,
            "result": dict(self.result),
        }


@dataclass(frozen=True, slots=True)
class Work:
    """What every step needs to know."""

    contract: Contract
    places: Places
    open_spark: OpenSpark
    now: datetime
    retention: timedelta
    dry_run: bool
    run_log_days: int = RUN_LOG_DAYS

    @property
    def rules(self) -> Maintenance:
        assert self.contract.materialization is not None
        return self.contract.materialization.maintenance or Maintenance()

    @property
    def hours(self) -> int:
        return int(self.retention.total_seconds() // 3600)


def maintain(
    contract: Contract,
    settings: Settings,
    open_spark: OpenSpark = None,
    *,
    dry_run: bool = False,
    short_retention: bool = False,
    wait_s: float = 0,
    clock: Clock | None = None,
) -> tuple[Step, ...]:
    """Look after target, quarantine and records of a contract; with `dry_run` only say what is needed."""
    places = locate(contract, settings, open_spark, ask=False)
    target, quarantine = require_target(contract, places)
    retention = _retention(contract, short=short_retention)
    with hold(contract, places, clock=clock, wait_s=wait_s, beside_held=True) as held:
        work = Work(contract, places, open_spark, held.now, retention, dry_run, settings.run_log_days)
        steps = [
            *_keep_table(work, "target", target.path),
            *[
                step
                for name, place in find_companions(target.path).items()
                for step in _keep_table(work, companion(name), place.path)
            ],
            *_keep_table(work, "quarantine", quarantine.path),
            *_keep_records(work),
        ]
    for step in steps:
        if step.state == "done":
            logger.info(f"{contract.dataset}: {step.action} of {step.table} ({step.evidence})")
    return tuple(steps)


def _retention(contract: Contract, *, short: bool) -> timedelta:
    assert contract.materialization is not None
    rules = contract.materialization.maintenance
    wanted = rules.vacuum_retain if rules and rules.vacuum_retain is not None else DEFAULT_RETENTION
    if wanted < DEFAULT_RETENTION and not short:
        raise PlanError(
            "maintenance.vacuum_retain is shorter than 168h: readers of older versions, and `reset`, would lose files",
            where=contract.at("materialization.maintenance.vacuum_retain"),
            hint="set 168h or more, or pass --short-retention if nobody reads older versions",
            code="LL370",
        )
    return wanted


def _keep_table(work: Work, name: str, path: str) -> Iterator[Step]:
    table = find_table(path)
    if table is None:
        yield Step(name, "all", "not needed", "there is no table yet")
        return
    obstacle = adoption_obstacle(table, overwrite=True)
    if obstacle is not None:
        yield from _keep_by_spark(work, name, path, obstacle)
        return
    if name == "quarantine" and work.contract.quarantine.retention is not None:
        yield _forget_old_rows(work, path, work.contract.quarantine.retention)
    yield _arrange_files(work, name, path)
    old = upkeep.list_old_files(_open(path), path, work.hours)
    finding = judge_count(len(old), f"files that no version of the last {work.hours} h needs")
    yield _step(work, name, "vacuum", finding, lambda: upkeep.remove_old_files(_open(path), work.hours))
    yield _remove_orphans(work, name, path)
    finding = judge_log(*upkeep.log_state(_open(path), path, work.now))
    yield _step(work, name, "log", finding, lambda: upkeep.trim_log(_open(path)))


def _open(path: str) -> Any:
    table = find_table(path)
    assert table is not None
    return table


def _step(work: Work, table: str, action: str, finding: Finding, act: Callable[[], Mapping[str, Any] | None]) -> Step:
    if not finding.needed or work.dry_run:
        return Step(table, action, finding.state, finding.evidence)
    return Step(table, action, "done", finding.evidence, act() or {})


def _layout(work: Work, name: str, path: str) -> tuple[Finding, tuple[str, ...]]:
    assert work.contract.materialization is not None
    table = _open(path)
    sort_by = (work.rules.zorder_by or work.contract.materialization.cluster_by) if name == "target" else ()
    finding = judge_layout(
        upkeep.list_data_files(table),
        upkeep.find_optimized(table),
        when=work.rules.optimize,
        sort_by=sort_by,
        target_bytes=upkeep.target_bytes(table),
        now=work.now,
    )
    return finding, sort_by


def _arrange_files(work: Work, name: str, path: str) -> Step:
    finding, sort_by = _layout(work, name, path)
    if sort_by:
        return _step(work, name, "zorder", finding, lambda: upkeep.sort_files(_open(path), sort_by, finding.partitions))
    return _step(work, name, "compact", finding, lambda: upkeep.compact(_open(path)))


def _forget_old_rows(work: Work, path: str, retention: timedelta) -> Step:
    cutoff = work.now - retention
    count = upkeep.count_rows_before(_open(path), PROCESSED_AT, cutoff)
    finding = judge_count(count, f"rows rejected before {cutoff:%Y-%m-%d %H:%M}Z")

    def forget() -> Mapping[str, Any]:
        return {"rows_deleted": upkeep.delete_rows_before(_open(path), PROCESSED_AT, cutoff)}

    return _step(work, "quarantine", "retention", finding, forget)


def _remove_orphans(work: Work, name: str, path: str) -> Step:
    """Files of batches that were staged, never committed and are owned by no batch that may still be."""
    owned = owned_folders(work.places.state)
    found = [
        file
        for file in upkeep.list_untracked(_open(path), ORPHAN_HOURS)
        if file.startswith(("batch-", "merge-"))
        and not os.path.basename(file).startswith(("_", "."))
        and file.split("/")[0] not in owned
    ]
    finding = judge_count(len(found), f"files of batches that were given up over {ORPHAN_HOURS} h ago")
    return _step(work, name, "orphans", finding, lambda: upkeep.remove_files(path, found))


def _keep_by_spark(work: Work, name: str, path: str, obstacle: str) -> Iterator[Step]:
    """Spark's own commands, for tables with a feature that delta-rs would break."""
    finding, sort_by = _layout(work, name, path)
    action = "zorder" if sort_by else "compact"
    if work.open_spark is None:
        yield Step(name, "all", "skipped", f"the table has {obstacle}, which only Spark looks after")
        return
    open_spark = work.open_spark
    yield _step(work, name, action, finding, lambda: spark_upkeep.optimize(open_spark(), path, sort_by))
    if owned_folders(work.places.state):
        # Spark would take the files of a batch that waits for its approval for files that nobody needs.
        yield Step(name, "vacuum", "skipped", "a batch that is not published yet has files there")
    else:
        due = Finding("needed", f"the table has {obstacle}; Spark looks for files older than {work.hours} h")
        yield _step(work, name, "vacuum", due, lambda: spark_upkeep.vacuum(open_spark(), path, work.hours))
    if name == "quarantine" and work.contract.quarantine.retention is not None:
        cutoff = work.now - work.contract.quarantine.retention
        old = Finding("needed", f"rows rejected before {cutoff:%Y-%m-%d %H:%M}Z, if any")
        yield _step(
            work, name, "retention", old, lambda: spark_upkeep.delete_before(open_spark(), path, PROCESSED_AT, cutoff)
        )


def _keep_records(work: Work) -> Iterator[Step]:
    assert work.places.state is not None and work.places.control is not None
    yield from _forget_runs(work, work.places.state)
    tables = {"journal": os.path.join(work.places.control, "journal")}
    tables |= {_log_name(name): os.path.join(work.places.state, name) for name in FORGET_ORDER}
    for name, path in tables.items():
        table = find_control_table(path)
        if table is None:
            continue
        files = len(table.file_uris())
        finding = Finding("needed" if files >= CONTROL_FILES else "not needed", f"{files} files")
        yield _step(work, name, "compact", finding, lambda table=table: compact_control_table(table))  # type: ignore[misc]


def _log_name(table: str) -> str:
    return f"run log ({table})"


def _forget_runs(work: Work, log: str) -> Iterator[Step]:
    """The log is one for all datasets of the folder, and so is how long it is kept."""
    if not work.run_log_days:
        yield Step("run log", "retention", "off", "LAKELOGIC_RUN_LOG_DAYS is 0")
        return
    cutoff = work.now - timedelta(days=work.run_log_days)
    for name in FORGET_ORDER:
        count = count_runs_before(log, name, cutoff)
        finding = judge_count(count, f"rows of runs before {cutoff:%Y-%m-%d %H:%M}Z")

        def forget(name: str = name) -> Mapping[str, Any]:
            return {"rows_deleted": forget_runs_before(log, name, cutoff)}

        yield _step(work, _log_name(name), "retention", finding, forget)
