"""The lock of a dataset on an object store: one object that is only ever written over the version that was seen.

Nobody can hold a file open on a store, so a holder says again and again that it is alive: it rewrites the object every
few seconds. Where nobody did for as long as a lease lasts, by the clock of the store alone, the holder is dead and the
next one takes over. A holder whose process ran on this very machine, and is gone, is dead at once.

A holder that was asleep for longer than its lease finds out before it records anything (`confirm`). What it may have
under way at that moment is stopped by the tables: a batch is committed under its number, once, whoever does it.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from loguru import logger

from lakelogic.core.errors import LakeLogicError, RunError
from lakelogic.record.holders import Holder, held_error
from lakelogic.storage.address import parse_address
from lakelogic.storage.objects import Tag, delete_objects, find_object, read_object, write_object

LEASE_S = 60.0
RENEW_S = 15.0
_POLL_S = 0.5
_FREE = b"{}"


@dataclass(slots=True)
class Lease:
    """A lock that is held until it is released; renewed in the background."""

    path: str
    body: bytes
    tag: Tag
    _renewed: float = field(default_factory=time.monotonic)
    _lost: bool = False
    _over: threading.Event = field(default_factory=threading.Event)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> Lease:
        threading.Thread(target=self._keep, name="lakelogic-lease", daemon=True).start()
        return self

    def confirm(self) -> None:
        """Raise where another process may have taken the dataset over."""
        if self._lost or time.monotonic() - self._renewed > LEASE_S:
            raise RunError(
                "the lock of the dataset was lost: this run did not reach its store for too long",
                code="LL414",
                hint="run again; the next run finishes what this one began",
                retryable=True,
            )

    def release(self) -> None:
        """Let the next one in; a second call does nothing."""
        if self._over.is_set():
            return
        self._over.set()
        with self._guard:
            if not self._lost:
                write_object(self.path, _FREE, over=self.tag)

    def _keep(self) -> None:
        while not self._over.wait(RENEW_S):
            with self._guard:
                if self._over.is_set():
                    return
                try:
                    self._renew()
                except LakeLogicError as error:
                    # The store may be back before the lease ends; `confirm` knows how long it lasts.
                    logger.debug(f"The lock of the dataset could not be renewed: {error.problem.message}")
            if self._lost:
                return

    def _renew(self) -> None:
        begun = time.monotonic()
        tag = write_object(self.path, self.body, over=self.tag)
        if tag is None:
            self._lost = not self._own()
            return
        self.tag, self._renewed = tag, begun

    def _own(self) -> bool:
        """Whether a write that seemed to fail was ours: its answer may have been lost on the way."""
        found = read_object(self.path)
        if found is None or found[0] != self.body:
            return False
        self.tag = found[1]
        return True


def acquire_lease(folder: str, holder: Holder, *, wait_s: float, sleep: Callable[[float], None] = time.sleep) -> Lease:
    """Take the lock of a control folder within `wait_s`, or raise RunError that names the holder."""
    path = f"{folder.rstrip('/')}/lock"
    body = json.dumps({**_describe(holder), "process": this_process(), "token": uuid.uuid4().hex}).encode()
    deadline = time.monotonic() + wait_s
    while True:
        tag, node = _try(path, body)
        if tag is not None:
            return Lease(path, body, tag).start()
        if time.monotonic() >= deadline:
            raise held_error(node, f"the lock ends {LEASE_S:.0f} seconds after its holder was last heard of")
        sleep(_POLL_S)


def _try(path: str, body: bytes) -> tuple[Tag | None, dict[str, Any]]:
    found = read_object(path)
    if found is None:
        return write_object(path, body, over="nothing"), {}
    node = _node(found[0])
    if not node:
        return write_object(path, body, over=found[1]), {}
    if not _is_dead(path, node):
        return None, node
    logger.warning(f"Taking over from run `{node.get('run_id')}`, which was not heard of for too long")
    return write_object(path, body, over=found[1]), node


def _is_dead(path: str, node: dict[str, Any]) -> bool:
    process = str(node.get("process", ""))
    if process and process.rsplit("/", 2)[0] == this_process().rsplit("/", 2)[0]:
        return not _runs_here(process)
    return _age_s(path) > LEASE_S


def _age_s(path: str) -> float:
    """How long ago a holder was last heard of: both times are the store's own."""
    probe = f"{path}.{uuid.uuid4().hex[:8]}.now"
    write_object(probe, b"")
    try:
        now, then = find_object(probe), find_object(path)
    finally:
        delete_objects(path, [parse_address(probe).key])
    return 0.0 if now is None or then is None else float((now["last_modified"] - then["last_modified"]).total_seconds())


def this_process() -> str:
    """Names this process among all: the machine since it booted, its space of process numbers, number and birth."""
    return f"{_machine()}/{os.getpid()}/{_birth(os.getpid())}"


def _machine() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return uuid.uuid4().hex  # nobody can be recognised here; leases end by their age


def _birth(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name in brackets may hold blanks; the fields after it do not.
            return re.sub(r"^.*\) ", "", file.read()).split()[19]
    except (OSError, IndexError):
        return ""


def _runs_here(process: str) -> bool:
    _, pid, birth = process.rsplit("/", 2)
    return _birth(int(pid)) == birth


def _describe(holder: Holder) -> dict[str, Any]:
    return {**asdict(holder), "started_at": holder.started_at.isoformat()}


def _node(body: bytes) -> dict[str, Any]:
    try:
        node = json.loads(body)
    except ValueError:
        return {}
    return node if isinstance(node, dict) else {}
