"""The order of jobs, whatever they do: after what they need, so many at once, never after a failure above."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakelogic.driver.schedule import Rules, run_jobs


@dataclass(frozen=True)
class End:
    status: str
    reason: str = ""

    @property
    def good(self) -> bool:
        return self.status == "ok"

    @property
    def failed(self) -> bool:
        return self.status == "failed"

    @property
    def story(self) -> str:
        return f"{self.status} ({self.reason})" if self.reason else self.status


class Work:
    """Does nothing, and remembers when."""

    def __init__(self, failing: Sequence[str] = (), seconds: Mapping[str, float] | None = None) -> None:
        self.failing, self.seconds = failing, seconds or {}
        self.log: list[tuple[str, str]] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def __call__(self, name: str) -> End:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.log.append(("begin", name))
        time.sleep(self.seconds.get(name, 0))
        with self._lock:
            self._now -= 1
            self.log.append(("end", name))
        return End("failed" if name in self.failing else "ok")

    @property
    def started(self) -> list[str]:
        return [name for what, name in self.log if what == "begin"]


def skip(name: str, reason: str) -> End:
    return End("skipped", reason)


DIAMOND = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "x": (), "y": ("x",)}


def test_a_failure_holds_back_exactly_its_descendants_when_the_others_may_go_on() -> None:
    work = Work(failing=["b"])
    ended = run_jobs(list(DIAMOND), Rules(DIAMOND, continue_on_error=True), work, skip)
    assert {name: end.status for name, end in ended.items()} == {
        "a": "ok", "b": "failed", "c": "ok", "d": "skipped", "x": "ok", "y": "ok",
    }  # fmt: skip
    assert ended["d"].reason == "upstream `b` failed"


def test_reasons_travel_down() -> None:
    chain = {"a": (), "b": ("a",), "c": ("b",)}
    ended = run_jobs(list(chain), Rules(chain, continue_on_error=True), Work(failing=["a"]), skip)
    assert ended["c"].reason == "upstream `b` skipped (upstream `a` failed)"


def test_without_leave_to_go_on_nothing_starts_after_a_failure() -> None:
    work = Work(failing=["a"], seconds={"x": 0.05})
    ended = run_jobs(list(DIAMOND), Rules(DIAMOND, max_workers=2), work, skip)
    assert sorted(work.started) == ["a", "x"]  # x ran beside it, and was let finish
    assert (ended["x"].status, ended["y"].reason) == ("ok", "not started: `a` failed")


def test_whoever_is_held_from_the_start_holds_its_dependants() -> None:
    ended = run_jobs(list(DIAMOND), Rules(DIAMOND, held={"x": "switched off"}), Work(), skip)
    assert (ended["x"].reason, ended["y"].reason) == ("switched off", "upstream `x` skipped (switched off)")
    assert ended["d"].status == "ok"


def test_a_layer_may_have_to_wait_for_the_one_before() -> None:
    needs: dict[str, tuple[str, ...]] = {"b1": (), "b2": (), "s1": ("b1",)}
    free, strict = Work(seconds={"b2": 0.1}), Work(seconds={"b2": 0.1})
    run_jobs(list(needs), Rules(needs), free, skip)
    run_jobs(list(needs), Rules(needs, after={"s1": ["b1", "b2"]}), strict, skip)
    assert free.log.index(("begin", "s1")) < free.log.index(("end", "b2"))
    assert strict.log.index(("begin", "s1")) > strict.log.index(("end", "b2"))


def test_who_ended_badly_is_ended_for_a_layer() -> None:
    needs: dict[str, tuple[str, ...]] = {"b1": (), "b2": (), "s1": ("b1",)}
    rules = Rules(needs, after={"s1": ["b1", "b2"]}, continue_on_error=True)
    assert run_jobs(list(needs), rules, Work(failing=["b2"]), skip)["s1"].status == "ok"


def test_never_more_at_once_than_allowed() -> None:
    names = [str(number) for number in range(12)]
    work = Work(seconds=dict.fromkeys(names, 0.01))
    run_jobs(names, Rules(dict.fromkeys(names, ()), max_workers=3), work, skip)
    assert work.most == 3


def test_an_interruption_lets_what_runs_finish() -> None:
    work = Work(seconds={"x": 0.1})

    def interrupted(name: str) -> End:
        if name == "a":
            while not work.log:
                time.sleep(0.01)
            raise KeyboardInterrupt
        return work(name)

    with pytest.raises(KeyboardInterrupt):
        run_jobs(list(DIAMOND), Rules(DIAMOND, max_workers=2), interrupted, skip)
    assert work.log == [("begin", "x"), ("end", "x")]


@st.composite
def graphs(draw: Callable[..., object]) -> dict[str, tuple[str, ...]]:
    count = draw(st.integers(1, 14))
    needs: dict[str, tuple[str, ...]] = {}
    for number in range(count):  # type: ignore[call-overload]
        names = list(needs)
        chosen = draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) if names else []
        needs[f"n{number}"] = tuple(chosen)  # type: ignore[arg-type]
    return needs


@settings(max_examples=60, deadline=None)
@given(graphs(), st.data())
def test_every_job_ends_once_and_after_all_that_it_needs(
    needs: dict[str, tuple[str, ...]], data: st.DataObject
) -> None:
    failing = data.draw(st.lists(st.sampled_from(list(needs)), max_size=3, unique=True))
    work = Work(failing)
    rules = Rules(needs, max_workers=data.draw(st.integers(1, 4)), continue_on_error=True)
    ended = run_jobs(list(needs), rules, work, skip)
    assert list(ended) == list(needs)
    for name, above in needs.items():
        bad = [each for each in above if not ended[each].good]
        assert (name in work.started) == (not bad)
        for each in above:
            if name in work.started:
                assert work.log.index(("end", each)) < work.log.index(("begin", name))
