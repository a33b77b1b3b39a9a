"""One run of a dataset at a time: an advisory lock on a file in the control folder; on a store, a lease.

The kernel holds the lock, so a process that dies, however it dies, frees it; nobody has to judge whether a
holder is still alive. The file says who holds it, for the message to the one who waits.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from lakelogic.core.errors import RunError
from lakelogic.record.holders import HELD, Holder, held_error
from lakelogic.record.lease import acquire_lease
from lakelogic.storage.address import is_remote

__all__ = ["HELD", "Lock", "acquire"]
_POLL_S = 0.05


class _Held(Protocol):
    def confirm(self) -> None: ...

    def release(self) -> None: ...


@dataclass(slots=True)
class Lock:
    """A lock that is held until it is released or the process ends; also a context manager."""

    _held: _Held

    def confirm(self) -> None:
        """Raise where the lock was lost; a kernel takes none away, an object store may."""
        self._held.confirm()

    def release(self) -> None:
        """Let the next one in; a second call does nothing."""
        self._held.release()

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@dataclass(slots=True)
class _FileLock:
    """The lock of a file that is open."""

    _descriptor: int | None

    def confirm(self) -> None:
        return

    def release(self) -> None:
        if self._descriptor is None:
            return
        # The file stays: a waiter may have it open, and a new file would be another lock.
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = None


def acquire(folder: str, holder: Holder, *, wait_s: float = 0, sleep: Callable[[float], None] = time.sleep) -> Lock:
    """Take the lock of a control folder within `wait_s`, or raise RunError that names the holder.

    `sleep` passes the time until it is tried again; it may raise, which ends the waiting.
    """
    if is_remote(folder):
        return Lock(acquire_lease(folder, holder, wait_s=wait_s, sleep=sleep))
    descriptor = _open(folder)
    deadline = time.monotonic() + wait_s
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline:
            text = _read(descriptor)
            os.close(descriptor)
            raise held_error(text, "the lock frees itself when the process ends")
        try:
            sleep(_POLL_S)
        except BaseException:
            os.close(descriptor)
            raise
    _write(descriptor, holder)
    return Lock(_FileLock(descriptor))


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
