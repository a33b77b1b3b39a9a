"""Cases: a folder with a contract, its input and what must come of it, run on any engine.

case/contract.yaml           the contract
case/input.csv, data/...     what it reads, beside it; `x.parquet.json` is written as `x.parquet`
case/settings.json           optional: {"environ": {..}, "clock": "..", "first": ["bronze.yaml"]}
case/run_1/run.json          optional: {"clock": "..", "window": ["first day", "last day"]} of that run
case/run_1/, run_2/, ...     optional: files laid over the folder before each run; each has its `expected/`
case/expected/good.jsonl     rows of the target, on the columns that it names
case/expected/bad.jsonl      rows of the quarantine, likewise
case/expected/result.json    status, counts, changes, ledger, rules, dataset_rules, warnings, events, columns,
                             error, cannot
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.settings import read_settings
from lakelogic.run.places import find_places
from lakelogic.run.processor import DataProcessor
from lakelogic.run.result import RunResult
from lakelogic.run.windows import Span
from lakelogic.table.sample import read_rows, read_types
from lakelogic.testing.inputs import write_tables
from lakelogic.testing.rows import Row, difference, plain

CONTRACT = "contract.yaml"
RUN_SETTINGS = "run.json"
DEFAULT_CLOCK = "2026-03-28T12:00:00+00:00"


@dataclass(frozen=True)
class Expected:
    """What one run must come to; what is not written down is not compared."""

    result: Mapping[str, Any]
    good: tuple[Row, ...] | None
    bad: tuple[Row, ...] | None


@dataclass(frozen=True)
class Case:
    """A folder with a contract, its input and what must come of it."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        path = self.folder / "settings.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    @cached_property
    def runs(self) -> tuple[Path | None, ...]:
        """The folders to lay over before each run; one run without any where there are none."""
        return tuple(sorted(self.folder.glob("run_*"))) or (None,)

    def run_settings(self, run: Path | None) -> Mapping[str, Any]:
        path = (run or self.folder) / RUN_SETTINGS
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def expected(self, run: Path | None) -> Expected:
        folder = (run or self.folder) / "expected"
        result = folder / "result.json"
        return Expected(
            json.loads(result.read_text(encoding="utf-8")) if result.exists() else {},
            _read_jsonl(folder / "good.jsonl"),
            _read_jsonl(folder / "bad.jsonl"),
        )


def find_cases(folder: Path) -> tuple[Case, ...]:
    """Every case below a folder, by name."""
    return tuple(Case(path.parent) for path in sorted(folder.glob(f"*/{CONTRACT}")))


def check_case(case: Case, engine: str, scratch: Path, *, spark: Any = None) -> list[str]:
    """Run a case in a scratch folder; gives what is not as expected, in words."""
    return list(_CaseRun(case, engine, scratch, spark).differences())


@dataclass
class _CaseRun:
    case: Case
    engine: str
    scratch: Path
    spark: Any
    labels: dict[str, str] = field(default_factory=dict)  # run id -> what the expected rows call it

    def differences(self) -> Iterator[str]:
        _lay_over(self.case.folder, self.scratch)
        for number, name in enumerate(self.case.settings.get("first", ()), start=1):
            first = self._run(name)
            self.labels[first.run_id] = f"<first {number}>"
        for number, run in enumerate(self.case.runs, start=1):
            if run is not None:
                _lay_over(run, self.scratch)
            expected = self.case.expected(run)
            where = f"{run.name}: " if run else ""
            yield from (where + line for line in self._compare_run(expected, number, run))

    def _compare_run(self, expected: Expected, number: int, run: Path | None) -> Iterator[str]:
        refused = expected.result.get("cannot", {}).get(self.engine)
        try:
            result = self._run(CONTRACT, self.case.run_settings(run))
        except CapabilityError as error:
            if refused is None or refused not in str(error):
                yield f"refused: {error}"
            return
        except LakeLogicError as error:
            told = list(_compare_error(error, expected.result.get("error")))
            yield from told or self._compare_tables(expected)
            return
        if refused is not None:
            yield f"engine {self.engine} did what the case says it cannot do: {refused}"
        self.labels[result.run_id] = f"<run {number}>"
        if "error" in expected.result:
            yield f"no error, but expected {expected.result['error']}"
        yield from _compare_result(result, expected.result)
        yield from self._compare_tables(expected)

    def _run(self, contract: str, run: Mapping[str, Any] | None = None) -> RunResult:
        days = [date.fromisoformat(day) for day in (run or {}).get("window", ())]
        with self._processor(contract, run) as processor:
            if not days:
                return processor.run()
            return processor.run(window=processor.find_window("range", Span(days[0], days[-1])))

    def _processor(self, contract: str, run: Mapping[str, Any] | None = None) -> DataProcessor:
        told = {"clock": DEFAULT_CLOCK, **self.case.settings, **(run or {})}
        clock = FixedClock(datetime.fromisoformat(told["clock"]))
        settings = read_settings(self.case.settings.get("environ", {}))
        return DataProcessor(self.scratch / contract, self.engine, self.spark, settings=settings, clock=clock)

    def _compare_tables(self, expected: Expected) -> Iterator[str]:
        names = ("columns", "all_columns")
        if expected.good is None and expected.bad is None and not any(name in expected.result for name in names):
            return
        target, quarantine = self._places()
        for table, path, rows in (("good", target, expected.good), ("bad", quarantine, expected.bad)):
            told = difference(rows, self._named(read_rows(path).rows)) if rows is not None else ""
            if told:
                yield f"{table} rows differ\n{told}"
        types = read_types(target) if "columns" in expected.result else {}
        found = {name: type_ for name, type_ in types.items() if not name.startswith("_lakelogic_")}
        wanted = expected.result.get("columns", {})
        if list(found.items()) != list(wanted.items()):
            yield f"columns are {found}, not {wanted}"
        if "all_columns" in expected.result and list(read_rows(target).columns) != expected.result["all_columns"]:
            yield f"columns are {list(read_rows(target).columns)}"

    def _places(self) -> tuple[str, str]:
        contract: Contract = self._processor(CONTRACT).contract
        places = find_places(contract, read_settings(self.case.settings.get("environ", {})))
        assert places.target is not None and places.quarantine is not None
        return places.target.path, places.quarantine.path

    def _named(self, rows: tuple[Row, ...]) -> list[Row]:
        return [{name: self._name(plain(value)) for name, value in row.items()} for row in rows]

    def _name(self, value: Any) -> Any:
        """Scratch paths and run ids differ from run to run; the expected rows call them by stable names."""
        if isinstance(value, list):
            return [self._name(item) for item in value]
        if not isinstance(value, str):
            return value
        value = value.replace(f"file://{self.scratch}/", "").replace(f"{self.scratch}/", "")
        return self.labels.get(value, value)


def _compare_error(error: LakeLogicError, expected: Mapping[str, str] | None) -> Iterator[str]:
    if expected is None:
        yield f"failed with {error}"
        return
    codes = [problem.code for problem in error.problems]
    if "code" in expected and expected["code"] not in codes:
        yield f"error has code {', '.join(codes)}, not {expected['code']}: {error}"
    if expected.get("contains", "") not in str(error):
        yield f"error says `{error}`, not `{expected['contains']}`"


def _compare_result(result: RunResult, expected: Mapping[str, Any]) -> Iterator[str]:
    found: dict[str, Any] = {
        "status": result.status,
        "counts": [result.counts.read, result.counts.accepted, result.counts.quarantined],
        "rules": {rule.name: rule.failed for rule in result.rules if rule.failed},
        "dataset_rules": {rule.name: rule.passed for rule in result.dataset_rules},
        "changes": asdict(result.changes) if result.changes else None,
        "events": [event.kind for event in result.events],
    }
    for name, value in found.items():
        if name in expected and expected[name] != value:
            yield f"{name} is {value}, not {expected[name]}"
    steps = {step.step: step for step in result.ledger}
    for name, numbers in expected.get("ledger", {}).items():
        if name not in steps:
            yield f"the ledger has no step `{name}`; it has {', '.join(f'`{step}`' for step in steps)}"
            continue
        has = {key: getattr(steps[name], key) for key in numbers}
        if has != numbers:
            yield f"ledger step `{name}` is {has}, not {numbers}"
    for words in expected.get("warnings", ()):
        if not any(words in warning for warning in result.warnings):
            yield f"no warning says `{words}`; warnings are {list(result.warnings)}"
    if expected.get("reason", "") not in (result.reason or ""):
        yield f"the reason is `{result.reason}`, not `{expected['reason']}`"


def _lay_over(folder: Path, scratch: Path) -> None:
    left_out = shutil.ignore_patterns("expected", "run_*", "settings.json", RUN_SETTINGS)
    shutil.copytree(folder, scratch, dirs_exist_ok=True, ignore=left_out)
    write_tables(scratch)


def _read_jsonl(path: Path) -> tuple[Row, ...] | None:
    if not path.exists():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines if line.strip())
