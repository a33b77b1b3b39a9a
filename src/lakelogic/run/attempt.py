"""One try at a run: which it is, which pipeline run it belongs to, and who may stop it."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakelogic.core.stopping import Stop


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try; the first of a run has number 1."""

    number: int = 1
    pipeline_run_id: str | None = None
    stop: Stop = field(default_factory=Stop)
