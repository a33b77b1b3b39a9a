"""Processes with a Spark of their own: ended as an orchestrator ends them (trap 21), and started twice at once."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.faults.support import FIRST, SECOND, make_estate, visible

pytestmark = [pytest.mark.kill, pytest.mark.spark]

GRACE_S = 30  # what Kubernetes leaves between SIGTERM and SIGKILL; a publish that is under way is let finish
START_S = 120


def test_a_run_that_is_told_to_end_does_so_in_time_and_two_at_once_write_its_rows_once(
    tmp_path: Path, spark_session: Any
) -> None:
    calm = make_estate(tmp_path / "calm", "spark", "merge", spark_session)
    estate = make_estate(tmp_path / "ended", "spark", "merge", spark_session)
    for one in (calm, estate):
        one.drop("first.csv", FIRST)
        one.run()
        one.drop("second.csv", SECOND)
    calm.run()
    # The signal comes when its Spark is up and has begun to write.
    process = estate.start(start_new_session=True)
    staged = estate.folder / "lake/orders"
    _wait(lambda: any("-00000002-" in path.name for path in staged.iterdir()), START_S, process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=GRACE_S)
    _wait(lambda: not _group_lives(process.pid), GRACE_S, None)

    both = [estate.start("--wait", "200"), estate.start("--wait", "200")]
    for one in both:
        _, errors = one.communicate(timeout=240)
        assert one.returncode == 0, errors.decode()[-2000:]
    assert visible(estate) == visible(calm)


def _wait(ready: Callable[[], bool], limit_s: float, process: subprocess.Popen[bytes] | None) -> None:
    deadline = time.monotonic() + limit_s
    while not ready():
        assert process is None or process.poll() is None, "the process ended by itself"
        assert time.monotonic() < deadline, f"waited {limit_s} s in vain"
        time.sleep(0.02)


def _group_lives(group: int) -> bool:
    """Whether a process of the group is left: a JVM that outlived its Python could go on writing."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
