"""`run` passes options on, prints data to stdout only, and turns endings into exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lakelogic.core.errors import CapabilityError, ContractError, GateError, Place, Problem, RunError
from lakelogic.core.secrets import Secret
from lakelogic.run.windows import Span

RESULT: dict[str, Any] = {
    "run_id": "r1",
    "dataset": "customers",
    "status": "succeeded",
    "counts": {"read": 4, "accepted": 2, "quarantined": 1},
    "ledger": [
        {"step": "read", "rows_in": 4, "rows_out": 4, "removed": 0, "added": 0, "quarantined": 0},
        {"step": "filter [x]", "rows_in": 4, "rows_out": 3, "removed": 1, "added": 0, "quarantined": 0},
    ],
    "target": {"path": "lakehouse/customers", "version": 0},
    "quarantine": {"path": "lakehouse/customers_quarantine", "version": None},
    "rules": [{"name": "email_has_a_domain", "failed": 1}, {"name": "never", "failed": 0}],
    "duration_s": 1.25,
}


@dataclass
class FakeProcessor:
    """Stands where DataProcessor stands: remembers how it was made, ends as told."""

    made_with: dict[str, Any] = field(default_factory=dict)
    ending: Exception | None = None
    result: dict[str, Any] = field(default_factory=lambda: dict(RESULT))
    contract: Any = field(default_factory=lambda: SimpleNamespace(is_raw=False))

    def __call__(self, contract: object, **options: Any) -> FakeProcessor:
        self.made_with = {"contract": str(contract), **options}
        return self

    def __enter__(self) -> FakeProcessor:
        return self

    def __exit__(self, *_: object) -> None:
        self.made_with["closed"] = True

    def find_window(self, kind: str, span: Span | None = None) -> object:
        return (kind, span)

    def backfill(self, *days: date, only_gaps: bool) -> Iterator[tuple[str, FakeProcessor]]:
        self.made_with["backfill"] = (*days, only_gaps)
        yield "2026-03-01", self

    def run(self, *, window: object = None, everything: bool = False) -> FakeProcessor:
        self.made_with["window"], self.made_with["everything"] = window, everything
        self.made_with["on_phase"]("reading")
        if self.ending:
            raise self.ending
        return self

    @property
    def status(self) -> str:
        return str(self.result["status"])

    def to_dict(self) -> dict[str, Any]:
        return self.result


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> FakeProcessor:
    fake = FakeProcessor()
    module = ModuleType("lakelogic.run.processor")
    module.DataProcessor = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lakelogic.run.processor", module)
    return fake


def test_json_is_all_that_stdout_carries(lakelogic: Any, processor: FakeProcessor) -> None:
    outcome = lakelogic("run", "c.yaml", "--output", "json")
    assert json.loads(outcome.stdout) == RESULT
    assert outcome.code == 0


def test_options_reach_the_processor(lakelogic: Any, processor: FakeProcessor) -> None:
    lakelogic(
        "run", "c.yaml", "--engine", "duckdb", "--env", "dev", "--stage", "bronze",
        "--set", "a.b=c", "--set", "d=e", "--master", "local[1]", "--remote", "sc://h", "--wait", "7",
    )  # fmt: skip
    made = processor.made_with
    assert (made["contract"], made["engine"], made["env"], made["stage"]) == (
        "c.yaml",
        "duckdb",
        "dev",
        "bronze",
    )
    assert (made["overrides"], made["master"], made["remote"]) == (("a.b=c", "d=e"), "local[1]", "sc://h")
    assert (made["wait_s"], made["closed"]) == (7, True)


def test_reprocess_dates_name_both_days(lakelogic: Any, processor: FakeProcessor) -> None:
    lakelogic("run", "c.yaml", "--reprocess-start-date", "2026-03-01", "--reprocess-end-date", "2026-03-02")
    assert processor.made_with["window"] == ("range", Span(date(2026, 3, 1), date(2026, 3, 2)))
    lakelogic("run", "c.yaml", "--reprocess-start-date", "2026-03-01")
    assert processor.made_with["window"] == ("range", Span(date(2026, 3, 1)))
    assert lakelogic("run", "c.yaml", "--reprocess-start-date", "soon").code == 2
    assert lakelogic("run", "c.yaml", "--reprocess-end-date", "2026-03-01").code == 2


def test_windows_are_named_by_a_word_or_by_their_days(lakelogic: Any, processor: FakeProcessor) -> None:
    def asked(*options: str) -> tuple[object, bool]:
        assert lakelogic("run", "c.yaml", *options).code == 0
        return processor.made_with["window"], processor.made_with["everything"]

    days = ("--window-start-date", "2026-02-01", "--window-end-date", "2026-02-05")
    assert asked("--window", "range", *days) == (("range", Span(date(2026, 2, 1), date(2026, 2, 5))), False)
    assert asked("--window", "yesterday") == (("yesterday", None), False)
    assert asked("--window", "last_success") == (None, False)
    assert asked("--window", "none") == (None, True)
    for wrong in (
        ("--window", "range"),
        days,
        ("--window", "tomorrow"),
        ("--window", "yesterday", "--reprocess-start-date", "2026-03-01"),
        ("--backfill-start-date", "2026-03-01"),
        ("--fill-gaps",),
    ):
        assert lakelogic("run", "c.yaml", *wrong).code == 2, wrong


def test_a_backfill_tells_of_every_window(lakelogic: Any, processor: FakeProcessor) -> None:
    days = ("--backfill-start-date", "2026-03-01", "--backfill-end-date", "2026-03-31")
    done = lakelogic("run", "c.yaml", *days, "--backfill-granularity", "week", "--fill-gaps", "--output", "json")
    assert json.loads(done.stdout) == [{"window": "2026-03-01", **RESULT}]
    assert processor.made_with["backfill"] == (date(2026, 3, 1), date(2026, 3, 31), "week", True)
    processor.result["status"] = "gate_failed"
    assert lakelogic("run", "c.yaml", *days).code == 5


def test_the_environment_chooses_where_no_option_does(
    lakelogic: Any, processor: FakeProcessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_ENV", "prod")
    lakelogic("run", "c.yaml")
    assert processor.made_with["env"] == "prod"


def test_the_table_shows_counts_ledger_rules_and_places(lakelogic: Any, processor: FakeProcessor) -> None:
    out = lakelogic("run", "c.yaml").stdout
    assert "read 4 = accepted 2 + quarantined 1 + removed by steps 1" in out
    assert "filter [x]" in out
    assert "email_has_a_domain" in out and "never" not in out
    assert "target: lakehouse/customers (version 0)" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(("status", "code"), [("succeeded", 0), ("no_new_data", 0), ("failed", 4), ("gate_failed", 5)])
def test_a_status_is_an_exit_code(lakelogic: Any, processor: FakeProcessor, status: str, code: int) -> None:
    processor.result["status"] = status
    assert lakelogic("run", "c.yaml").code == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ContractError([Problem("LL101", "no key", Place("c.yaml", 3, 5), "write it")]), 2),
        (CapabilityError("merge is not there"), 3),
        (RunError("disk full"), 4),
        (GateError("too many"), 5),
    ],
)
def test_an_error_is_told_without_a_traceback(
    lakelogic: Any, processor: FakeProcessor, error: Exception, code: int
) -> None:
    processor.ending = error
    outcome = lakelogic("run", "c.yaml", "--output", "json")
    assert outcome.code == code
    assert outcome.stdout == ""
    assert str(error) in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_an_unexpected_error_keeps_its_text_for_debug(lakelogic: Any, processor: FakeProcessor) -> None:
    processor.ending = ValueError("row (C100, ada@example.com) is odd")
    outcome = lakelogic("run", "c.yaml")
    assert (outcome.code, "ada@example.com" in outcome.stderr) == (4, False)
    assert "Traceback" not in outcome.stderr
    assert "Traceback" in lakelogic("run", "c.yaml", "--debug").stderr


def test_a_secret_is_starred_even_in_a_traceback(lakelogic: Any, processor: FakeProcessor) -> None:
    secret = Secret("correct-horse-battery")
    processor.ending = RunError(f"cannot log in with {secret.reveal()}")
    outcome = lakelogic("run", "c.yaml", "--debug")
    assert "correct-horse" not in outcome.stdout + outcome.stderr
    assert "***" in outcome.stderr


def test_an_interrupt_has_its_own_code(lakelogic: Any, processor: FakeProcessor) -> None:
    processor.ending = KeyboardInterrupt()  # type: ignore[assignment]
    assert lakelogic("run", "c.yaml").code == 130


def test_a_wrong_setting_is_named(lakelogic: Any, processor: FakeProcessor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_ENGINE", "sparks")
    outcome = lakelogic("run", "c.yaml")
    assert outcome.code == 4
    assert "LAKELOGIC_ENGINE is `sparks`" in outcome.stderr
