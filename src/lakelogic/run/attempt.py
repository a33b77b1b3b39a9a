"""One try at a run: which it is, which pipeline run it belongs to, and who may stop it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from lakelogic.core.stopping import Stop

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try; the first of a run has number 1."""

    number: int = 1
    pipeline_run_id: str | None = None
    stop: Stop = field(default_factory=Stop)


class Guard(Protocol):
    """Whoever has a run tried, maybe more than once and in another thread."""

    lost: bool  # an attempt did not stop; what it uses must be left alone

    def run(self, work: Callable[[Attempt], Result], interrupt: Callable[[], None]) -> Result:
        """Do the work; `interrupt` breaks off what it is doing, and may be called by another thread."""

    def close(self) -> None: ...
