"""Checked load against a typed copy and against hand-written PySpark, in one Spark application.

    python benchmarks/checked_load.py                      10 million rows, CSV and Parquet, median of 3
    python benchmarks/checked_load.py --rows 1000000 --repeat 1 --sources parquet

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


def checked_load(spark: Any, path: str, folder: Path) -> Any:
    """The product: one contract."""
    (folder / "contract.yaml").write_text(contract(path))
    return DataProcessor(folder / "contract.yaml", spark=spark).run()


def measure(name: str, work: Callable[[str], Any], repeat: int, scratch: Path) -> tuple[float, list[float], Any]:
    seconds, result = [], None
    for number in range(repeat + 1):  # the first round warms up classes and generated code
        out = scratch / f"{name.replace(' ', '_')}_{number}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        begun = time.perf_counter()
        result = work(str(out))
        if number:
            seconds.append(time.perf_counter() - begun)
        shutil.rmtree(out, ignore_errors=True)
    return statistics.median(seconds), seconds, result


def main() -> None:
    options = arguments()
    configure_log(level="ERROR")
    from lakelogic.engine.spark.session import close_session, open_session

    session = open_session(read_settings(os.environ), master=options.master)
    spark = session.spark
    report: dict[str, Any] = {"machine": platform.platform(), "rows": options.rows, "results": []}
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        for source in options.sources:
            path = str(generate(Path(options.cache), options.rows, source))
            report["results"] += compare(spark, source, path, Path(scratch), options.repeat)
    close_session(session)
    report["driver_memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"peak memory of the Python driver: {report['driver_memory_mib']} MiB", file=sys.stderr)
    if options.json:
        print(json.dumps(report, indent=2))


def compare(spark: Any, source: str, path: str, scratch: Path, repeat: int) -> list[dict[str, Any]]:
    copy, copies, _ = measure("typed copy", lambda out: typed_copy(spark, source, path, out), repeat, scratch)
    ours, runs, result = measure("checked load", lambda out: checked_load(spark, path, Path(out)), repeat, scratch)
    hand, hands, _ = measure("hand-written", lambda out: hand_written(spark, source, path, out), repeat, scratch)
    counts = result.counts
    rows = [("typed copy", copy, copies), ("checked load", ours, runs), ("hand-written", hand, hands)]
    print(
        f"\n{source}: read {counts.read} = accepted {counts.accepted} + quarantined {counts.quarantined}",
        file=sys.stderr,
    )
    for name, median, all_seconds in rows:
        shown = ", ".join(f"{second:.1f}" for second in all_seconds)
        print(f"  {name:<14} {median:7.1f} s   ({shown})", file=sys.stderr)
    print(f"  checked load / typed copy    {ours / copy:5.2f}x  (bar {BARS['typed copy']}x)", file=sys.stderr)
    print(f"  checked load / hand-written  {ours / hand:5.2f}x  (bar {BARS['hand-written']}x)", file=sys.stderr)
    return [{"source": source, "name": name, "median_s": median, "seconds": each} for name, median, each in rows]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sources", nargs="+", default=["csv", "parquet"], choices=["csv", "parquet"])
    parser.add_argument("--master", default="local[*]")
    parser.add_argument(
        "--cache", default=str(Path(tempfile.gettempdir()) / "lakelogic-bench"), help="folder of generated input"
    )
    parser.add_argument("--scratch", default=None, help="folder for output tables, removed afterwards")
    parser.add_argument("--json", action="store_true", help="print all seconds as JSON on stdout")
    return parser.parse_args()


if __name__ == "__main__":
    main()
