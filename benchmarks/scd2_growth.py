"""SCD2: is it right on a large dimension, does its cost follow the batch, and what does a hand-written MERGE cost?

    python benchmarks/scd2_growth.py                       1 and 10 million rows, median of 3
    python benchmarks/scd2_growth.py --sizes 100000 1000000 --batch 10000 --repeat 1

(a) A dimension of the first size gets changed, unchanged, late and deleted rows all over its keys; the result is
    compared in DuckDB with a query that knows nothing of ours.
(b) A batch of the same size for a range of keys and some new ones, against a table of each size.
(c) The same batch by the usual two-pass MERGE with staged updates, written well: it prunes by the batch's key range.
Seconds are of this machine and this run; only the ratios mean something elsewhere.
"""

from __future__ import annotations

import argparse
import json
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
REPORTED = (
    "numTargetFilesRemoved", "numTargetFilesAdded", "numTargetRowsCopied", "numTargetRowsUpdated",
    "numTargetRowsInserted", "numTargetRowsDeleted", "numTargetBytesRemoved", "numTargetBytesAdded",
)  # fmt: skip


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


def range_batch(size: int, count: int) -> str:
    """Nine of ten change customers of one range of keys, one of ten is new."""
    known, new = count * 9 // 10, count // 10
    later = {"at": "TIMESTAMP'2024-02-01 00:00:00Z'", "tier": "concat('moved ', id % 5)"}
    return " UNION ALL ".join(
        [
            rows(f"SELECT id + {size // 2} AS id FROM range({known})", **later),
            rows(f"SELECT id + {size} AS id FROM range({new})", **later),
        ]
    )


def run(spark: Any, estate: Path, source: Path) -> Any:
    return DataProcessor(estate / "contract.yaml", spark=spark).run_source(str(source))


def make_estate(spark: Any, folder: Path, size: int) -> Path:
    estate = folder / f"estate_{size}"
    estate.mkdir(parents=True)
    (estate / "contract.yaml").write_text(CONTRACT.format())
    base = write_rows(spark, rows(f"SELECT id FROM range({size})"), folder / f"base_{size}")
    begun = time.monotonic()
    run(spark, estate, base)
    print(f"  first load of {size:,} rows: {time.monotonic() - begun:.1f} s", flush=True)
    return estate


def copied(estate: Path, name: str) -> Path:
    """A copy by hard links: files of Delta tables never change."""
    target = estate.parent / name
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-al", str(estate), str(target)], check=True)
    return target


def metrics(table: Path) -> dict[str, int]:
    last = DeltaTable(str(table)).history(1)[0]["operationMetrics"]
    return {name: int(last[name]) for name in REPORTED if name in last}


def check_against_oracle(table: Path, base: Path, batch: Path) -> int:
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
    columns = "id, name, tier, city, balance, valid_from, valid_to, is_current, version"
    both = f"""
        SELECT count(*) FROM ((SELECT {columns} FROM shown EXCEPT ALL SELECT {columns} FROM expected) UNION ALL
                              (SELECT {columns} FROM expected EXCEPT ALL SELECT {columns} FROM shown))
    """
    return int(connection.execute(both).fetchall()[0][0])


def two_pass_merge(spark: Any, table: Path, batch: Path) -> None:
    """Find what changed, then close and insert in one MERGE: a changed row stands in the source twice."""
    names = ["name", "tier", "city", "balance"]
    updates = spark.read.parquet(str(batch))
    low, high = updates.selectExpr("min(id)", "max(id)").first()
    current = spark.read.format("delta").load(str(table)).where(f"is_current AND id BETWEEN {low} AND {high}")
    differs = " OR ".join(f"NOT (u.{name} <=> c.{name})" for name in names)
    changed = updates.alias("u").join(current.alias("c"), "id").where(f"({differs}) AND u.updated_at > c.valid_from")
    changed = changed.selectExpr("CAST(NULL AS BIGINT) AS merge_key", "u.*", "c.version + 1 AS number")
    staged = updates.selectExpr("id AS merge_key", "*", "1 AS number").unionByName(changed)
    staged.createOrReplaceTempView("staged")
    differs = " OR ".join(f"NOT (s.{name} <=> t.{name})" for name in names)
    spark.sql(f"""
        MERGE INTO delta.`{table}` AS t USING staged AS s
        ON t.id = s.merge_key AND t.is_current AND t.id BETWEEN {low} AND {high}
        WHEN MATCHED AND ({differs}) AND s.updated_at > t.valid_from
            THEN UPDATE SET t.is_current = false, t.valid_to = s.updated_at
        WHEN NOT MATCHED THEN INSERT (id, name, tier, city, balance, op, updated_at, valid_from, valid_to, is_current,
            version, _lakelogic_run_id, _lakelogic_source, _lakelogic_processed_at, _lakelogic_contract_version)
            VALUES (s.id, s.name, s.tier, s.city, s.balance, s.op, s.updated_at, s.updated_at,
            TIMESTAMP'9999-12-31 00:00:00Z', true, s.number, 'by hand', '', current_timestamp(), '')
    """)


def measure(spark: Any, estate: Path, batch: Path, repeat: int) -> dict[str, Any]:
    """Ours and the hand-written one, each on fresh copies, in turns."""
    seconds: dict[str, list[float]] = {"lakelogic": [], "two-pass MERGE": []}
    told: dict[str, Any] = {}
    for number in range(repeat + 1):  # the first turn warms up both
        for name in seconds:
            copy = copied(estate, "turn")
            table = copy / "lake" / "customers"
            begun = time.monotonic()
            if name == "lakelogic":
                run(spark, copy, batch)
            else:
                two_pass_merge(spark, table, batch)
            if number:
                seconds[name].append(time.monotonic() - begun)
            told[name] = metrics(table)
    return {name: {"seconds": round(statistics.median(seconds[name]), 2), **told[name]} for name in seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs=2, default=[1_000_000, 10_000_000])
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scratch", type=Path)
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="lakelogic-scd2-", dir=options.scratch))
    configure_log(level="ERROR")
    try:
        report(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def report(options: argparse.Namespace, scratch: Path) -> None:
    import os

    from lakelogic.engine.spark.session import open_session

    spark = open_session(read_settings(dict(os.environ))).spark
    small, large = options.sizes
    estates = {size: make_estate(spark, scratch, size) for size in options.sizes}

    part = max(1, small // 200)
    batch = write_rows(spark, mixed_batch(small, part), scratch / "mixed")
    copy = copied(estates[small], "mixed_turn")
    begun = time.monotonic()
    run(spark, copy, batch)
    table = copy / "lake" / "customers"
    print(f"(a) {small:,} rows get {10 * part:,} changed, {10 * part:,} unchanged, {part:,} late, {part:,} deleted")
    print(f"    {time.monotonic() - begun:.1f} s  {json.dumps(metrics(table))}")
    print(f"    rows that differ from the oracle: {check_against_oracle(table, scratch / f'base_{small}', batch)}")

    found = {}
    for size in options.sizes:
        path = write_rows(spark, range_batch(size, options.batch), scratch / f"range_{size}")
        found[size] = measure(spark, estates[size], path, options.repeat)
        for name, numbers in found[size].items():
            print(f"(b) {size:,} rows, {options.batch:,} in the batch, {name}: {json.dumps(numbers)}", flush=True)
    ours = {size: found[size]["lakelogic"] for size in options.sizes}
    for what in ("seconds", "numTargetBytesAdded"):
        print(f"(b) {what}, large against small: {ours[large][what] / ours[small][what]:.2f} (bar 2.0)")
    by_hand = found[large]["two-pass MERGE"]["seconds"]
    print(f"(c) against the two-pass MERGE at {large:,}: {ours[large]['seconds'] / by_hand:.2f} (bar 1.3)")


if __name__ == "__main__":
    main()
