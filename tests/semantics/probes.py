"""Probes of the one semantics: expressions with inputs and the value that every engine must give.

All of them are one contract: a row per input, a derived column per expression, so that one run computes them all by the
path that every contract takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from lakelogic.core.clock import FixedClock
from lakelogic.core.settings import read_settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows, read_types
from lakelogic.testing.inputs import write_tables
from lakelogic.testing.rows import plain

FILE = Path(__file__).parents[1] / "data" / "semantics.txt"
ERROR = "error"
COLUMNS = {
    "i": "int", "j": "int", "l": "long", "m": "long", "d": "double", "e": "double", "c": "decimal(10,2)",
    "k": "decimal(10,2)", "s": "string", "t": "string", "b": "boolean", "dt": "date", "du": "date", "ts": "timestamp",
    "a": "array<int>", "w": "array<string>",
}  # fmt: skip
MASKS = ("hash", "tokenize", "redact", "nullify", "partial", "encrypt_deterministic")
_MASKING = re.compile(r"masking: (\w+)")
# Values of masks depend on the key; this one is known to all.
ENVIRON = {"LAKELOGIC_PII_KEY": "the key of the page on semantics"}


@dataclass(frozen=True)
class Sample:
    """Inputs, and what must come of them."""

    inputs: Mapping[str, Any]
    value: Any  # as JSON says it; ERROR: the row is rejected


@dataclass(frozen=True)
class Probe:
    """An expression of Spark SQL, the type of its result, and the engines that refuse it."""

    topic: str
    expression: str
    type: str
    samples: tuple[Sample, ...]
    refused: tuple[str, ...] = ()

    @property
    def masking(self) -> str | None:
        found = _MASKING.fullmatch(self.expression)
        return found[1] if found else None


def read_probes(text: str | None = None) -> tuple[Probe, ...]:
    """All probes of the file, in its order."""
    probes: list[Probe] = []
    topic = ""
    for line in (text or FILE.read_text(encoding="utf-8")).splitlines():
        if line.startswith("## "):
            topic = line.removeprefix("## ")
        elif line.startswith("    refused: "):
            names = tuple(name.strip() for name in line.removeprefix("    refused: ").split(","))
            probes[-1] = Probe(**{**probes[-1].__dict__, "refused": names})
        elif line.startswith("    "):
            inputs, _, value = line.strip().rpartition(" => ")
            sample = Sample(json.loads(inputs), value if value in (ERROR, "?") else json.loads(value))
            probes[-1] = Probe(**{**probes[-1].__dict__, "samples": (*probes[-1].samples, sample)})
        elif line and not line.startswith("#"):
            expression, _, type_ = line.rpartition(" :: ")
            probes.append(Probe(topic, expression, type_, ()))
    return tuple(probes)


@dataclass(frozen=True)
class Found:
    """What an engine gave: the type per expression, the value per sample."""

    types: Mapping[str, str]
    values: Mapping[str, tuple[Any, ...]]


def compute(probes: tuple[Probe, ...], engine: str, folder: Path, *, spark: Any = None) -> Found:
    """Compute all probes in one run of one contract."""
    write_contract(probes, folder)
    clock = FixedClock(datetime.fromisoformat("2026-03-28T12:00:00+00:00"))
    with DataProcessor(folder / "contract.yaml", engine, spark, settings=read_settings(ENVIRON), clock=clock) as run:
        run.run()
    types = read_types(str(folder / "out"))
    good = {row["probe"]: row for row in read_rows(str(folder / "out")).rows}
    bad = {row["probe"] for row in read_rows(str(folder / "out_quarantine")).rows}
    values: dict[str, list[Any]] = {probe.expression: [] for probe in probes}
    for number, at, probe, _ in _numbered(probes):
        values[probe.expression].append(ERROR if number in bad else plain(good[number][_column(at, probe)]))
    found = {probe.expression: types[_column(at, probe)] for at, probe in enumerate(probes)}
    return Found(found, {name: tuple(each) for name, each in values.items()})


def write_contract(probes: tuple[Probe, ...], folder: Path) -> None:
    """The contract of some probes and its source; a row computes its own expression only."""
    columns = {"probe": "int", "at": "int", **COLUMNS, **{f"mask_{name}": "string" for name in MASKS}}
    rows = [{"probe": number, "at": at, **sample.inputs} for number, at, _, sample in _numbered(probes)]
    source = {"columns": columns, "rows": rows}
    (folder / "input.parquet.json").write_text(json.dumps(source), encoding="utf-8")
    write_tables(folder)
    derived = [
        f"CASE WHEN at = {at} THEN {probe.expression} END AS {_column(at, probe)}"
        for at, probe in enumerate(probes)
        if probe.masking is None
    ]
    # One query and not one step each: Spark's optimizer ends in a stack overflow after some hundred nested ones.
    query = f"SELECT {', '.join(['*', *derived])} FROM source"
    masked = [{"name": f"mask_{name}", "type": "string", "pii": True, "masking": name} for name in MASKS]
    plain_fields = [{"name": name, "type": type_} for name, type_ in columns.items() if not name.startswith("mask_")]
    contract = {
        "version": "1.0.0",
        "dataset": "semantics",
        "source": {"path": "input.parquet"},
        "model": {"fields": [*plain_fields, *masked]},
        "transformations": [{"sql": query, "phase": "post"}],
        "materialization": {"strategy": "overwrite", "target_path": "out"},
    }
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract, sort_keys=False), encoding="utf-8")


def _numbered(probes: tuple[Probe, ...]) -> Iterator[tuple[int, int, Probe, Sample]]:
    number = 0
    for at, probe in enumerate(probes):
        for sample in probe.samples:
            yield number, at, probe, sample
            number += 1


def _column(at: int, probe: Probe) -> str:
    return f"mask_{probe.masking}" if probe.masking else f"x{at}"


def render_page(probes: tuple[Probe, ...]) -> str:
    """docs/reference/semantics.md."""
    topics = list(dict.fromkeys(probe.topic for probe in probes))
    count = sum(len(probe.samples) for probe in probes)
    lines = [_HEAD.format(expressions=len(probes), values=count)]
    for topic in topics:
        lines += [f"\n## {topic}\n", "| expression | type | given | gives |", "|---|---|---|---|"]
        for probe in probes:
            if probe.topic == topic:
                lines += _page_lines(probe)
    return "\n".join(lines) + "\n"


def _page_lines(probe: Probe) -> Iterator[str]:
    only = [name for name in ("spark", "duckdb", "polars") if name not in probe.refused]
    where = f" (only on {' and '.join(only)}; refused by the others)" if probe.refused else ""
    for number, sample in enumerate(probe.samples):
        first = f"`{_cell(probe.expression)}`{where}" if number == 0 else ""
        type_ = probe.type if number == 0 else ""
        given = ", ".join(f"{name} = {_told(value)}" for name, value in sample.inputs.items())
        value = "an error: the row goes to quarantine" if sample.value == ERROR else f"`{_cell(_told(sample.value))}`"
        yield f"| {first} | {type_} | `{_cell(given)}` | {value} |"


def _told(value: Any) -> str:
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")


_HEAD = """# Semantics

Written by `make docs` from `tests/data/semantics.txt`; `tests/semantics` computes each of these {values} values of
{expressions} expressions on Spark, DuckDB and Polars, as columns of one contract, and compares value and type. The
author's SQL is Spark SQL in ANSI mode, in the time zone UTC. What would raise in Spark rejects its row and ends no run.
An engine that cannot give Spark's value refuses the expression when the contract is planned.

The columns have these types: `i`, `j` int; `l`, `m` long; `d`, `e` double; `c`, `k` decimal(10,2); `s`, `t` string;
`b` boolean; `dt`, `du` date; `ts` timestamp; `a` array of int; `w` array of string. Timestamps are written in UTC.
Masked values are those of the key `the key of the page on semantics`."""
