"""Everything that the page of benchmarks shows, in one command: measure, keep the numbers, draw, write the page.

    python benchmarks/all.py                               all parts at their full size (an hour on two cores)
    python benchmarks/all.py --quick                       all parts, small: minutes, and numbers that mean little
    python benchmarks/all.py --parts local startup         measure these again, keep the other numbers
    python benchmarks/all.py --parts peers --with --rows 200000
    python benchmarks/all.py --parts                       only draw and write the page again

The numbers are kept in benchmarks/results.json, and docs/benchmarks.md is written from them alone.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PACKAGES = ("lakelogic", "pyspark", "duckdb", "polars", "deltalake", "pyarrow", "sqlglot")


@dataclass(frozen=True)
class Part:
    """A script that prints JSON, or writes it to the file behind `--json`."""

    name: str
    script: str
    full: tuple[str, ...]
    quick: tuple[str, ...]
    prints: bool = True

    def command(self, quick: bool) -> list[str]:
        return [f"benchmarks/{self.script}", *(self.quick if quick else self.full)]


PARTS = (
    Part("validate", "validate_estate.py", ("1000", "--json"), ("100", "--json")),
    Part("startup", "startup.py", (), ("--repeat", "1", "--engines", "duckdb", "polars")),
    Part("local", "local_load.py", ("--rows", "5000000"), ("--rows", "20000", "--repeat", "1")),
    Part("local_csv", "local_load.py", ("--rows", "1000000", "--source", "csv"),
         ("--rows", "20000", "--source", "csv", "--repeat", "1")),
    Part("local_jsonl", "local_load.py", ("--rows", "1000000", "--source", "jsonl"),
         ("--rows", "20000", "--source", "jsonl", "--repeat", "1")),
    Part("checked_load", "checked_load.py", ("--rows", "10000000", "--json"),
         ("--rows", "20000", "--repeat", "1", "--hand-repeat", "1", "--json")),
    Part("peers", "peers/run.py", ("--rows", "1000000"), ("--rows", "20000", "--repeat", "1")),
    Part("same_rows", "checked_load.py", ("--rows", "1000000", "--sources", "parquet", "--engine", "all", "--json"),
         ("--rows", "20000", "--sources", "parquet", "--engine", "all", "--repeat", "1", "--hand-repeat", "1",
          "--json")),
    Part("rules", "rules_grid.py", ("--rows", "1000000"), ("--rows", "20000", "--repeat", "1")),
    Part("merge", "merge_growth.py", ("--json",),
         ("--targets", "20000", "40000", "--batch", "2000", "--repeat", "1", "--json")),
    Part("scd2", "scd2_growth.py", (), ("--sizes", "20000", "40000", "--batch", "2000", "--repeat", "1"), prints=False),
    Part("estate_1", "estate.py", ("--contracts", "1"), ("--contracts", "1"), prints=False),
    Part("estate_50", "estate.py", ("--contracts", "50"), ("--contracts", "9"), prints=False),
    Part("estate_300", "estate.py", ("--contracts", "300"), ("--contracts", "12"), prints=False),
    Part("costs", "costs.py", ("--engine", "spark"),
         ("--engine", "duckdb", "--files", "1", "20", "--commits", "8", "--repeat", "1")),
    Part("tpch", "tpch.py", ("--scale", "1", "--json"), ("--scale", "0.01", "--json")),
)  # fmt: skip


def machine() -> dict[str, Any]:
    """Facts that the numbers depend on; no names of hosts or people."""
    model = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if "model name" in line), "unknown")
    memory = next((int(line.split()[1]) // 2**20 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.split("\n")[0]
    return {"system": f"{platform.system()} {platform.machine()}", "processor": model, "cores": os.cpu_count(),
            "memory_gib": memory, "python": platform.python_version(), "java": java,
            **{name: importlib.metadata.version(name) for name in PACKAGES}}  # fmt: skip


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def measure(part: Part, quick: bool, options: list[str]) -> dict[str, Any]:
    command = [f"benchmarks/{part.script}", *options] if options else part.command(quick)
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "numbers.json"
        extra = [] if part.prints else ["--json", str(told)]
        begun = time.monotonic()
        stdout = subprocess.PIPE if part.prints else sys.stderr
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent / "src"), str(HERE)])}
        arguments = [sys.executable, str(HERE.parent / command[0]), *command[1:], *extra]
        done = subprocess.run(arguments, stdout=stdout, text=True, check=False, env=environ)
        if done.returncode:
            raise SystemExit(f"{part.name} failed with {done.returncode}")
        numbers = _parsed(done.stdout) if part.prints else json.loads(told.read_text())
    return {
        "command": " ".join(["python", *command]),
        "took_s": round(time.monotonic() - begun, 1),
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "quick": quick,
        "numbers": numbers,
    }


def _parsed(text: str) -> Any:
    """One document, or a line of JSON for each result."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", nargs="*", choices=[part.name for part in PARTS], default=None)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "benchmarks.md")
    parser.add_argument(
        "--with", dest="more", nargs=argparse.REMAINDER, default=[], help="options in place of the parts' own"
    )
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else {"parts": {}}
    wanted = [part for part in PARTS if options.parts is None or part.name in options.parts]
    if wanted:
        results["machine"] = machine()
        print(json.dumps(results["machine"], indent=2), file=sys.stderr)
    for part in wanted:
        print(f"\n{part.name}: python {' '.join(part.command(options.quick))}", file=sys.stderr, flush=True)
        results["parts"][part.name] = measure(part, options.quick, options.more)
        options.results.write_text(json.dumps(results, indent=1) + "\n")
    from page import write_page
    from scaling import render

    write_page(results, options.page)
    if {"checked_load", "costs", "validate"} <= set(results["parts"]):
        options.page.with_name("scaling.md").write_text(render(results), encoding="utf-8")


if __name__ == "__main__":
    main()
