"""A small estate on an object store, and everything a reader could see of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakelogic import DataProcessor
from lakelogic.record.run_log import read_runs
from lakelogic.storage.files import write_file
from lakelogic.storage.tables import find_delta

BUCKET, KEY_ID, SECRET = "lake", "AKIATESTTESTTEST", "a-secret-that-nobody-may-see"
FIRST = "order_id,amount\n1,10\n2,20\n3,-5\n"
SECOND = "order_id,amount\n2,25\n4,abc\n5,50\n,1\n"
CONTRACT = """\
dataset: orders
source: {{ path: "{root}/landing/", pattern: "*.csv", load_mode: {mode} }}
model:
  fields:
    - {{ name: order_id, type: long, required: true }}
    - {{ name: amount, type: "decimal(10,2)" }}
quality:
  row_rules:
    - {{ name: positive, sql: "amount > 0" }}
materialization:
  strategy: {strategy}
  target_path: "{root}/lake/orders"
  primary_key: [order_id]
"""


@dataclass(frozen=True, slots=True)
class Estate:
    """One dataset below one folder of the bucket."""

    folder: Path
    root: str
    engine: str = "duckdb"
    spark: Any = None
    more: dict[str, str] = field(default_factory=dict)

    def declare(self, strategy: str = "append", mode: str = "incremental", extra: str = "") -> None:
        self.contract.write_text(CONTRACT.format(root=self.root, strategy=strategy, mode=mode) + extra)

    @property
    def contract(self) -> Path:
        return self.folder / "contract.yaml"

    def drop(self, name: str, text: str) -> None:
        write_file(f"{self.root}/landing/{name}", text.encode())

    def run(self) -> Any:
        with DataProcessor(self.contract, engine=self.engine, spark=self.spark) as processor:
            return processor.run()

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """A run in a process of its own."""
        command = [sys.executable, "-m", "lakelogic", "run", str(self.contract), "--engine", self.engine, *arguments]
        environ = {**os.environ, **environment}
        return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def visible(self) -> dict[str, Any]:
        """What readers see: rows of both tables, the run log, and how many commits of ours the target has."""
        target = find_delta(f"{self.root}/lake/orders")
        history = target.history() if target else []
        runs = [run for run in read_runs(f"{self.root}/lake/_lakelogic", limit=None) if run.status == "succeeded"]
        return {
            "target": self.rows("orders"),
            "quarantine": self.rows("orders_quarantine"),
            "log": sorted((run.batch, run.rows_read, run.rows_accepted, run.rows_quarantined) for run in runs),
            "commits": sum("lakelogic:orders" in str(entry.get("userMetadata")) for entry in history),
        }

    def rows(self, name: str) -> Counter[str]:
        table = find_delta(f"{self.root}/lake/{name}")
        rows = table.to_pyarrow_table().to_pylist() if table else []
        unstable = ("_lakelogic_run_id", "_lakelogic_processed_at", "_lakelogic_source", "_lakelogic_id")
        plain = [{key: value for key, value in row.items() if key not in unstable} for row in rows]
        return Counter(json.dumps(row, default=str, sort_keys=True) for row in plain)
