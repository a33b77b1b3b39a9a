"""What a command costs before it does anything: whole processes on a contract of a few rows, median of some.

python benchmarks/startup.py
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONTRACT = """\
dataset: customers
source: { path: customers.csv }
model: { fields: [{ name: id, type: int, required: true }, { name: mail, type: string }] }
quality: { row_rules: [{ sql: "mail LIKE '%@%'" }] }
materialization: { strategy: overwrite, target_path: lake/customers }
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--engines", nargs="*", default=["duckdb", "polars", "spark"])
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "contract.yaml"
        path.write_text(CONTRACT)
        path.with_name("customers.csv").write_text("id,mail\n1,a@b.c\n2,none\n")
        commands = {"lakelogic --help": ["--help"], "lakelogic validate": ["validate", str(path)]}
        commands |= {f"lakelogic run --engine {e}": ["run", str(path), "--engine", e] for e in options.engines}
        for name, arguments in commands.items():
            seconds = [timed(arguments) for _ in range(options.repeat)]
            results.append({"name": name, "median_s": statistics.median(seconds), "seconds": seconds})
            print(f"  {name:<30} {results[-1]['median_s']:5.2f} s", file=sys.stderr)
    print(json.dumps({"results": results}))


def timed(arguments: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "lakelogic", *arguments], check=True, capture_output=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
