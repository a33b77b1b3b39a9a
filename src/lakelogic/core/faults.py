"""Named points at which a test can stop the process, to prove that a rerun repairs what was left.

``LAKELOGIC_FAULT=<point>[:<nth>]`` ends the process with SIGKILL when the point is reached for the nth time
(default 1); with ``LAKELOGIC_FAULT_MODE=raise`` it raises OSError instead, as a failing disk would, and with ``term``
it sends itself SIGTERM and goes on, as an orchestrator would have it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter

# In the order in which a run reaches them.
FAULT_POINTS = (
    "after_lock",
    "after_prepare",
    "after_stage",
    "after_quarantine_files",
    "after_mark_staged",
    "before_quarantine_commit",
    "after_quarantine_commit",
    "before_target_commit",
    "after_target_commit",
    "during_run_log",
    "after_run_log",
    "after_mark_committed",
)
# Between the tables of the run log; `during_run_log` comes before them.
LOG_FAULT_POINTS = ("after_logged_steps", "after_logged_events")
# Reached only by batches that bring deletes.
DELETE_FAULT_POINTS = ("after_deletes_commit",)
# Reached by merges of engines without a JVM, which write the files of a commit themselves.
MERGE_FAULT_POINTS = ("after_merge_files",)
# Reached by strategy scd2 only, between the commits of quarantine and target.
HISTORY_FAULT_POINTS = ("after_history_scratch", "after_store_commit", "after_history_files")
# Reached by batches that are held for an approval: by the run that holds them, by the one that finds the approval,
# and while one is discarded.
HOLD_FAULT_POINTS = ("after_mark_held", "after_approval")
DISCARD_FAULT_POINTS = ("after_mark_discarded", "after_discarded_files")
_KNOWN = (
    *FAULT_POINTS,
    *LOG_FAULT_POINTS,
    *DELETE_FAULT_POINTS,
    *MERGE_FAULT_POINTS,
    *HISTORY_FAULT_POINTS,
    *HOLD_FAULT_POINTS,
    *DISCARD_FAULT_POINTS,
)

_reached: Counter[str] = Counter()
_counting = threading.Lock()


def fault_point(name: str) -> None:
    """Do nothing, unless the environment asks for a fault right here."""
    if name not in _KNOWN:
        raise ValueError(f"unknown fault point `{name}`; known: {', '.join(_KNOWN)}")
    wanted = os.environ.get("LAKELOGIC_FAULT")
    if not wanted:
        return
    point, _, nth = wanted.partition(":")
    if point not in _KNOWN:
        raise ValueError(f"LAKELOGIC_FAULT names no fault point: `{point}`; known: {', '.join(_KNOWN)}")
    if point != name:
        return
    with _counting:
        _reached[name] += 1
        if _reached[name] != int(nth or 1):
            return
    mode = os.environ.get("LAKELOGIC_FAULT_MODE")
    if mode == "raise":
        raise OSError(f"fault injected at {name}")
    os.kill(os.getpid(), signal.SIGTERM if mode == "term" else signal.SIGKILL)
