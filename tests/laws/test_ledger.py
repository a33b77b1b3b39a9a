"""Laws of checking: every row is accounted for, and a row's verdict is what its values say.

The reference below evaluates a small language of rules and steps in plain Python. LAKELOGIC_LAW_EXAMPLES asks
for more examples than the default.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.run.result import RunResult
from lakelogic.table.sample import read_rows

EXAMPLES = int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40"))
_SLOW = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)

# What stands in the file: numbers, things that are no numbers, nothing.
_NUMBERS = st.sampled_from(["0", "1", "2", "-3", "7", "40", "x", "4.7", ""])
_WORDS = st.sampled_from(["a", "b", "test", ""])
Row = tuple[str, str, str]
_ROWS = st.lists(st.tuples(_NUMBERS, _NUMBERS, _WORDS), max_size=12)


@dataclass(frozen=True)
class Rule:
    """A rule in SQL, and the same in Python: True, False, None for unknown, "error" where it raises."""

    sql: str
    holds: Any
    strict: bool = False

    def verdict(self, n: int | None, m: int | None, word: str | None) -> str | None:
        outcome = self.holds(n, m, word)
        if outcome == "error":
            return f"Rule error: {self.sql}"
        failed = outcome is False or (outcome is None and self.strict)
        return f"Rule failed: {self.sql}" if failed else None


def _compare(left: int | None, right: int | None, test: Any) -> bool | None:
    return None if left is None or right is None else test(left, right)


def _divided(n: int | None, m: int | None) -> Any:
    if n is None or m is None:
        return None
    return "error" if m == 0 else n / m > 1


def _either(n: int | None, m: int | None) -> Any:
    first = _compare(n, 0, lambda a, b: a > b)
    second = _compare(m, 0, lambda a, b: a > b)
    if first or second:
        return True
    return None if first is None or second is None else False


_RULES = (
    Rule("n > 0", lambda n, m, w: _compare(n, 0, lambda a, b: a > b)),
    Rule("n >= m", lambda n, m, w: _compare(n, m, lambda a, b: a >= b), strict=True),
    Rule("n > 0 OR m > 0", lambda n, m, w: _either(n, m)),
    Rule("n / m > 1", lambda n, m, w: _divided(n, m)),
    Rule("word <> 'b'", lambda n, m, w: None if w is None else w != "b"),
    Rule("word IS NOT NULL", lambda n, m, w: w is not None),
)
_STEPS = {
    "filter": "filter: \"word <> 'test'\"",
    "deduplicate": "deduplicate: [n, m]",
    "upper": "upper: [word]",
}


@dataclass(frozen=True)
class Outcome:
    """What must come of some rows: good values, and bad rows with their reasons."""

    good: Counter[tuple[int | None, int | None, str | None]]
    bad: Counter[tuple[str | None, str | None, str | None, tuple[str, ...]]]


def expected(rows: list[Row], steps: list[str], rules: list[Rule]) -> Outcome:
    """The independent evaluation: cast, filter, deduplicate, judge, in that order."""
    good: list[tuple[int | None, int | None, str | None]] = []
    bad = []
    seen: dict[tuple[int, int], list[tuple[int | None, int | None, str | None]]] = {}
    for row in rows:
        raw = tuple(value or None for value in row)
        n, m, word = _number(row[0]), _number(row[1]), row[2] or None
        errors = [
            f"Cast failed: {name} = '{text}' is not an int"
            for name, text in zip("nm", row, strict=False)
            if text in {"x", "4.7"}
        ]
        if not errors and "filter" in steps and (word is None or word == "test"):
            continue
        if not errors and "deduplicate" in steps and n is not None and m is not None:
            seen.setdefault((n, m), []).append((n, m, word))
            continue
        _judge(raw, (n, m, word), errors, steps, rules, good, bad)
    for group in seen.values():
        # Of equal keys the smallest row stays, absent words last.
        winner = min(group, key=lambda row: (row[2] is None, row[2] or ""))
        text = (str(winner[0]), str(winner[1]), winner[2])
        _judge(text, winner, [], steps, rules, good, bad)
    return Outcome(Counter(good), Counter(bad))


def _judge(raw: Any, row: Any, errors: list[str], steps: list[str], rules: list[Rule], good: Any, bad: Any) -> None:
    n, m, word = row
    if "upper" in steps and word is not None:
        word = word.upper()
    found = [*errors, *[told for rule in rules if (told := rule.verdict(n, m, word))]]
    if found:
        bad.append((*raw, tuple(sorted(found))))
    else:
        good.append((n, m, word))


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdigit() else None


def run(
    folder: Path, rows: list[Row], steps: list[str], rules: list[Rule], engine: str, spark: Any = None
) -> RunResult:
    lines = ["n,m,word", *[",".join(row) for row in rows]]
    # A row of nothing but empty fields is no blank line: its commas stand there.
    (folder / "input.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "contract.yaml").write_text(_contract(steps, rules), encoding="utf-8")
    with DataProcessor(folder / "contract.yaml", engine, spark, settings=Settings()) as processor:
        return processor.run()


_HEAD = """
version: "1.0.0"
dataset: rows
source: { path: input.csv }
materialization: { target_path: out/rows }
model:
  fields:
    - { name: n, type: int }
    - { name: m, type: int }
    - { name: word }
"""


def _contract(steps: list[str], rules: list[Rule]) -> str:
    text = _HEAD
    if steps:
        text += "transformations:\n" + "".join(f"  - {_STEPS[step]}\n" for step in steps)
    if rules:
        text += "quality:\n  row_rules:\n"
        text += "".join(f'    - {{ sql: "{r.sql}", on_null: {"fail" if r.strict else "pass"} }}\n' for r in rules)
    return text


def outcome_of(folder: Path) -> Outcome:
    good = read_rows(str(folder / "out" / "rows")).rows
    bad = read_rows(str(folder / "out" / "rows_quarantine")).rows
    return Outcome(
        Counter((row["n"], row["m"], row["word"]) for row in good),
        Counter((row["n"], row["m"], row["word"], tuple(sorted(row["_lakelogic_errors"]))) for row in bad),
    )


# `deduplicate` compares the text before `upper`, so the order of the list is the order of the contract.
_PLANS = st.lists(st.sampled_from(["filter", "deduplicate"]), unique=True, max_size=2).map(sorted)
_CHOSEN = st.lists(st.sampled_from(_RULES), unique_by=lambda rule: rule.sql, max_size=4)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=_SLOW)
@given(rows=_ROWS, steps=_PLANS, upper=st.booleans(), rules=_CHOSEN)
def test_law_rows_are_where_their_values_say_and_none_is_lost(
    rows: list[Row], steps: list[str], upper: bool, rules: list[Rule]
) -> None:
    chosen = [step for step in ("filter", "deduplicate") if step in steps] + (["upper"] if upper else [])
    with tempfile.TemporaryDirectory() as scratch:
        result = run(Path(scratch), rows, chosen, rules, "duckdb")
        found = outcome_of(Path(scratch))
    wanted = expected(rows, chosen, rules)
    assert found.good == wanted.good
    assert found.bad == wanted.bad
    _balances(result, rows, found)


def _balances(result: RunResult, rows: list[Row], found: Outcome) -> None:
    steps = [step for step in result.ledger if step.step != "read"]
    removed, added = sum(step.removed for step in steps), sum(step.added for step in steps)
    counts = result.counts
    assert counts.read == len(rows)
    assert (counts.accepted, counts.quarantined) == (found.good.total(), found.bad.total())
    assert counts.read + added == counts.accepted + counts.quarantined + removed


@pytest.mark.spark
@settings(
    max_examples=min(EXAMPLES, 5) if EXAMPLES <= 40 else EXAMPLES // 8,
    deadline=None,
    suppress_health_check=_SLOW,
)
@given(rows=_ROWS, steps=_PLANS, rules=_CHOSEN)
def test_law_engines_agree_on_rows_reasons_and_counts(
    compiled: Any, rows: list[Row], steps: list[str], rules: list[Rule]
) -> None:
    outcomes, results = [], []
    for engine, spark in (("duckdb", None), ("spark", compiled)):
        with tempfile.TemporaryDirectory() as scratch:
            results.append(run(Path(scratch), rows, steps, rules, engine, spark))
            outcomes.append(outcome_of(Path(scratch)))
    assert outcomes[0] == outcomes[1]
    assert results[0].counts == results[1].counts
    assert results[0].rules == results[1].rules
    lines = [[(s.step, s.rows_in, s.rows_out, s.removed, s.added) for s in result.ledger] for result in results]
    assert lines[0] == lines[1]
