"""Approvals: whether a closed gate may be opened by somebody, and whether somebody did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakelogic.core.events import Event
from lakelogic.record.approval_file import Approval, read_approvals
from lakelogic.record.journal import Batch

# What the manifest of a batch says of it under `extra`.
HELD, APPROVED = "held", "approved"
# Gates that are limits, which somebody may let a batch pass for once. The others (`source.malformed: fail`,
# `quarantine.fail_on_quarantine`) say that such rows are never published, and stay closed.
APPROVABLE = ("quality.max_quarantine_ratio", "merge.max_delete_ratio")
DRIFT_GATE = "schema_drift"
DRIFT_EVENTS = frozenset((
    "suspected_rename", "missing_column", "unknown_columns", "changed_type",  # the source against the contract
    "new_column", "widened_column", "absent_column",  # the batch against the target
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Approvals:
    """What the operator said: whether batches behind a closed gate are held, and the file that may release them."""

    required: bool = False
    file: str | None = None

    def find(self, batch: HeldBatch, now: datetime) -> tuple[Approval | None, tuple[str, ...]]:
        """The approval of a held batch; else why there is none."""
        entries = read_approvals(self.file) if self.file else ()
        mine = [entry for entry in entries if entry.dataset == batch.dataset]
        refusals = []
        for entry in mine:
            refusal = _refusal(entry, batch, now)
            if refusal is None:
                return entry, ()
            refusals.append(refusal)
        if not refusals and self.file:
            refusals.append(f"`{self.file}` has no approval of `{batch.dataset}`")
        return None, tuple(refusals)


def _refusal(entry: Approval, batch: HeldBatch, now: datetime) -> str | None:
    if entry.run_id != batch.run_id:
        return f"the approval of {entry.approver} is for another run, {entry.run_id}"
    if entry.digest != batch.digest:
        return f"the approval of {entry.approver} is for another digest, {entry.digest}, than what is held"
    if entry.expires <= now:
        return f"the approval of {entry.approver} expired at {entry.expires:%Y-%m-%d %H:%M}Z"
    return None


@dataclass(frozen=True, slots=True)
class HeldBatch:
    """A batch that is staged and waits for somebody to approve or discard it."""

    dataset: str
    run_id: str
    batch: int
    digest: str
    reasons: tuple[str, ...]
    held_at: str
    refusals: tuple[str, ...] = ()  # why approvals that are there do not release it

    @property
    def reason(self) -> str:
        return "; ".join(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "run_id": self.run_id,
            "batch": self.batch,
            "digest": self.digest,
            "reasons": list(self.reasons),
            "held_at": self.held_at,
            "refusals": list(self.refusals),
        }


def describe_held(dataset: str, batch: Batch, refusals: Sequence[str] = ()) -> HeldBatch:
    """A held batch as the journal has it."""
    assert batch.manifest is not None
    told = batch.manifest["extra"][HELD]
    digest = digest_of(dataset, batch)
    return HeldBatch(
        dataset, batch.run_id, batch.number, digest, tuple(told["reasons"]), told["held_at"], tuple(refusals)
    )


def digest_of(dataset: str, batch: Batch) -> str:
    """A digest of everything that publishing the batch would do; what is known about its approval is no part of it."""
    assert batch.manifest is not None
    published = {name: value for name, value in batch.manifest.items() if name != "extra"}
    about = {"dataset": dataset, "run_id": batch.run_id, "batch": batch.number, "manifest": published}
    return "sha256:" + hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def mark_approved(manifest: Mapping[str, Any], approval: Approval, digest: str, now: datetime) -> dict[str, Any]:
    """The manifest with the approval that lets it be published."""
    told = {"by": approval.approver, "expires": approval.expires.isoformat(), "digest": digest, "at": now.isoformat()}
    return {**manifest, "extra": {**manifest["extra"], APPROVED: told}}


def new_drift(events: Iterable[Event], known: Iterable[Event] | None) -> tuple[str, ...]:
    """Drift that was not there before; what readers have of it already needs nobody's leave again.

    `known` is what the last run that published had noticed. Before the first one (None) columns that the contract
    leaves out are no drift: nothing has changed yet.
    """
    seen = {_identity(event) for event in known or ()}
    fresh = [event for event in events if event.kind in DRIFT_EVENTS and _identity(event) not in seen]
    told = [event for event in fresh if known is not None or event.severity != "info"]
    return tuple(dict.fromkeys(f"schema drift: {event.message}" for event in told))


def _identity(event: Event) -> str:
    return json.dumps([event.kind, dict(event.detail)], sort_keys=True)
