"""Parts of a manifest as JSON values: staged files and ledgers, there and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lakelogic.plan.files import StagedFile
from lakelogic.record.ledger import Ledger, LedgerStep


def encode_files(files: Iterable[StagedFile]) -> list[dict[str, Any]]:
    """Staged files as JSON values."""
    return [asdict(file) for file in files]


def decode_files(nodes: Sequence[Mapping[str, Any]]) -> tuple[StagedFile, ...]:
    """The staged files that `encode_files` wrote."""
    return tuple(StagedFile(**node) for node in nodes)


def encode_ledger(ledger: Ledger) -> dict[str, Any]:
    """A ledger as a JSON value."""
    return asdict(ledger)


def decode_ledger(node: Mapping[str, Any]) -> Ledger:
    """The ledger that `encode_ledger` wrote."""
    steps = tuple(LedgerStep(**step) for step in node["steps"])
    return Ledger(steps, read=node["read"], accepted=node["accepted"], quarantined=node["quarantined"])
