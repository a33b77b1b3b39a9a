"""What becomes of a run that is stopped from outside: nothing of it stays, and it ends with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakelogic.core.stopping import Stop
from lakelogic.record.journal import Batch, Journal
from lakelogic.run.staging import StagingArea, discard

if TYPE_CHECKING:
    # `pipeline` tells the story and calls this module; only its word for a run is needed here.
    from lakelogic.run.pipeline import Run


@contextmanager
def taken_back_when_stopped(run: Run, journal: Journal, batch: Batch, area: StagingArea) -> Iterator[None]:
    """A batch that is stopped before its publish leaves nothing behind.

    One that this run found unfinished stays so: what asked for it, a window for one, may be known to nobody else.
    """
    try:
        yield
    except Exception:
        reason = run.context.stop.requested
        if reason is not None and not run.resumed:
            journal.abandon(batch, reason.message)
            discard(area, batch.number, run.contract.dataset)
        raise


def error_of(stop: Stop, error: Exception) -> Exception:
    """What was broken off may fail with anything; that it was broken off is what matters."""
    reason = stop.requested
    return error if reason is None else reason.error()
