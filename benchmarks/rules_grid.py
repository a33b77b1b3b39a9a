"""What more rules and more bad rows cost: 1, 10, 50, 200 rules and 0, 2, 50 % bad rows, against a typed copy, on Spark.

python benchmarks/rules_grid.py --rows 1000000
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from checked_load import checked_load, measure, typed_copy
from workload import generate

from lakelogic.core.log import configure_log
from lakelogic.core.settings import read_settings

# (rules, percent of bad rows)
GRID = ((1, 2), (10, 2), (50, 2), (200, 2), (10, 0), (10, 50))


def main() -> None:
    options = arguments()
    configure_log(level="ERROR")
    from lakelogic.engine.spark.session import close_session, open_session

    session = open_session(read_settings(os.environ), master="local[*]")
    spark, paths = session.spark, {}
    for bad in sorted({bad for _, bad in GRID}):
        paths[bad] = str(generate(Path(options.cache), options.rows, "parquet", bad))
    counts: dict[str, Any] = {}

    def run(rules: int, bad: int, out: str) -> None:
        counts[f"{rules} rules, {bad} % bad"] = checked_load(spark, paths[bad], Path(out), rules).counts

    work = {"typed copy": lambda out: typed_copy(spark, "parquet", paths[2], out)}
    work |= {f"{r} rules, {b} % bad": lambda out, r=r, b=b: run(r, b, out) for r, b in GRID}
    with tempfile.TemporaryDirectory() as scratch:
        seconds = measure(work, dict.fromkeys(work, options.repeat), Path(scratch))
    close_session(session)
    copy = statistics.median(seconds["typed copy"])
    results = [{"rules": 0, "bad": 2, "name": "typed copy", "median_s": copy, "seconds": seconds["typed copy"]}]
    for rules, bad in GRID:
        name = f"{rules} rules, {bad} % bad"
        assert counts[name].quarantined == options.rows * bad // (200 if rules < 3 else 100), counts[name]
        took = statistics.median(seconds[name])
        results.append({"rules": rules, "bad": bad, "name": name, "median_s": took, "seconds": seconds[name]})
        print(f"  {name:<20} {took:6.1f} s  {took / copy:5.2f}x of the copy", file=sys.stderr)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"rows": options.rows, "results": results, "driver_memory_mib": memory}))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cache", default=str(Path(tempfile.gettempdir()) / "lakelogic-bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
