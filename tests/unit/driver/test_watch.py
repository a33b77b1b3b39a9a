"""Watchers hear of everything in its order, also of the end of an interrupted run, and can break nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from loguru import logger

from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import RunError
from lakelogic.driver.outcome import Outcome
from lakelogic.driver.watch import Beginning, Ending, Watchers, telling

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
CLOCK = FixedClock(NOW)


class Listener:
    """Writes down what it is told."""

    def __init__(self, broken: Exception | None = None) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.ending: Ending | None = None
        self.broken = broken

    def __str__(self) -> str:
        return "listener"

    def _hear(self, *what: Any) -> None:
        self.heard.append(what)
        if self.broken:
            raise self.broken

    def pipeline_began(self, beginning: Beginning) -> None:
        self._hear("began", tuple(beginning.jobs))

    def contract_began(self, dataset: str, at: datetime) -> None:
        self._hear("began", dataset)

    def contract_ended(self, outcome: Outcome, at: datetime) -> None:
        self._hear("ended", outcome.dataset, outcome.status)

    def contract_held(self, outcome: Outcome, at: datetime) -> None:
        self._hear("held", outcome.dataset, outcome.reason)

    def pipeline_ended(self, ending: Ending) -> None:
        self.ending = ending
        self._hear("ended", tuple(ending.result.outcomes), ending.interrupted)


def beginning() -> Beginning:
    return Beginning("p1", NOW, dict.fromkeys(["a", "b", "c"]))  # type: ignore[arg-type]


@pytest.fixture
def log() -> Any:
    lines: list[str] = []
    number = logger.add(lines.append, format="{level} {message}")  # type: ignore[arg-type]
    yield lines
    logger.remove(number)


def test_everything_is_told_in_its_order() -> None:
    listener = Listener()
    with telling([listener], beginning(), CLOCK) as told:
        told.run("b", lambda: Outcome("b", "failed", "no disk"))
        told.hold(Outcome("c", "skipped", "upstream `b` failed"))
        told.run("a", lambda: Outcome("a", "succeeded"))
    assert listener.heard == [
        ("began", ("a", "b", "c")),
        ("began", "b"),
        ("ended", "b", "failed"),
        ("held", "c", "upstream `b` failed"),
        ("began", "a"),
        ("ended", "a", "succeeded"),
        ("ended", ("a", "b", "c"), False),
    ]
    assert told.result.run_id == "p1" and told.result.exit_code == 4


def test_the_end_of_an_interrupted_run_is_told_with_what_there_is() -> None:
    listener = Listener()
    with pytest.raises(KeyboardInterrupt), telling([listener], beginning(), CLOCK) as told:
        told.run("a", lambda: Outcome("a", "succeeded"))
        raise KeyboardInterrupt
    assert listener.heard[-1] == ("ended", ("a",), True)


def test_a_broken_watcher_is_named_once_and_keeps_nobody_from_hearing(log: list[str]) -> None:
    broken, foreign, fine = Listener(RunError("it is away")), Listener(OSError("password 1234")), Listener()
    with telling([broken, foreign, Watchers([fine])], beginning(), CLOCK) as told:
        told.run("a", lambda: Outcome("a", "succeeded"))
    assert broken.heard == foreign.heard == fine.heard and len(fine.heard) == 4
    assert told.result.exit_code == 0
    warnings = [line.strip() for line in log if line.startswith("WARNING")]
    assert warnings == [
        "WARNING listener: it is away; the pipeline goes on without it",
        "WARNING listener: unexpected OSError; the pipeline goes on without it",
    ]
