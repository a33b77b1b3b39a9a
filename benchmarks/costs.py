"""What files and commits cost, apart from their rows: the coefficients that docs/scaling.md needs.

    python benchmarks/costs.py --engine spark
    python benchmarks/costs.py --engine duckdb --files 1 50 --commits 10

(a) The same rows in one file and in many. (b) Small appends to one table, one after the other: what one costs, and by
how much the ones at the end cost more than those at the beginning.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lakelogic import DataProcessor
from lakelogic.core.log import configure_log
from lakelogic.core.settings import read_settings

ROWS = 200_000
CONTRACT = """\
dataset: events
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model: { fields: [{ name: id, type: long, required: true }, { name: amount, type: "decimal(10,2)" }] }
quality: { row_rules: [{ sql: "amount >= 0" }] }
materialization: { target_path: lake/events }
"""


def write_rows(landing: Path, name: str, first: int, count: int) -> None:
    rows = "".join(f"{n},{n % 977}.50\n" for n in range(first, first + count))
    (landing / f"{name}.csv").write_text("id,amount\n" + rows)


def estate(folder: Path) -> Path:
    (folder / "landing").mkdir(parents=True)
    (folder / "contract.yaml").write_text(CONTRACT)
    return folder / "landing"


def run(folder: Path, engine: str, spark: Any) -> float:
    begun = time.perf_counter()
    with DataProcessor(folder / "contract.yaml", **({"spark": spark} if spark else {"engine": engine})) as processor:
        processor.run()
    return time.perf_counter() - begun


def files(scratch: Path, options: argparse.Namespace, spark: Any) -> list[dict[str, Any]]:
    found = []
    for number in (options.files[0], *options.files):  # the first one warms up
        seconds = []
        for turn in range(options.repeat):
            folder = scratch / f"files_{len(found)}_{number}_{turn}"
            landing = estate(folder)
            for part in range(number):
                write_rows(landing, f"part{part:05d}", part * (ROWS // number), ROWS // number)
            seconds.append(run(folder, options.engine, spark))
        found.append({"files": number, "rows": ROWS, "median_s": statistics.median(seconds), "seconds": seconds})
        print(f"  {number:>5} files {found[-1]['median_s']:6.2f} s", file=sys.stderr)
    return found[1:]


def commits(scratch: Path, options: argparse.Namespace, spark: Any) -> dict[str, Any]:
    folder = scratch / "commits"
    landing, seconds = estate(folder), []
    for number in range(options.commits):
        write_rows(landing, f"batch{number:05d}", number * 100, 100)
        seconds.append(run(folder, options.engine, spark))
    part = max(1, options.commits // 4)
    first, last = statistics.median(seconds[1 : 1 + part]), statistics.median(seconds[-part:])
    print(f"  {options.commits} commits, {first:.2f} s each at first, {last:.2f} s at the end", file=sys.stderr)
    return {"commits": options.commits, "first_s": first, "last_s": last, "seconds": seconds}


def main() -> None:
    options = arguments()
    configure_log(level="ERROR")
    session = None
    if options.engine == "spark":
        from lakelogic.engine.spark.session import close_session, open_session

        session = open_session(read_settings(os.environ), master="local[*]")
    with tempfile.TemporaryDirectory() as scratch:
        spark = session.spark if session else None
        report = {"engine": options.engine, "files": files(Path(scratch), options, spark),
                  "commits": commits(Path(scratch), options, spark)}  # fmt: skip
    if session:
        close_session(session)
    print(json.dumps(report))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("spark", "duckdb", "polars"), default="spark")
    parser.add_argument("--files", type=int, nargs="+", default=[1, 200])
    parser.add_argument("--commits", type=int, default=24)
    parser.add_argument("--repeat", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
