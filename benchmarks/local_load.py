"""The checked load without Spark: DuckDB and Polars, each beside a script by hand and a typed copy; peak memory too.

    python benchmarks/local_load.py --rows 1000000
    python benchmarks/local_load.py --rows 1000000 --source csv
    python benchmarks/local_load.py --rows 1000000 --source jsonl

Every way runs in a process of its own, so that its memory is its own. The script reads, casts, checks with an array of
errors and writes good and bad rows to two Delta tables. It has no journal, no ledger and no lineage.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workload import CASTS, COLUMNS, RULES, contract, generate, named

BAR = 1.5
WAYS = ("typed copy", "hand-written", "checked load")


def checked_load(engine: str) -> Callable[[str, Path], tuple[int, int]]:
    from lakelogic import DataProcessor
    from lakelogic.core.log import configure_log

    configure_log(level="ERROR")

    def job(path: str, out: Path) -> tuple[int, int]:
        (out / "contract.yaml").write_text(contract(path))
        with DataProcessor(out / "contract.yaml", engine=engine) as processor:
            counts = processor.run().counts
        return counts.accepted, counts.quarantined

    return job


def duckdb_rule(sql: str) -> str:
    """A rule in DuckDB's words."""
    return re.sub(r"(\w+) RLIKE ('.*')", lambda m: f"regexp_matches({m[1]}, {m[2].replace(chr(92) * 2, chr(92))})", sql)


def _duckdb_typed(prefix: str = "") -> str:
    return ", ".join(f"TRY_CAST({c} AS {CASTS.get(c, 'VARCHAR')}) AS {prefix}{c}" for c in COLUMNS)


def _duckdb_read(path: str) -> str:
    if path.endswith(".jsonl"):
        return f"read_json('{path}', columns = {{{', '.join(f'{name}: VARCHAR' for name in COLUMNS)}}})"
    if not path.endswith(".csv"):
        return f"read_parquet('{path}')"
    # DuckDB moves even a TRY_CAST of a column into its reader, which then stops at the first bad value.
    texts = ", ".join(f"nullif({name}, '') AS {name}" for name in CASTS)
    return f"(SELECT * REPLACE ({texts}) FROM read_csv('{path}', all_varchar = true))"


def duckdb_by_hand(path: str, out: Path) -> tuple[int, int]:
    import duckdb
    from deltalake import write_deltalake

    casts = [f"CASE WHEN {c} IS NOT NULL AND t_{c} IS NULL THEN '{c} is not {t}' END" for c, t in CASTS.items()]
    rules = [
        f"CASE WHEN NOT ({duckdb_rule(named(r, 't_'))}) THEN $${named(r)}$$ END" for r in RULES
    ]  # fmt: skip
    with duckdb.connect() as connection:
        connection.execute(f"""
            CREATE TEMP TABLE checked AS
            SELECT *, list_filter([{", ".join(casts + rules)}], lambda x: x IS NOT NULL) AS errors
            FROM (SELECT *, {_duckdb_typed("t_")} FROM {_duckdb_read(path)})""")
        good = ", ".join(f"t_{c} AS {c}" for c in COLUMNS)
        parts = {"good": f"SELECT {good} FROM checked WHERE len(errors) = 0",
                 "bad": f"SELECT {', '.join(COLUMNS)}, errors FROM checked WHERE len(errors) > 0"}  # fmt: skip
        for name, query in parts.items():
            write_deltalake(str(out / name), connection.sql(query).to_arrow_reader(100_000))
        counted = connection.execute("SELECT count_if(len(errors) = 0), count(*) FROM checked").fetchone()
    return counted[0], counted[1] - counted[0]


def duckdb_copy(path: str, out: Path) -> tuple[int, int]:
    import duckdb
    from deltalake import write_deltalake

    with duckdb.connect() as connection:
        rows = connection.sql(f"SELECT {_duckdb_typed()} FROM {_duckdb_read(path)}")
        write_deltalake(str(out / "orders"), rows.to_arrow_reader(100_000))
    return 0, 0


def _polars_read(path: str) -> Any:
    import polars as pl

    if path.endswith(".jsonl"):
        return pl.scan_ndjson(path, schema=dict.fromkeys(COLUMNS, pl.String()))
    return pl.scan_csv(path, infer_schema=False) if path.endswith(".csv") else pl.scan_parquet(path)


def _polars_typed(path: str) -> Any:
    import polars as pl

    types = {"order_id": pl.Int64, "amount": pl.Decimal(12, 2), "quantity": pl.Int32, "discount": pl.Float64}
    rows = _polars_read(path)
    return rows.with_columns(
        *[pl.col(name).cast(type_, strict=False).alias(f"t_{name}") for name, type_ in types.items()],
        pl.col("order_date").str.to_date("%Y-%m-%d", strict=False).alias("t_order_date"),
        pl.col("updated_at").str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False).alias("t_updated_at"),
        *[pl.col(name).alias(f"t_{name}") for name in COLUMNS if name not in CASTS],
    )


def polars_by_hand(path: str, out: Path) -> tuple[int, int]:
    import polars as pl

    c = {name: pl.col(f"t_{name}") for name in COLUMNS}
    rules = [
        c["amount"] > 0, c["quantity"].is_between(1, 100), c["email"].str.contains(r"^[^@ ]+@[^@ ]+\.[a-z]+$"),
        c["customer_id"].str.contains("^C[0-9]{7}$"), c["phone"].str.contains(r"^\+[0-9]{6,14}$"),
        c["status"].is_in(["NEW", "PAID", "SHIPPED", "DONE"]), c["country"].is_in(["DE", "FR", "GB", "US", "JP"]),
        c["order_date"] >= pl.date(2020, 1, 1), c["discount"].is_between(0, 90), c["note"].str.len_chars() <= 200,
    ]  # fmt: skip
    failed = [pl.when(~rule).then(pl.lit(named(text))) for rule, text in zip(rules, RULES, strict=True)]
    failed += [
        pl.when(pl.col(n).is_not_null() & c[n].is_null()).then(pl.lit(f"{n} is not {t}")) for n, t in CASTS.items()
    ]
    checked = _polars_typed(path).with_columns(pl.concat_list(failed).list.drop_nulls().alias("errors")).collect()
    is_good = pl.col("errors").list.len() == 0
    good = checked.filter(is_good).select(c[name].alias(name) for name in COLUMNS)
    bad = checked.filter(~is_good).select(*COLUMNS, "errors")
    good.write_delta(str(out / "good"))
    bad.write_delta(str(out / "bad"))
    return len(good), len(bad)


def polars_copy(path: str, out: Path) -> tuple[int, int]:
    import polars as pl

    typed = _polars_typed(path).select(pl.col(f"t_{name}").alias(name) for name in COLUMNS).collect()
    typed.write_delta(str(out / "orders"))
    return 0, 0


def one_way(engine: str, way: str, path: str, repeat: int) -> None:
    """Run one way in this process; the first round is not counted."""
    by_hand = {"duckdb": duckdb_by_hand, "polars": polars_by_hand}
    copies = {"duckdb": duckdb_copy, "polars": polars_copy}
    job = {"typed copy": copies, "hand-written": by_hand}[way][engine] if way != WAYS[-1] else checked_load(engine)
    seconds, cpu_seconds, found = [], [], (0, 0)
    for number in range(repeat + 1):
        out = Path(tempfile.mkdtemp())
        begun, cpu_begun = time.perf_counter(), time.process_time()
        found = job(path, out)
        if number:
            seconds.append(time.perf_counter() - begun)
            cpu_seconds.append(time.process_time() - cpu_begun)
        shutil.rmtree(out, ignore_errors=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    told = {"engine": engine, "name": way, "median_s": statistics.median(seconds), "seconds": seconds,
            "cpu_s": statistics.median(cpu_seconds), "memory_mib": memory, "good": found[0],
            "bad": found[1]}  # fmt: skip
    print(json.dumps(told))


def compare(options: argparse.Namespace, source: str = "parquet") -> list[dict[str, Any]]:
    path = generate(Path(options.cache), options.rows, source)
    results = []
    for engine in options.engines:
        for way in WAYS:
            command = [sys.executable, __file__, "--one", engine, way, "--input", str(path), "--repeat"]
            done = subprocess.run([*command, str(options.repeat)], stdout=subprocess.PIPE, text=True, check=True)
            results.append(json.loads(done.stdout.strip().splitlines()[-1]))
            last = results[-1]
            spent = f"{last['median_s']:6.2f} s  {last['cpu_s']:6.2f} s of CPU  {last['memory_mib']:6} MiB"
            print(f"  {engine:<7} {way:<13} {spent}", file=sys.stderr)
        by_hand, ours = results[-2:]
        assert (by_hand["good"], by_hand["bad"]) == (ours["good"], ours["bad"]), (by_hand, ours)
        print(f"  ours / hand-written {ours['median_s'] / by_hand['median_s']:5.2f}x  (bar {BAR}x)", file=sys.stderr)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--source", choices=("parquet", "csv", "jsonl"), default="parquet")
    parser.add_argument("--engines", nargs="+", choices=("duckdb", "polars"), default=["duckdb", "polars"])
    parser.add_argument("--cache", default=str(Path(tempfile.gettempdir()) / "lakelogic-bench"))
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--input", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_way(*options.one, options.input, options.repeat)
    else:
        results = compare(options, options.source)
        print(json.dumps({"rows": options.rows, "source": options.source, "results": results}))


if __name__ == "__main__":
    main()
