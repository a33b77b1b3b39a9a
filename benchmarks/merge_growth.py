"""A batch merged into tables of growing size, and against a hand-written MERGE, in one Spark application.

    python benchmarks/merge_growth.py                      100k rows into 1M and 10M, median of 3
    python benchmarks/merge_growth.py --targets 200000 400000 --batch 20000 --repeat 1

Targets are clustered by key, in files of the same number of rows, so that a batch of neighbouring keys touches the
same number of files whatever the size of the table. Half of the batch are new versions of rows that are there, a
tenth of it are new keys, the rest are keys in a second cluster. Seconds are of this machine and this run; only the
ratios mean something elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core.log import configure_log
from lakelogic.core.settings import read_settings

BARS = {"growth in seconds": 2.0, "growth in bytes rewritten": 2.0, "hand-written": 1.15}
ROWS_PER_FILE = 100_000
COLUMNS = (
    "id AS order_id",
    "concat('C', lpad(CAST(pmod(hash(id), 1000000) AS STRING), 7, '0')) AS customer_id",
    "concat('user', id % 500000, '@example', id % 50, '.com') AS email",
    "CAST((1 + pmod(hash(id * 3), 100000)) / 100 AS DECIMAL(12,2)) AS amount",
    "CAST(1 + pmod(hash(id * 5), 20) AS INT) AS quantity",
    "element_at(array('NEW', 'PAID', 'SHIPPED', 'DONE'), CAST(1 + id % 4 AS INT)) AS status",
    "timestamp_seconds(1767225600 + id % 25000000 + {age}) AS updated_at",
    "concat('note for order ', id) AS note",
)
TYPES = {"order_id": "long", "amount": "decimal(12,2)", "quantity": "int", "updated_at": "timestamp"}
NAMES = [column.rsplit(" AS ", 1)[-1] for column in COLUMNS]


def contract(source: str) -> str:
    """The whole job, as LakeLogic's users write it."""
    fields = "".join(f'    - {{ name: {name}, type: "{TYPES.get(name, "string")}" }}\n' for name in NAMES)
    return (
        f'dataset: orders\nsource: {{ path: "{source}" }}\nmodel:\n  fields:\n{fields}'
        'quality: { row_rules: [{ sql: "amount > 0" }, { sql: "quantity BETWEEN 1 AND 100" }] }\n'
        "materialization: { strategy: merge, target_path: lake/orders, primary_key: [order_id] }\n"
    )


def make_target(spark: Any, folder: Path, rows: int) -> Path:
    """A table that LakeLogic itself has written, clustered by key."""
    path = folder / f"target_{rows}"
    source = path / "source"
    files = max(1, rows // ROWS_PER_FILE)
    frame = spark.range(0, rows, 1, files).selectExpr(*[column.format(age=0) for column in COLUMNS])
    frame.write.parquet(str(source))
    (path / "contract.yaml").write_text(contract(str(source)))
    # One file of the table for each file read, so that files are of one size whatever the size of the table.
    spark.conf.set("spark.sql.files.openCostInBytes", str(128 * 2**20))
    DataProcessor(path / "contract.yaml", spark=spark).run()
    spark.conf.unset("spark.sql.files.openCostInBytes")
    shutil.rmtree(source)
    return path


def make_batch(spark: Any, folder: Path, target: int, rows: int) -> str:
    """New versions of neighbours in the middle and near the end, and new keys behind the end."""
    middle, near, fresh = rows // 2, rows * 4 // 10, rows - rows // 2 - rows * 4 // 10
    parts = [(target // 2, middle), (target - near, near), (target, fresh)]
    path = str(folder / f"batch_{target}")
    frames = [spark.range(start, start + count, 1, 2) for start, count in parts]
    keys = frames[0].union(frames[1]).union(frames[2])
    keys.selectExpr(*[column.format(age=60) for column in COLUMNS]).write.parquet(path)
    return path


def ours(spark: Any, batch: str, folder: Path) -> Any:
    """Read, check, stage, merge: one run of the contract."""
    (folder / "contract.yaml").write_text(contract(batch))
    return DataProcessor(folder / "contract.yaml", spark=spark).run()


def hand_written(spark: Any, batch: str, folder: Path) -> None:
    """What people write: read the source, MERGE by key."""
    spark.read.parquet(batch).createOrReplaceTempView("updates")
    sets = ", ".join(f"t.{name} = s.{name}" for name in NAMES)
    values = ", ".join(f"s.{name}" for name in NAMES)
    spark.sql(
        f"MERGE INTO delta.`{folder}/lake/orders` t USING updates s ON t.order_id = s.order_id "
        f"WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED THEN INSERT ({', '.join(NAMES)}) VALUES ({values})"
    )


def measure(ways: Mapping[str, Callable[[Path], Any]], target: Path, repeat: int, warm_up: int) -> list[dict[str, Any]]:
    """Seconds of each round and the bytes that the last one rewrote; every round starts from the same table.

    The ways take turns: the JVM gets faster with every MERGE, whoever asked for it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    metrics: dict[str, dict[str, Any]] = {}
    for number in range(repeat + warm_up):
        for name, work in ways.items():
            copy = target.with_name(f"{target.name}_copy")
            shutil.copytree(target, copy, copy_function=os.link)  # files of a table never change
            begun = time.perf_counter()
            work(copy)
            if number >= warm_up:
                seconds[name].append(time.perf_counter() - begun)
            metrics[name] = DeltaTable(str(copy / "lake" / "orders")).history(1)[0]["operationMetrics"]
            shutil.rmtree(copy)
    return [
        {
            "name": name,
            "median_s": statistics.median(seconds[name]),
            "seconds": seconds[name],
            "bytes_rewritten": int(metrics[name]["numTargetBytesRemoved"]),
            "files_rewritten": int(metrics[name]["numTargetFilesRemoved"]),
            "rows_updated": int(metrics[name]["numTargetRowsUpdated"]),
            "rows_inserted": int(metrics[name]["numTargetRowsInserted"]),
        }
        for name in ways
    ]


def main() -> None:
    options = arguments()
    configure_log(level="ERROR")
    from lakelogic.engine.spark.session import close_session, open_session

    session = open_session(read_settings(os.environ), master=options.master)
    spark = session.spark
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        for rows in options.targets:
            target = make_target(spark, Path(scratch), rows)
            batch = make_batch(spark, Path(scratch), rows, options.batch)
            ways = {"LakeLogic": partial(ours, spark, batch), "hand-written": partial(hand_written, spark, batch)}
            for found in measure(ways, target, options.repeat, warm_up=2):
                results.append({"target": rows, **found})
                print(line(results[-1]), file=sys.stderr)
            shutil.rmtree(target)
    close_session(session)
    report = {"machine": platform.platform(), "batch": options.batch, "results": results, "ratios": ratios(results)}
    for name, ratio in report["ratios"].items():
        print(f"  {name:<28} {ratio:5.2f}x  (bar {BARS[name]}x)", file=sys.stderr)
    if options.json:
        print(json.dumps(report, indent=2))


def line(result: dict[str, Any]) -> str:
    shown = ", ".join(f"{second:.1f}" for second in result["seconds"])
    return (
        f"{result['target']:>10} rows  {result['name']:<14} {result['median_s']:6.1f} s ({shown})  "
        f"{result['files_rewritten']} files, {result['bytes_rewritten'] / 2**20:.1f} MiB rewritten, "
        f"{result['rows_updated']} updated, {result['rows_inserted']} inserted"
    )


def ratios(results: list[dict[str, Any]]) -> dict[str, float]:
    """Ours at the largest target against ours at the smallest, and against the hand-written one."""
    mine = [result for result in results if result["name"] == "LakeLogic"]
    small, large, hand = mine[0], mine[-1], results[-1]
    return {
        "growth in seconds": large["median_s"] / small["median_s"],
        "growth in bytes rewritten": large["bytes_rewritten"] / small["bytes_rewritten"],
        "hand-written": large["median_s"] / hand["median_s"],
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--scratch", default=None, help="folder for the tables, removed afterwards")
    parser.add_argument("--json", action="store_true", help="print everything as JSON on stdout")
    return parser.parse_args()


if __name__ == "__main__":
    main()
