"""Who works on a dataset, and what the one who must wait is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakelogic.core.errors import RunError

HELD = "LL410"


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that works on a batch."""

    host: str
    pid: int
    run_id: str
    started_at: datetime


def held_error(node: Mapping[str, Any], how_it_ends: str) -> RunError:
    """The dataset is taken; `node` describes the holder, and is empty where it has not said who it is yet."""
    who = (
        f"run `{node['run_id']}` (process {node['pid']} on {node['host']}, since {node['started_at']})"
        if node
        else "another process"
    )
    return RunError(
        f"the dataset is being written by {who}",
        code=HELD,
        hint=f"wait for it to end, or stop it; {how_it_ends}",
        retryable=True,
    )
