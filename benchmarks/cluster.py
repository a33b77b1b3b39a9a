"""A checked load on a Spark cluster of this machine, and the same with a worker killed in the middle.

    python benchmarks/cluster.py                     20 million rows, two workers, kill -9 of one at half time
    python benchmarks/cluster.py --rows 200000       a quick look
    python benchmarks/cluster.py --deduplicate       with a shuffle, whose parts die with the worker

Both runs are the command line as a person types it. The tables must be equal: rows, reasons, counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standalone import Cluster, start_cluster
from workload import contract, generate

# Small parts, so that a kill meets many tasks.
SPARK = "spark: { spark.sql.files.maxPartitionBytes: 16m, spark.sql.shuffle.partitions: 16 }\n"
DEDUPLICATE = "transformations:\n  - deduplicate: { on: [order_id], order_by: [updated_at desc] }\n"


@dataclass(frozen=True)
class Run:
    """One run of the command line: how long it took, what it told, and what it left."""

    seconds: float
    told: dict[str, Any]
    left: dict[str, list[Any]]


def run_contract(folder: Path, text: str, cluster: Cluster, disturb: Callable[[], None] | None, at: float) -> Run:
    folder.mkdir()
    (folder / "contract.yaml").write_text(text)
    command = [sys.executable, "-m", "lakelogic", "run", "contract.yaml", "--master", cluster.address]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    begun = time.perf_counter()
    with subprocess.Popen(
        [*command, "--output", "json"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        if disturb is not None:
            _wait_for_rows(folder / "lake" / "orders", process, at)
            disturb()
        out, _ = process.communicate()
    seconds = time.perf_counter() - begun
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}")
    return Run(seconds, json.loads(out), read_tables(folder))


def _wait_for_rows(table: Path, process: subprocess.Popen[str], at: float) -> None:
    """Until tasks have written about `at` bytes of what the undisturbed run wrote."""
    while _bytes(table) < at:
        if process.poll() is not None:
            raise SystemExit("the run ended before a worker could be killed: take more rows")
        time.sleep(0.05)


def _bytes(table: Path) -> int:
    size = 0
    for folder, _, names in os.walk(table):
        for name in names:
            with suppress(FileNotFoundError):  # tasks move their files when they end
                size += Path(folder, name).stat().st_size if name.endswith(".parquet") else 0
    return size


def read_tables(folder: Path) -> dict[str, list[Any]]:
    """Count, and a sum over all rows that no difference survives, for the table and its quarantine."""
    import duckdb
    from deltalake import DeltaTable

    left = {}
    for path in sorted((folder / "lake").iterdir()):
        if not DeltaTable.is_deltatable(str(path)):
            continue
        rows = DeltaTable(str(path)).to_pyarrow_dataset()
        steady = [name for name in rows.schema.names if not name.startswith("_lakelogic_")]
        listed = ", ".join(f'"{name}"' for name in steady)
        with duckdb.connect() as connection:
            connection.register("rows", rows)
            left[path.name] = list(
                connection.execute(f"SELECT count(*), sum(hash(ROW({listed}))::HUGEINT) FROM rows").fetchall()[0]
            )
    return left


def main() -> None:
    options = arguments()
    source = generate(Path(options.cache), options.rows, "parquet")
    text = contract(str(source)) + SPARK
    if options.deduplicate:
        text = text.replace("quality:\n", DEDUPLICATE + "quality:\n", 1)
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        folder = Path(scratch)
        (folder / "cluster").mkdir()
        with start_cluster(folder / "cluster", workers=2, cores=1, memory="3g") as cluster:
            calm = run_contract(folder / "calm", text, cluster, None, 0)
            size = _bytes(folder / "calm" / "lake" / "orders")
            print(f"undisturbed:   {calm.seconds:6.1f} s  {calm.left}", flush=True)
            hurt = run_contract(folder / "hurt", text, cluster, lambda: cluster.kill_worker(0), size * options.at)
            print(f"worker killed: {hurt.seconds:6.1f} s  {hurt.left}", flush=True)
    equal = calm.left == hurt.left and len(calm.left) == 2
    print("equal" if equal else "DIFFERENT", flush=True)
    sys.exit(0 if equal else 1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="a checked load on a cluster that loses a worker")
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument(
        "--at", type=float, default=0.4, help="share of the bytes that are written when the worker dies"
    )
    parser.add_argument("--deduplicate", action="store_true", help="with a shuffle")
    parser.add_argument("--cache", default=str(Path(tempfile.gettempdir()) / "lakelogic-bench"))
    parser.add_argument("--scratch", default=None, help="where tables are written")
    return parser.parse_args()


if __name__ == "__main__":
    main()
