"""One run of a dataset at a time: an advisory lock on a file in the control folder.

The kernel holds the lock, so a process that dies, however it dies, frees it; nobody has to judge whether a
holder is still alive. The file says who holds it, for the message to the one who waits.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.record.journal import Holder

HELD = "LL410"
_POLL_S = 0.05
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(slots=True)
class Lock:
    """A lock that is held until it is released or the process ends; also a context manager."""

    _descriptor: int | None

    def release(self) -> None:
        """Let the next one in; a second call does nothing."""
        if self._descriptor is None:
            return
        # The file stays: a waiter may have it open, and a new file would be another lock.
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def acquire(folder: str, holder: Holder, *, wait_s: float = 0) -> Lock:
    """Take the lock of a control folder within `wait_s`, or raise RunError that names the holder."""
    if _SCHEME.match(folder):
        raise CapabilityError(
            f"a lock in `{folder}` is not supported yet",
            hint="set LAKELOGIC_STATE to a local folder for the journal and the run log",
        )
    descriptor = _open(folder)
    deadline = time.monotonic() + wait_s
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline:
            text = _read(descriptor)
            os.close(descriptor)
            raise _held(text)
        time.sleep(_POLL_S)
    _write(descriptor, holder)
    return Lock(descriptor)


def _open(folder: str) -> int:
    try:
        os.makedirs(folder, exist_ok=True)
        return os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RunError(
            f"the control folder `{folder}` cannot be written: {error.strerror}",
            code="LL411",
            hint="check its permissions, or set LAKELOGIC_STATE to another folder",
        ) from error


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(descriptor: int, holder: Holder) -> None:
    node = {
        "host": holder.host,
        "pid": holder.pid,
        "run_id": holder.run_id,
        "started_at": holder.started_at.isoformat(),
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(node).encode(), 0)


def _read(descriptor: int) -> dict[str, Any]:
    try:
        node = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        # The holder took the lock a moment ago and has not written its name yet.
        return {}
    return node if isinstance(node, dict) else {}


def _held(node: dict[str, Any]) -> RunError:
    who = (
        f"run `{node['run_id']}` (process {node['pid']} on {node['host']}, since {node['started_at']})"
        if node
        else "another process"
    )
    return RunError(
        f"the dataset is being written by {who}",
        code=HELD,
        hint="wait for it to end, or stop it; the lock frees itself when the process ends",
        retryable=True,
    )
