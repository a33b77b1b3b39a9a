"""The lock on an object store: one holder at a time, and a dead one is no obstacle for long."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from lakelogic.core.errors import RunError
from lakelogic.record import lease
from lakelogic.record.holders import Holder
from lakelogic.record.lock import acquire
from lakelogic.storage.files import list_names, write_file

HOLDER = Holder("here", 1, "r1", datetime(2026, 1, 1, tzinfo=UTC))


def _foreign(folder: str) -> None:
    node = {"host": "elsewhere", "pid": 7, "run_id": "r0", "started_at": "then", "process": "another-machine/7/1"}
    write_file(f"{folder}/lock", json.dumps(node).encode())


def test_one_holder_at_a_time(s3: str) -> None:
    with acquire(s3, HOLDER) as held, pytest.raises(RunError, match="being written by run `r1`"):
        held.confirm()
        acquire(s3, HOLDER)
    acquire(s3, HOLDER).release()


def test_a_holder_that_is_heard_of_keeps_its_lock(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_S", 3.0)
    monkeypatch.setattr(lease, "RENEW_S", 0.2)
    # As another machine sees it: by its age alone.
    monkeypatch.setattr(lease, "this_process", iter([f"machine-{n}/1/1" for n in range(99)]).__next__)
    with acquire(s3, HOLDER), pytest.raises(RunError, match="being written"):
        acquire(s3, HOLDER, wait_s=4.5)


def test_a_holder_that_is_not_heard_of_is_taken_over_from(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_S", 2.0)
    _foreign(s3)
    begun = time.monotonic()
    acquire(s3, HOLDER, wait_s=10).release()
    assert 1.0 < time.monotonic() - begun < 8
    assert list_names(s3) == ["lock"]  # what told the store's time is gone


def test_who_lost_the_lock_records_nothing_more(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEW_S", 0.1)
    held = acquire(s3, HOLDER)
    _foreign(s3)
    time.sleep(1.0)
    with pytest.raises(RunError, match="was lost"):
        held.confirm()
    held.release()
    with pytest.raises(RunError, match="process 7 on elsewhere"):
        acquire(s3, HOLDER)


def test_a_process_is_told_from_another_that_has_its_number() -> None:
    machine, pid, birth = lease.this_process().rsplit("/", 2)
    assert lease._runs_here(f"{machine}/{pid}/{birth}")
    assert not lease._runs_here(f"{machine}/{pid}/{int(birth) + 1}")
