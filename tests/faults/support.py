"""A small estate that is loaded in two batches, and everything a reader could see of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core import faults
from lakelogic.core.window import Window
from lakelogic.record.run_log import RunRecord, read_runs

CONTRACT = """\
dataset: orders
source: {{ path: landing, pattern: "*.csv", load_mode: incremental }}
model:
  fields:
    - {{ name: order_id, type: long, required: true }}
    - {{ name: amount, type: "decimal(10,2)" }}
    - {{ name: email, type: string, pii: true, masking: hash }}
quality:
  row_rules:
    - {{ name: positive, sql: "amount > 0" }}
materialization:
  strategy: {strategy}
  target_path: lake/orders
  primary_key: [order_id]
"""
WINDOWED = """\
dataset: orders
source: {{ path: landing, pattern: "*.csv" }}
model: {{ fields: [{{ name: order_id, type: long }}, {{ name: day, type: date }}] }}
materialization:
  strategy: overwrite
  target_path: lake/orders
  partition_by: {partitions}
  reprocess: {{ date_column: day }}
"""
FIRST = "order_id,amount,email\n1,10,a@x.io\n2,20,b@x.io\n3,-5,c@x.io\n"
SECOND = "order_id,amount,email\n2,25,b@x.io\n4,abc,d@x.io\n5,50,e@x.io\n,1,f@x.io\n"
ENVIRONMENT = {"LAKELOGIC_PII_KEY": "a key for tests"}


@dataclass(frozen=True, slots=True)
class Estate:
    """One dataset with its landing folder, in a folder of its own."""

    folder: Path
    engine: str
    spark: Any = None

    @property
    def contract(self) -> Path:
        return self.folder / "contract.yaml"

    def drop(self, name: str, text: str) -> None:
        landing = self.folder / "landing"
        landing.mkdir(exist_ok=True)
        (landing / name).write_text(text)

    def run(self, window: Window | None = None) -> Any:
        """A run in this process, undisturbed."""
        environ = {**os.environ, **ENVIRONMENT}
        processor = DataProcessor(self.contract, engine=self.engine, spark=self.spark, environ=environ)
        try:
            return processor.run(window=window)
        finally:
            processor.close()

    def start(self, *arguments: str, start_new_session: bool = False, **environment: str) -> subprocess.Popen[bytes]:
        """A run in a process of its own, which may be killed."""
        command = [sys.executable, "-m", "lakelogic", "run", str(self.contract), "--engine", self.engine, *arguments]
        environ = {**os.environ, **ENVIRONMENT, **environment}
        return subprocess.Popen(
            command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=start_new_session
        )


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


@contextmanager
def killed_in_process(point: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What runs inside is left at the point by an exception that nothing catches.

    This spares a JVM for each kill. What it does not show, a lock that nobody let go and a Spark that went along, is
    shown by tests that end a process for good.
    """

    def die(pid: int, how: int) -> None:
        assert (pid, how) == (os.getpid(), signal.SIGKILL)
        raise Killed

    faults._reached.clear()
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setenv("LAKELOGIC_FAULT", point)
        patch.setattr(faults.os, "kill", die)
        yield


def make_estate(folder: Path, engine: str, strategy: str, spark: Any = None) -> Estate:
    folder.mkdir(parents=True, exist_ok=True)
    estate = Estate(folder, engine, spark)
    estate.contract.write_text(CONTRACT.format(strategy=strategy))
    return estate


def windowed_contract(partitions: str) -> str:
    """A contract whose days can be replaced."""
    return WINDOWED.format(partitions=partitions)


def visible(estate: Estate) -> dict[str, Any]:
    """What readers see: rows of both tables, and the run log; without what names a single run."""
    lake = estate.folder / "lake"
    return {
        "target": _rows(lake / "orders"),
        "quarantine": _rows(lake / "orders_quarantine"),
        "log": _log(lake / "_lakelogic"),
        "rules": _logged(lake / "_lakelogic", "rules"),
        "steps": _logged(lake / "_lakelogic", "steps"),
        "versions": _batches(lake / "orders"),
    }


def _rows(path: Path) -> Counter[str]:
    if not DeltaTable.is_deltatable(str(path)):
        return Counter()
    rows = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    unstable = ("_lakelogic_run_id", "_lakelogic_processed_at", "_lakelogic_source", "_lakelogic_id", "email")
    plain = [{key: value for key, value in row.items() if key not in unstable} for row in rows]
    return Counter(json.dumps(row, default=str, sort_keys=True) for row in plain)


def _log(folder: Path) -> list[tuple[Any, ...]]:
    runs = read_runs(str(folder), limit=None)
    done = [run for run in runs if run.status == "succeeded"]
    order = _order(runs)
    return sorted((order[run.run_id], run.rows_read, run.rows_accepted, run.rows_quarantined) for run in done)


def _order(runs: Sequence[RunRecord]) -> dict[str, int]:
    """By run that succeeded, which of the published batches it was: one that was given up leaves a gap."""
    batches = {run.run_id: run.batch for run in runs if run.status == "succeeded" and run.batch is not None}
    published = sorted(set(batches.values()))
    return {run_id: 1 + published.index(batch) for run_id, batch in batches.items()}


def _logged(folder: Path, table: str) -> Counter[str]:
    """Rules or steps of the runs that succeeded, by batch; a row that is there twice shows."""
    batches = _order(read_runs(str(folder), limit=None))
    path = str(folder / table)
    rows = DeltaTable(path).to_pyarrow_table().to_pylist() if DeltaTable.is_deltatable(path) else []
    unstable = ("run_id", "started_at", "recorded_at")
    return Counter(
        json.dumps(
            [batches.get(row["run_id"]), {name: value for name, value in row.items() if name not in unstable}],
            sort_keys=True,
        )
        for row in rows
    )


def _batches(path: Path) -> int:
    """How many commits of ours the target has: a batch that was committed twice would show here."""
    history = DeltaTable(str(path)).history() if DeltaTable.is_deltatable(str(path)) else []
    return sum(1 for entry in history if "lakelogic:orders" in str(entry.get("userMetadata", "")))
