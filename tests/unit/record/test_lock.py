"""Two runs of one dataset never hold the lock at once, and a dead one frees it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.record.journal import Holder
from lakelogic.record.lock import acquire

HOLDER = Holder("host-a", 4711, "run-1", datetime(2026, 3, 28, tzinfo=UTC))
CHILD = """
import sys, time
from datetime import UTC, datetime
from lakelogic.record.journal import Holder
from lakelogic.record.lock import acquire
lock = acquire(sys.argv[1], Holder("child-host", 1, "child-run", datetime.now(UTC)))
print("held", flush=True)
time.sleep(60)
"""


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    with acquire(str(tmp_path), HOLDER), pytest.raises(RunError) as caught:
        acquire(str(tmp_path), Holder("host-b", 1, "run-2", HOLDER.started_at))
    text = str(caught.value)
    assert "run-1" in text and "4711" in text and "host-a" in text
    assert caught.value.problem.code == "LL410"
    assert caught.value.retryable


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    lock = acquire(str(tmp_path / "new" / "folder"), HOLDER)
    lock.release()
    lock.release()
    with acquire(str(tmp_path / "new" / "folder"), HOLDER):
        pass


def test_waiting_ends_with_the_error(tmp_path: Path) -> None:
    with acquire(str(tmp_path), HOLDER):
        began = time.monotonic()
        with pytest.raises(RunError):
            acquire(str(tmp_path), HOLDER, wait_s=0.2)
        assert time.monotonic() - began >= 0.2


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(RunError, match="child-run"):
            acquire(str(tmp_path), HOLDER)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    with acquire(str(tmp_path), HOLDER, wait_s=5):
        pass


def test_a_remote_folder_is_refused() -> None:
    with pytest.raises(CapabilityError, match="not in a store"):
        acquire("hdfs://bucket/_lakelogic/x", HOLDER)
