"""Checked load against a typed copy and against hand-written PySpark, in one Spark application.

    python benchmarks/checked_load.py                      10 million rows, CSV and Parquet, median of 3
    python benchmarks/checked_load.py --rows 1000000 --repeat 1 --sources parquet
    python benchmarks/checked_load.py --rows 1000000 --engine all    DuckDB and Polars too, beside scripts by hand

Twelve columns, six casts, ten rules (three of them regular expressions), 2 % bad rows, Delta tables as output.
Seconds are of this machine and this run; only the ratios mean something elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import local_load
from workload import CASTS, COLUMNS, RULES, contract, generate, named

from lakelogic import DataProcessor
from lakelogic.core.log import configure_log
from lakelogic.core.settings import read_settings

BARS = {"typed copy": 1.3, "hand-written": 0.5}


def typed_copy(spark: Any, source: str, path: str, out: str) -> None:
    """Read, cast, write: the least that anybody could do."""
    typed = [f"try_cast({c} AS {CASTS[c]}) AS {c}" if c in CASTS else c for c in COLUMNS]
    read(spark, source, path).selectExpr(*typed).write.format("delta").mode("overwrite").save(out)


def hand_written(spark: Any, source: str, path: str, out: str) -> None:
    """What teams write: an array of errors, a filter for each side, two writes, counts."""
    from pyspark.sql import functions as sf

    raw = read(spark, source, path)
    failed = [
        sf.when(sf.expr(f"{c} IS NOT NULL AND try_cast({c} AS {t}) IS NULL"), sf.lit(f"{c} is not {t}"))
        for c, t in CASTS.items()
    ]
    typed = raw.select(
        *[
            sf.expr(f"try_cast({c} AS {CASTS[c]})").alias(f"t_{c}") if c in CASTS else sf.col(c).alias(f"t_{c}")
            for c in COLUMNS
        ],
        *COLUMNS,
    )
    rules = [sf.when(sf.expr(f"NOT ({named(sql, 't_')})"), sf.lit(named(sql))) for sql in RULES]
    checked = typed.withColumn("errors", sf.array_compact(sf.array(*failed, *rules)))
    good = checked.where("size(errors) = 0").select(*[sf.col(f"t_{c}").alias(c) for c in COLUMNS])
    bad = checked.where("size(errors) > 0").select(*COLUMNS, "errors")
    total, good_rows, bad_rows = raw.count(), good.count(), bad.count()
    assert total == good_rows + bad_rows
    good.write.format("delta").mode("overwrite").save(f"{out}/good")
    bad.write.format("delta").mode("overwrite").save(f"{out}/bad")


def read(spark: Any, source: str, path: str) -> Any:
    if source == "csv":
        schema = ", ".join(f"{name} STRING" for name in COLUMNS)
        return spark.read.schema(schema).option("header", True).csv(path)
    return spark.read.parquet(path)


def checked_load(spark: Any, path: str, folder: Path, rules: int = len(RULES)) -> Any:
    """The product: one contract."""
    (folder / "contract.yaml").write_text(contract(path, rules))
    return DataProcessor(folder / "contract.yaml", spark=spark).run()


def measure(work: dict[str, Callable[[str], Any]], rounds: dict[str, int], scratch: Path) -> dict[str, list[float]]:
    """Seconds of each workload, round by round in turn, so that a slow minute of the machine meets all of them.

    The round before the first warms up classes and generated code and is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for number in range(max(rounds.values()) + 1):
        for name, run in work.items():
            if number > rounds[name]:
                continue
            out = scratch / f"{name.replace(' ', '_')}_{number}"
            out.mkdir(parents=True)
            begun = time.perf_counter()
            run(str(out))
            took = time.perf_counter() - begun
            shutil.rmtree(out, ignore_errors=True)
            print(f"  round {number}  {name:<14} {took:7.1f} s", file=sys.stderr, flush=True)
            if number:
                seconds[name].append(took)
    return seconds


def main() -> None:
    options = arguments()
    configure_log(level="ERROR")
    from lakelogic.engine.spark.session import close_session, open_session

    report: dict[str, Any] = {"machine": platform.platform(), "rows": options.rows, "results": []}
    if options.engine in ("spark", "all"):
        session = open_session(read_settings(os.environ), master=options.master)
        with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
            for source in options.sources:
                path = str(generate(Path(options.cache), options.rows, source))
                report["results"] += compare(session.spark, source, path, Path(scratch), options)
        close_session(session)
        report["driver_memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"peak memory of the Python driver: {report['driver_memory_mib']} MiB", file=sys.stderr)
    if options.engine != "spark":
        options.engines = ["duckdb", "polars"] if options.engine == "all" else [options.engine]
        print("\nwithout Spark, from Parquet:", file=sys.stderr)
        report["local"] = local_load.compare(options)
    if options.json:
        print(json.dumps(report, indent=2))


def compare(spark: Any, source: str, path: str, scratch: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    results: list[Any] = []
    work: dict[str, Callable[[str], Any]] = {
        "typed copy": lambda out: typed_copy(spark, source, path, out),
        "checked load": lambda out: results.append(checked_load(spark, path, Path(out))),
        "hand-written": lambda out: hand_written(spark, source, path, out),
    }
    rounds = {"typed copy": options.repeat, "checked load": options.repeat, "hand-written": options.hand_repeat}
    print(f"\n{source}:", file=sys.stderr)
    seconds = measure({name: run for name, run in work.items() if rounds[name]}, rounds, scratch / source)
    counts = results[-1].counts
    print(f"  read {counts.read} = accepted {counts.accepted} + quarantined {counts.quarantined}", file=sys.stderr)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    for name, bar in BARS.items():
        if name in medians:
            ratio = medians["checked load"] / medians[name]
            print(f"  checked load / {name:<13} {ratio:5.2f}x  (bar {bar}x)", file=sys.stderr)
    told = {"read": counts.read, "accepted": counts.accepted, "quarantined": counts.quarantined}
    return [{"source": source, "name": n, "median_s": medians[n], "seconds": seconds[n], **told} for n in seconds]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--hand-repeat", type=int, default=3, help="rounds of the hand-written code; 0: none")
    parser.add_argument("--sources", nargs="+", default=["csv", "parquet"], choices=["csv", "parquet"])
    parser.add_argument("--engine", default="spark", choices=["spark", "duckdb", "polars", "all"])
    parser.add_argument("--master", default="local[*]")
    parser.add_argument(
        "--cache", default=str(Path(tempfile.gettempdir()) / "lakelogic-bench"), help="folder of generated input"
    )
    parser.add_argument("--scratch", default=None, help="folder for output tables, removed afterwards")
    parser.add_argument("--json", action="store_true", help="print all seconds as JSON on stdout")
    return parser.parse_args()


if __name__ == "__main__":
    main()
