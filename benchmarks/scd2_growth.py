"""SCD2: is it right on a large dimension, does its cost follow the batch, and what does a hand-written MERGE cost?

    python benchmarks/scd2_growth.py --check               1 and 10 million rows, median of 3
    python benchmarks/scd2_growth.py --sizes 100000 300000 --batch 10000 --repeat 1
    python benchmarks/scd2_growth.py --keep /tmp/scd2      first loads are kept there, and taken from there again

(a) A dimension of the first size gets changed, unchanged, late and deleted rows all over its keys.
(b) A batch for a range of keys and some new ones, against a table of each size that is clustered by key. Every round
    is at another place of the table.
(c) The same batches by hand, in turns with ours: the usual two passes (a MERGE closes the current versions of what
    changed, an INSERT adds the new ones), and the MERGE that does both from a source in which changed rows stand
    twice. Both prune by the batch's range of keys, like a careful author would.
With --check what all of them leave is compared, in DuckDB, with a query that knows nothing of ours.
Seconds are of this machine and this run; only the ratios mean something elsewhere. CPU seconds are those of Spark
and Python together; they say what a busy machine hides.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core.log import configure_log
from lakelogic.core.settings import read_settings

CONTRACT = """
version: "1.0.0"
dataset: customers
source: {{ path: base }}
model:
  fields:
    - {{ name: id, type: long, required: true }}
    - {{ name: name, type: string }}
    - {{ name: tier, type: string }}
    - {{ name: city, type: string }}
    - {{ name: balance, type: double }}
    - {{ name: op, type: string }}
    - {{ name: updated_at, type: timestamp, required: true }}
materialization:
  strategy: scd2
  target_path: lake/customers
  primary_key: [id]
  merge: {{ delete_when: "op = 'D'" }}
  scd2: {{ timestamp_field: updated_at, track_columns: [name, tier, city, balance] }}
"""
# A row of the dimension; {tier} and {at} differ between base and batches.
ROW = """
id, concat('customer ', id) AS name, {tier} AS tier, concat('city ', id % 997) AS city,
CAST(id % 100003 AS DOUBLE) / 7 AS balance, {op} AS op, {at} AS updated_at
"""
BASE = {"tier": "concat('tier ', id % 5)", "op": "CAST(NULL AS STRING)", "at": "TIMESTAMP'2024-01-10 00:00:00Z'"}
VERSION = "id, name, tier, city, balance, valid_from, valid_to, is_current, version"
TRACKED = ["name", "tier", "city", "balance"]
BARS = {"growth in seconds": 2.0, "growth in bytes rewritten": 2.0, "two-pass MERGE": 1.3}


def rows(ids: str, **made: str) -> str:
    return f"SELECT {ROW.format(**{**BASE, **made})} FROM ({ids})"


def write_rows(spark: Any, query: str, path: Path) -> Path:
    spark.sql(query).write.mode("overwrite").parquet(str(path))
    return path


def mixed_batch(size: int, part: int) -> str:
    """Keys all over the table: ten parts changed, ten unchanged, one late, one deleted."""
    step = size // (22 * part)

    def ids(first: int, count: int) -> str:
        return f"SELECT (id + {first}) * {step} AS id FROM range({count})"

    later = {"at": "TIMESTAMP'2024-02-01 00:00:00Z'"}
    return " UNION ALL ".join(
        [
            rows(ids(0, 10 * part), tier="concat('moved ', id % 5)", **later),
            rows(ids(10 * part, 10 * part), **later),
            rows(ids(20 * part, part), tier="'before'", at="TIMESTAMP'2024-01-05 00:00:00Z'"),
            rows(ids(21 * part, part), op="'D'", **later),
        ]
    )


def range_batch(size: int, count: int, place: float) -> str:
    """Nine of ten change customers of one range of keys, one of ten is new."""
    known, new = count * 9 // 10, count // 10
    later = {"at": "TIMESTAMP'2024-02-01 00:00:00Z'", "tier": "concat('moved ', id % 5)"}
    return " UNION ALL ".join(
        [
            rows(f"SELECT id + {int((size - known) * place)} AS id FROM range({known})", **later),
            rows(f"SELECT id + {size} AS id FROM range({new})", **later),
        ]
    )


def run(spark: Any, estate: Path, source: Path) -> Any:
    return DataProcessor(estate / "contract.yaml", spark=spark).run_source(str(source))


def make_estate(spark: Any, folder: Path, size: int) -> Path:
    """A table that LakeLogic itself has loaded; beside it lies what it was loaded from."""
    estate = folder / f"estate_{size}"
    if estate.exists():
        return estate
    loading = folder / f"loading_{size}"
    shutil.rmtree(loading, ignore_errors=True)
    loading.mkdir(parents=True)
    (loading / "contract.yaml").write_text(CONTRACT.format())
    base = write_rows(spark, rows(f"SELECT id FROM range({size})"), folder / f"base_{size}")
    begun = time.monotonic()
    run(spark, loading, base)
    print(f"    first load of {size:,} rows: {time.monotonic() - begun:.1f} s", flush=True)
    return loading.rename(estate)


def copied(estate: Path, name: str) -> Path:
    """A copy by hard links: files of Delta tables never change."""
    target = estate.parent / name
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-al", str(estate), str(target)], check=True)
    return target


def metrics(table: Path, since: int) -> dict[str, int]:
    """What the commits after a version did, by the table's log."""
    found = {"files_rewritten": 0, "bytes_rewritten": 0, "files_added": 0, "bytes_added": 0, "rows_copied": 0}
    for path in sorted((table / "_delta_log").glob("*.json")):
        if int(path.stem) <= since:
            continue
        for action in map(json.loads, path.read_text().splitlines()):
            for kind, name in (("remove", "rewritten"), ("add", "added")):
                if kind in action:
                    found[f"files_{name}"] += 1
                    found[f"bytes_{name}"] += action[kind]["size"]
            told = action.get("commitInfo", {}).get("operationMetrics", {})
            found["rows_copied"] += int(told.get("numTargetRowsCopied", 0))
    return found


def cpu_seconds() -> float:
    """Of this process and its children, Spark's among them."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.parent.name, stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if str(os.getpid()) in (pid, rest[1]):
            ticks += int(rest[11]) + int(rest[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def count_differences(table: Path, base: Path, batch: Path) -> int:
    """Rows in which the table and an independent query differ."""
    shown = DeltaTable(str(table)).to_pyarrow_dataset()
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("shown", shown)
    connection.execute(f"""
        CREATE TABLE expected AS
        WITH seen AS (
            SELECT * FROM read_parquet('{base}/*.parquet') UNION ALL SELECT * FROM read_parquet('{batch}/*.parquet')
        ), ordered AS (
            SELECT *, lag((name, tier, city, balance)) OVER w AS before, lag(op) OVER w AS before_op,
                   row_number() OVER w AS place
            FROM seen WINDOW w AS (PARTITION BY id ORDER BY updated_at)
        ), bounds AS (
            SELECT *, op IS DISTINCT FROM 'D' AS opens FROM ordered
            WHERE place = 1 OR op = 'D' OR before_op = 'D' OR before IS DISTINCT FROM (name, tier, city, balance)
        ), ended AS (SELECT *, lead(updated_at) OVER (PARTITION BY id ORDER BY updated_at) AS until FROM bounds)
        SELECT id, name, tier, city, balance, updated_at AS valid_from,
               coalesce(until, TIMESTAMPTZ '9999-12-31 00:00:00+00') AS valid_to, until IS NULL AS is_current,
               row_number() OVER (PARTITION BY id ORDER BY updated_at) AS version
        FROM ended WHERE opens
    """)
    both = f"""
        SELECT count(*) FROM ((SELECT {VERSION} FROM shown EXCEPT ALL SELECT {VERSION} FROM expected) UNION ALL
                              (SELECT {VERSION} FROM expected EXCEPT ALL SELECT {VERSION} FROM shown))
    """
    return int(connection.execute(both).fetchall()[0][0])


INSERTED = f"""
    ({VERSION}, op, updated_at, _lakelogic_run_id, _lakelogic_source, _lakelogic_processed_at,
     _lakelogic_contract_version)
"""
INSERTED_VALUES = """
    s.id, s.name, s.tier, s.city, s.balance, s.updated_at, TIMESTAMP'9999-12-31 00:00:00Z', true, {number}, s.op,
    s.updated_at, 'by hand', '', current_timestamp(), ''
"""


def differs(one: str, other: str) -> str:
    return " OR ".join(f"NOT ({one}.{name} <=> {other}.{name})" for name in TRACKED)


def read_updates(spark: Any, batch: Path) -> tuple[Any, str]:
    """The batch, and its range of keys as a condition: without it a MERGE reads the whole table."""
    updates = spark.read.parquet(str(batch))
    updates.createOrReplaceTempView("updates")
    low, high = updates.selectExpr("min(id)", "max(id)").first()
    return updates, f"id BETWEEN {low} AND {high}"


def two_pass_merge(spark: Any, table: Path, batch: Path) -> None:
    """Close what changed, then insert whatever has no current version."""
    _, near = read_updates(spark, batch)
    spark.sql(f"""
        MERGE INTO delta.`{table}` AS t USING updates AS s ON t.id = s.id AND t.is_current AND t.{near}
        WHEN MATCHED AND ({differs("s", "t")}) AND s.updated_at > t.valid_from
            THEN UPDATE SET t.is_current = false, t.valid_to = s.updated_at
    """)
    spark.sql(f"""
        INSERT INTO delta.`{table}` {INSERTED}
        SELECT {INSERTED_VALUES.format(number="coalesce(c.number, 0) + 1")} FROM updates AS s LEFT JOIN (
            SELECT id, max(version) AS number, max(is_current) AS open FROM delta.`{table}` WHERE {near} GROUP BY id
        ) AS c ON c.id = s.id
        WHERE NOT coalesce(c.open, false)
    """)


def one_merge(spark: Any, table: Path, batch: Path) -> None:
    """Find what changed, then close and insert in one MERGE: a changed row stands in the source twice."""
    updates, near = read_updates(spark, batch)
    current = spark.read.format("delta").load(str(table)).where(f"is_current AND {near}")
    changed = (
        updates.alias("s").join(current.alias("t"), "id").where(differs("s", "t")).where("s.updated_at > valid_from")
    )
    changed = changed.selectExpr("CAST(NULL AS BIGINT) AS merge_key", "s.*", "version + 1 AS number")
    staged = updates.selectExpr("id AS merge_key", "*", "1 AS number").unionByName(changed)
    staged.createOrReplaceTempView("staged")
    spark.sql(f"""
        MERGE INTO delta.`{table}` AS t USING staged AS s ON t.id = s.merge_key AND t.is_current AND t.{near}
        WHEN MATCHED AND ({differs("s", "t")}) AND s.updated_at > t.valid_from
            THEN UPDATE SET t.is_current = false, t.valid_to = s.updated_at
        WHEN NOT MATCHED THEN INSERT {INSERTED} VALUES ({INSERTED_VALUES.format(number="s.number")})
    """)


def timed(spark: Any, estate: Path, batch: Path, name: str) -> tuple[Path, dict[str, float]]:
    """One way to bring a batch into a fresh copy of a table."""
    copy = copied(estate, "turn")
    table = copy / "lake" / "customers"
    since = DeltaTable(str(table)).version()
    begun, cpu = time.monotonic(), cpu_seconds()
    match name:
        case "LakeLogic":
            run(spark, copy, batch)
        case "two-pass MERGE":
            two_pass_merge(spark, table, batch)
        case _:
            one_merge(spark, table, batch)
    spent = {"seconds": time.monotonic() - begun, "cpu": cpu_seconds() - cpu}
    return table, {**spent, **metrics(table, since)}


def measure(spark: Any, folder: Path, size: int, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Ours and the hand-written ones in turns; medians over rounds at different places."""
    found: dict[str, list[dict[str, float]]] = {"LakeLogic": [], "two-pass MERGE": [], "one MERGE": []}
    for number in range(options.repeat + 1):  # the first round warms up all of them
        place = (number + 0.5) / (options.repeat + 1)
        batch = write_rows(spark, range_batch(size, options.batch, place), folder / "range")
        for name, rounds in found.items():
            table, numbers = timed(spark, folder / f"estate_{size}", batch, name)
            if number:
                rounds.append(numbers)
            if options.check and number == options.repeat:
                tell_differences(table, folder / f"base_{size}", batch, name)
    return {name: _middle(rounds) for name, rounds in found.items()}


def _middle(rounds: list[dict[str, float]]) -> dict[str, float]:
    numbers = {name: round(statistics.median(r[name] for r in rounds), 2) for name in rounds[0]}
    return {**numbers, "slowest": round(max(r["seconds"] for r in rounds), 2)}


def tell_differences(table: Path, base: Path, batch: Path, name: str) -> None:
    print(f"    {name}: {count_differences(table, base, batch)} rows differ from the oracle", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs=2, default=[1_000_000, 10_000_000])
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="compare every result of the last round with the oracle")
    parser.add_argument("--keep", type=Path, help="folder for the first loads, which are taken from there if there")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    options = parser.parse_args()
    scratch = options.keep or Path(tempfile.mkdtemp(prefix="lakelogic-scd2-"))
    configure_log(level="ERROR")
    try:
        report(options, scratch)
    finally:
        if options.keep is None:
            shutil.rmtree(scratch, ignore_errors=True)


def report(options: argparse.Namespace, scratch: Path) -> None:
    from lakelogic.engine.spark.session import open_session

    spark = open_session(read_settings(dict(os.environ))).spark
    small, large = options.sizes
    for size in options.sizes:
        make_estate(spark, scratch, size)
    report_mixed(spark, scratch, small)
    found = {}
    for size in options.sizes:
        found[size] = measure(spark, scratch, size, options)
        for name, numbers in found[size].items():
            print(f"(b) {size:,} rows, {options.batch:,} in the batch, {name}: {json.dumps(numbers)}", flush=True)
    ours, twice = found[large]["LakeLogic"], found[small]["LakeLogic"]
    ratios = {
        "growth in seconds": ours["seconds"] / twice["seconds"],
        "growth in bytes rewritten": ours["bytes_rewritten"] / twice["bytes_rewritten"],
    }
    for size in options.sizes:
        for name in ("two-pass MERGE", "one MERGE"):
            for what in ("seconds", "cpu"):
                by_hand = found[size][name][what]
                ratios[f"{name}, {what}, {size:,}"] = found[size]["LakeLogic"][what] / by_hand
    for name, ratio in ratios.items():
        bar = next((f"  (bar {BARS[key]})" for key in BARS if name in (key, f"{key}, seconds, {large:,}")), "")
        print(f"    {name:<40} {ratio:5.2f}x{bar}")
    if options.json:
        sizes = {str(size): numbers for size, numbers in found.items()}
        options.json.write_text(json.dumps({"batch": options.batch, "results": sizes, "ratios": ratios}))


def report_mixed(spark: Any, scratch: Path, size: int) -> None:
    """Changed, unchanged, late and deleted rows; twice, because the first time Spark is cold."""
    part = max(1, size // 200)
    batch = write_rows(spark, mixed_batch(size, part), scratch / "mixed")
    print(f"(a) {size:,} rows get {10 * part:,} changed, {10 * part:,} unchanged, {part:,} late, {part:,} deleted")
    for _ in range(2):
        table, numbers = timed(spark, scratch / f"estate_{size}", batch, "LakeLogic")
        print(f"    {json.dumps({name: round(number, 1) for name, number in numbers.items()})}")
    tell_differences(table, scratch / f"base_{size}", batch, "LakeLogic")


if __name__ == "__main__":
    main()
