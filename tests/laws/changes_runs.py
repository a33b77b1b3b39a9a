"""Tracks over the same batches, each with tables of its own: one engine alone, or engines that take turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.laws.table_changes import TableChanges, write_contract

from lakelogic.core import faults
from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.run.result import RunResult
from lakelogic.table.partition_text import partition_value
from lakelogic.testing.rows import plain

REFUSED = "refused"
TURNS = "turns"
_START = datetime.fromisoformat("2026-03-28T12:00:00+00:00")
_POINTS = (
    "after_prepare", "after_stage", "after_mark_staged", "after_quarantine_commit", "before_target_commit",
    "after_target_commit", "during_run_log", "after_deletes_commit", "after_merge_files", "after_history_scratch",
    "after_store_commit", "after_history_files",
)  # fmt: skip
_BREAKS = 0.3
_AUTHORS = {"LL450"}  # failures that a contract asks for, before anything is published
_OF_THE_RUN = {"_lakelogic_run_id", "_lakelogic_processed_at"}


@dataclass
class Track:
    """A table that is fed by one engine, or by several in turn."""

    name: str
    folder: Path
    engines: tuple[str, ...]
    spark: Any
    why: str = ""  # the last refusal

    def run(self, contract: Mapping[str, Any], number: int, random: Random) -> dict[str, Any] | str:
        """All that the batch says and leaves; an engine that refuses gives its turn to another."""
        write_contract(self.folder / f"{self.name}.yaml", dict(contract), f"{self.name}/out")
        before = self.versions()
        for engine in random.sample(self.engines, len(self.engines)):
            told = self._outcome(engine, number)
            if told != REFUSED:
                return {"told": told, **self.tables()}
            assert self.versions() == before, f"{self.name}: {engine} refused, and changed a table"
        return REFUSED

    def break_down(self, contract: Mapping[str, Any], number: int, random: Random) -> None:
        """A run that ends at a point by chance, as a disk that fails would end it."""
        write_contract(self.folder / f"{self.name}.yaml", dict(contract), f"{self.name}/out")
        faults._reached.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LAKELOGIC_FAULT", random.choice(_POINTS))
            patch.setenv("LAKELOGIC_FAULT_MODE", "raise")
            with suppress(OSError):
                self._outcome(random.choice(self.engines), number)

    def run_again(self, number: int, random: Random) -> None:
        """A rerun changes nothing; a full load is read again, and makes the same rows."""
        before, versions = self.tables()["out"], self.versions()
        told = self._outcome(random.choice(self.engines), number)
        if isinstance(told, dict) and told["status"] == "no_new_data":
            assert self.versions() == versions, f"{self.name}: a rerun changed a table"
        assert self.tables()["out"] == before, f"{self.name}: a rerun changed rows: {told}"

    def _outcome(self, engine: str, number: int) -> dict[str, Any] | str:
        clock = FixedClock(_START + timedelta(days=number // 2))
        spark = self.spark if engine == "spark" else None
        try:
            path = self.folder / f"{self.name}.yaml"
            with DataProcessor(path, engine, spark, settings=Settings(), clock=clock) as processor:
                return _told(processor.run())
        except CapabilityError as error:
            self.why = error.problem.message
            return REFUSED
        except LakeLogicError as error:
            return f"failed: {error.problem.code} {error.problem.message}".replace(self.name, "TRACK")

    def versions(self) -> list[int | None]:
        return [DeltaTable(str(p)).version() if (p / "_delta_log").exists() else None for p in self._places()]

    def tables(self) -> dict[str, Any]:
        return {path.name: _table(path) for path in self._places()}

    def _places(self) -> list[Path]:
        return [self.folder / self.name / name for name in ("out", "out_quarantine")]


def _told(result: RunResult) -> dict[str, Any]:
    return {
        "status": result.status,
        "counts": str(result.counts),
        "changes": str(result.changes),
        "ledger": [str(step) for step in result.ledger],
        "rules": {rule.name: rule.failed for rule in result.rules},
        "events": sorted(event.kind for event in result.events),
    }


def _table(path: Path) -> Mapping[str, Any] | None:
    """The types of a table's columns and its rows, in an order of their own."""
    if not (path / "_delta_log").exists():
        return None
    rows = ({n: plain(v) for n, v in row.items() if n not in _OF_THE_RUN} for row in _rows(path))
    return {
        "columns": {field.name: str(field.type) for field in DeltaTable(str(path)).schema().fields},
        "partitions": DeltaTable(str(path)).metadata().partition_columns,
        "rows": sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows),
    }


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows by the files and partition values of the log: delta-rs' own reader knows no negative decimals there."""
    table = DeltaTable(str(path))
    types = {field.name: field.type for field in pa.schema(table.schema())}
    for file in _live_files(path):
        given = {name: file["partitionValues"].get(name) for name in table.metadata().partition_columns}
        texts = {name: partition_value(value, types[name]).as_py() for name, value in given.items()}
        for row in pq.ParquetFile(path / unquote(file["path"])).read().to_pylist():
            yield {name: {**row, **texts}.get(name) for name in types}


def _live_files(path: Path) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for log in sorted((path / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        for action in actions:
            if "remove" in action:
                found.pop(action["remove"]["path"])
        found |= {action["add"]["path"]: action["add"] for action in actions if "add" in action}
    return list(found.values())


def compare(seed: int, engines: Sequence[str], folder: Path, spark: Any = None, *, strategy: str | None = None) -> str:
    """An engine alone, and all of them taking turns, leave the same after every batch; says what was compared."""
    random = Random(f"changes {seed}")
    # What Spark needs for a batch does not depend on its rows.
    changes = TableChanges(random, strategy, 30 if spark is not None else 9)
    batches = changes.batches()
    folder.mkdir(parents=True)
    alone = engines[0] if spark is not None else random.choice(engines)
    tracks = [Track(alone, folder, (alone,), spark), Track(TURNS, folder, tuple(engines), spark)]
    done = f"{alone} {changes.strategy} {changes.format}"
    for number, batch in enumerate(batches):
        changes.write_batch(folder / "landing", number, batch)
        breaks = batch.contract["source"]["load_mode"] != "full" and random.random() < _BREAKS
        if breaks:
            tracks[1].break_down(batch.contract, number, random)
        found = [track.run(batch.contract, number, random) for track in tracks]
        if found[0] == REFUSED:
            return f"{done}, batch {number} refused: {tracks[0].why}"
        where = f"{folder}, batch {number}: {batch.contract['materialization']}"
        if breaks and isinstance(found[1], dict):
            found[1]["told"] = found[0]["told"]  # the run that finishes a batch speaks of what it did itself
        assert found[0] == found[1], f"{where}\n{difference(alone, found[0], TURNS, found[1])}"
        ended = found[0]["told"]
        if isinstance(ended, str):
            assert ended.split()[1] in _AUTHORS, f"{where}\n{ended}"
            return f"{done}, batch {number} {ended}"
    for track in tracks:
        track.run_again(len(batches) - 1, random)
    return f"{done}, {len(batches)} batches"


def difference(left: str, one: Any, right: str, other: Any) -> str:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return f"{left}: {str(one)[:800]}\n{right}: {str(other)[:800]}"
    lines = []
    for part in sorted({*one, *other}):
        a, b = one.get(part), other.get(part)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict) and "rows" in a and "rows" in b:
            if a["columns"] != b["columns"]:
                lines.append(f"{part} columns: {a['columns']} | {b['columns']}")
            lines += [f"{part}: only {left}: {row}" for row in a["rows"] if row not in b["rows"]]
            lines += [f"{part}: only {right}: {row}" for row in b["rows"] if row not in a["rows"]]
            if not lines:
                lines.append(f"{part} {len(a['rows'])} {len(b['rows'])}")
        else:
            lines.append(f"{part}: {left} {a} | {right} {b}")
    return "\n".join(lines)
