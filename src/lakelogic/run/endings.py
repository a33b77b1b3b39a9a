"""Runs that end before they publish: nothing to read, nothing in the window, a gate that said no."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakelogic.core.faults import fault_point
from lakelogic.core.window import Window
from lakelogic.record.journal import Batch, Journal
from lakelogic.run.accounts import Accounts
from lakelogic.run.outcome import gate_result, idle_result
from lakelogic.run.result import RunResult
from lakelogic.run.staging import StagingArea, discard
from lakelogic.run.windows import note_window

if TYPE_CHECKING:
    # `pipeline` tells the story and calls this module; only its word for a run is needed here.
    from lakelogic.run.pipeline import Run


def end_empty_window(run: Run, journal: Journal, batch: Batch, area: StagingArea, window: Window) -> RunResult:
    """A window without rows changes no table; that it was looked at is on record."""
    discard(area, batch.number, run.contract.dataset)
    result = idle_result(run, f"the source has no rows in the window {window}", batch)
    fault_point("after_run_log")
    journal.mark_committed(batch, note="no rows in the window")
    return result


def end_closed(run: Run, journal: Journal, batch: Batch, area: StagingArea, accounts: Accounts) -> RunResult:
    """A gate said no. On record first: a run that dies before the batch is given up only repeats this."""
    result = gate_result(run, batch, accounts)
    fault_point("after_run_log")
    journal.abandon(batch, "; ".join(accounts.closed_gates))
    discard(area, batch.number, run.contract.dataset)
    return result


def end_idle(run: Run, journal: Journal, reason: str) -> RunResult:
    """Nothing to read; that a window was looked at is on record."""
    if run.context.window is not None:
        note_window(journal, run.places, run.contract.dataset, run.context.window, run.holder)
    return idle_result(run, reason)
