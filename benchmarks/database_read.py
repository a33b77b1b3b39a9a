"""Memory while a table of PostgreSQL is read: it must follow the fetch size, not the rows.

    python benchmarks/database_read.py --rows 2000000 --engine spark

Fills a throw-away server with `rows` and ten times as many rows, loads each into a Delta table by a process of its own,
and prints seconds and the highest resident memory of that process and of its JVM.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from tests.servers.postgresql import Server, start_server  # noqa: E402

CONTRACT = """
dataset: events
source:
  path: "${{LAKELOGIC_BENCH_DATABASE}}"
  database: {{ table: events, partition_column: id, num_partitions: 4, fetch_size: 10000 }}
  load_mode: incremental
  watermark_field: at
  lookback: 1m
model:
  fields:
    - {{ name: id, type: long, required: true }}
    - {{ name: customer, type: string }}
    - {{ name: amount, type: "decimal(12,2)", min: 0 }}
    - {{ name: at, type: timestamp }}
primary_key: [id]
materialization: {{ strategy: append, target_path: {target} }}
"""
FILL = """
CREATE UNLOGGED TABLE events AS
SELECT id, 'customer-' || id % 100000 AS customer, (id % 10000)::numeric / 100 AS amount,
       timestamptz '2026-01-01' + id * interval '100 milliseconds' AS at, repeat('x', 50) AS not_declared
FROM generate_series(1, {rows}) AS id
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark")
    given = parser.parse_args()
    with start_server() as server, tempfile.TemporaryDirectory() as folder:
        for rows in (given.rows, 10 * given.rows):
            seconds, python_mb, java_mb = measure(server, Path(folder), rows, given.engine)
            # The pages of the table that the server reads are the server's; only the run is looked at.
            print(f"{rows:>12,} rows  {seconds:7.1f} s  driver {python_mb:6.0f} MB  JVM {java_mb:6.0f} MB")


def measure(server: Server, folder: Path, rows: int, engine: str) -> tuple[float, float, float]:
    server.run("DROP TABLE IF EXISTS events", FILL.format(rows=rows), "ANALYZE events")
    contract = folder / f"{rows}.yaml"
    contract.write_text(CONTRACT.format(target=folder / str(rows) / "lake"))
    command = [sys.executable, "-m", "lakelogic", "run", str(contract), "--engine", engine, "--quiet"]
    environ = {**os.environ, "LAKELOGIC_BENCH_DATABASE": server.url}
    begun = time.monotonic()
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
    peaks = {"python": 0.0, "java": 0.0}
    watcher = threading.Thread(target=_watch, args=(process.pid, peaks))
    watcher.start()
    assert process.wait() == 0
    watcher.join()
    return time.monotonic() - begun, peaks["python"], peaks["java"]


def _watch(pid: int, peaks: dict[str, float]) -> None:
    while (found := _resident_mb(pid)) is not None:
        peaks["python"] = max(peaks["python"], found)
        for child in _children(pid):
            peaks["java"] = max(peaks["java"], _resident_mb(child) or 0)
        time.sleep(0.2)


def _resident_mb(pid: int) -> float | None:
    try:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return None
    return int(fields["VmRSS"].split()[0]) / 1024 if "VmRSS" in fields else None


def _children(pid: int) -> list[int]:
    """All processes below one, by their parents."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    below, found = {pid}, set[int]()
    while below:
        below = {child for child, parent in parents.items() if parent in below}
        found |= below
    return sorted(found)


if __name__ == "__main__":
    main()
