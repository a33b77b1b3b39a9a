"""Fault points do nothing unless asked; clocks are in UTC."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from lakelogic.core.clock import FixedClock, SystemClock
from lakelogic.core.faults import FAULT_POINTS, fault_point

SCRIPT = """
from lakelogic.core.faults import fault_point
for _ in range(3):
    fault_point("after_prepare")
    print("passed", flush=True)
"""


def run(**env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


def test_without_the_variable_all_points_are_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKELOGIC_FAULT", raising=False)
    for name in FAULT_POINTS:
        fault_point(name)
    with pytest.raises(ValueError, match="unknown fault point"):
        fault_point("somewhere")


def test_the_process_dies_at_the_nth_time() -> None:
    died = run(LAKELOGIC_FAULT="after_prepare:2")
    assert (died.returncode, died.stdout) == (-9, "passed\n")


def test_the_fault_can_be_an_error() -> None:
    failed = run(LAKELOGIC_FAULT="after_prepare", LAKELOGIC_FAULT_MODE="raise")
    assert failed.returncode == 1
    assert "OSError: fault injected at after_prepare" in failed.stderr


def test_another_point_does_not_stop_it() -> None:
    assert run(LAKELOGIC_FAULT="after_stage").stdout == "passed\n" * 3


def test_a_misspelt_point_is_an_error() -> None:
    assert "names no fault point" in run(LAKELOGIC_FAULT="after_prepar").stderr


def test_clocks_speak_utc() -> None:
    assert SystemClock().now().tzinfo is UTC
    berlin = timezone(timedelta(hours=1))
    assert FixedClock(datetime(2026, 1, 1, 1, tzinfo=berlin)).now() == datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="time zone"):
        FixedClock(datetime(2026, 1, 1))
