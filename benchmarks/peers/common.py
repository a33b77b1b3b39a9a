"""What the scripts of all peers share. They run in environments of their own, so this needs nothing but Python."""

from __future__ import annotations

import argparse
import importlib.metadata
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from workload import CASTS, COLUMNS

Job = Callable[[str, Path], dict[str, Any]]


def measure(package: str, engine: str, job: Job, *, row_verdicts: bool, writes: str) -> None:
    """Run the job some times after a round that warms up, and print what came of it as one line of JSON."""
    options = _arguments()
    seconds, found = [], {}
    for number in range(options.repeat + options.warm_up):
        out = Path(tempfile.mkdtemp(dir=options.scratch))
        begun = time.perf_counter()
        found = job(options.input, out)
        if number >= options.warm_up:
            seconds.append(time.perf_counter() - begun)
        shutil.rmtree(out, ignore_errors=True)
    line = {
        "version": importlib.metadata.version(package),
        "python": platform.python_version(),
        "engine": engine,
        "row_verdicts": row_verdicts,
        "writes": writes,
        "median_s": statistics.median(seconds),
        "seconds": seconds,
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        **found,
    }
    # Some tools print to stdout too: the caller takes the last line.
    print("\n" + json.dumps(line), flush=True)


def spark_session() -> Any:
    """Spark with Delta, with the settings that LakeLogic starts it with where they matter for speed."""
    from pyspark.sql import SparkSession

    jars = ",".join(str(jar) for jar in sorted(Path(os.environ["LAKELOGIC_JARS"]).glob("*.jar")))
    settings = {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.memory": os.environ.get("PEER_DRIVER_MEMORY", "4g"),
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }
    builder = SparkSession.builder.master("local[*]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def typed_columns(raw_prefix: str = "") -> list[str]:
    """Typed columns, and the text of those that are cast where a prefix for it is given."""
    typed = [f"try_cast({c} AS {CASTS[c]}) AS {c}" if c in CASTS else c for c in COLUMNS]
    return typed + ([f"{c} AS {raw_prefix}{c}" for c in CASTS] if raw_prefix else [])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True, help="Parquet file with text in every column")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--scratch", default=None)
    return parser.parse_args()
