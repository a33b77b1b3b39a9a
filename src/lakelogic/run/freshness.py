"""Freshness of upstreams: how long ago each was last known to be up to date, against what the contract allows.

An upstream is up to date at the moment of its last commit, and whenever a later run of it found nothing new. A run for
a window that had no rows says nothing about today. One that was never loaded, or was reset since, is stale.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from lakelogic.contract.contract import Contract
from lakelogic.contract.duration import render_duration
from lakelogic.contract.neighbours import UpstreamFreshness
from lakelogic.core.events import Event
from lakelogic.core.settings import Settings
from lakelogic.record.journal import open_journal
from lakelogic.record.run_log import RuleRecord, read_runs
from lakelogic.run.links import FindContract
from lakelogic.run.places import Places, find_places
from lakelogic.table.location import control_folder

# Runs for windows may stand between; more than these in a row without a plain one between is no daily business.
_LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class StaleUpstream:
    """An upstream that is older than it may be."""

    dataset: str
    rule: UpstreamFreshness
    age: timedelta | None  # None: it was never loaded

    @property
    def reason(self) -> str:
        limit = render_duration(self.rule.max_age)
        if self.age is None:
            return f"upstream `{self.dataset}` is stale: it was never loaded, or was reset since (max_age {limit})"
        return f"upstream `{self.dataset}` is stale: up to date {_told(self.age)} ago, and max_age is {limit}"

    @property
    def event(self) -> Event:
        age = self.age.total_seconds() if self.age is not None else None
        detail = {"upstream": self.dataset, "age_s": age, "max_age_s": self.rule.max_age.total_seconds()}
        return Event("stale_upstream", self.reason, "warning", detail)

    @property
    def gate(self) -> RuleRecord:
        age = self.age.total_seconds() if self.age is not None else None
        name, limit = f"upstream.{self.dataset}.freshness", self.rule.max_age.total_seconds()
        return RuleRecord(name, "gate", "error", passed=False, value=age, evaluated=True, maximum=limit)


@dataclass(frozen=True, slots=True)
class Freshness:
    """What the upstreams of a contract come to: it may go on, is stopped by a gate, or is skipped."""

    stale: tuple[StaleUpstream, ...] = ()

    def of(self, what: Literal["block", "warn", "skip"]) -> tuple[StaleUpstream, ...]:
        return tuple(each for each in self.stale if each.rule.on_stale == what)

    @property
    def status(self) -> Literal["gate_failed", "skipped"] | None:
        """How the run ends; None where it goes on. One that blocks wins over one that lets the contract be skipped."""
        return "gate_failed" if self.of("block") else "skipped" if self.of("skip") else None

    @property
    def reason(self) -> str:
        return "; ".join(each.reason for each in (self.of("block") or self.of("skip")))


def judge_upstreams(
    contract: Contract, settings: Settings, places: Places, find: FindContract, now: datetime
) -> Freshness:
    """Look at every upstream that has a freshness policy."""
    stale = []
    for upstream in contract.upstream:
        rule = upstream.freshness
        if rule is None:
            continue
        seen = _last_up_to_date(upstream.dataset, find(upstream.dataset), settings, places)
        age = now - seen if seen is not None else None
        if age is None or age > rule.max_age:
            stale.append(StaleUpstream(upstream.dataset, rule, age))
    return Freshness(tuple(stale))


def _last_up_to_date(dataset: str, contract: Contract | None, settings: Settings, own: Places) -> datetime | None:
    control, log = _folders(dataset, contract, settings, own)
    loaded = open_journal(control).last_load() if control is not None else None
    if loaded is None or log is None:
        return loaded
    idle = read_runs(log, dataset=dataset, status="no_new_data", limit=_LOOKED_AT)
    checks = [run.finished_at for run in idle if run.window_start is None and run.finished_at is not None]
    return max(loaded, *checks) if checks else loaded


def _folders(dataset: str, contract: Contract | None, settings: Settings, own: Places) -> tuple[str | None, str | None]:
    """Journal and run log of a dataset; of one that no registry knows they are looked for beside our own."""
    if contract is not None:
        places = find_places(contract, settings)
        return places.control, places.state
    if own.target is None:
        return None, None
    return control_folder(own.target, dataset, state=settings.state), own.state


def _told(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
