"""TPC-H's orders and lines as a Bronze-Silver-Gold estate with 40 rules; do the Gold tables answer right?

    python benchmarks/tpch.py --scale 1                    Spark; fetches tpchgen-cli from PyPI once
    python benchmarks/tpch.py --scale 0.01 --engine duckdb

Among the good rows lies one bad row for every row rule of Silver, and one whose number is none. The answers are right
only if exactly those are set aside, each for its reason. Answers are compared with those that the TPC publishes (scale
1), and at every scale with what DuckDB computes from the files that were generated.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

ESTATE = Path(__file__).resolve().parents[1] / "examples" / "tpch" / "contracts"
GENERATOR = "tpchgen-cli==4.0.0"
PLANTED = "planted.csv"
Row = tuple[Any, ...]

# Table of the estate, and the columns that are compared, the first ones telling rows apart.
GOLD = {
    "Q1": ("pricing_summary", ("l_returnflag", "l_linestatus", "sum_qty", "sum_base_price", "sum_disc_price",
           "sum_charge", "avg_qty", "avg_price", "avg_disc", "count_order")),
    "Q4": ("order_priority", ("o_orderpriority", "order_count")),
    "Q6": ("forecast_revenue", ("revenue",)),
    "Q12": ("shipping_modes", ("l_shipmode", "high_line_count", "low_line_count")),
}  # fmt: skip

# The answers for scale 1 that the TPC publishes for validation.
PUBLISHED: dict[str, list[Row]] = {
    "Q1": [
        ("A", "F", "37734107.00", "56586554400.73", "53758257134.87", "55909065222.83", "25.52", "38273.13", "0.05",
         1478493),
        ("N", "F", "991417.00", "1487504710.38", "1413082168.05", "1469649223.19", "25.52", "38284.47", "0.05", 38854),
        ("N", "O", "74476040.00", "111701729697.74", "106118230307.61", "110367043872.50", "25.50", "38249.12", "0.05",
         2920374),
        ("R", "F", "37719753.00", "56568041380.90", "53741292684.60", "55889619119.83", "25.51", "38250.85", "0.05",
         1478870),
    ],
    "Q4": [("1-URGENT", 10594), ("2-HIGH", 10476), ("3-MEDIUM", 10410), ("4-NOT SPECIFIED", 10556), ("5-LOW", 10487)],
    "Q6": [("123141078.23",)],
    "Q12": [("MAIL", 6202, 9324), ("SHIP", 6200, 9262)],
}  # fmt: skip

# The same questions in SQL that knows nothing of contracts, over the generated files.
INDEPENDENT = {
    "Q1": """SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
               sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
               avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
             FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY GROUP BY ALL ORDER BY ALL""",
    "Q4": """SELECT o_orderpriority, count(*) FROM orders
             WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' AND o_orderkey IN (
               SELECT l_orderkey FROM lineitem WHERE l_commitdate < l_receiptdate) GROUP BY ALL ORDER BY ALL""",
    "Q6": """SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE year(l_shipdate) = 1994
               AND l_discount >= 0.05 AND l_discount <= 0.07 AND l_quantity < 24""",
    "Q12": """SELECT l_shipmode, count(*) FILTER (o_orderpriority < '3'), count(*) FILTER (o_orderpriority >= '3')
             FROM lineitem, orders WHERE l_orderkey = o_orderkey AND l_shipmode IN ('MAIL', 'SHIP')
               AND l_shipdate < l_commitdate AND l_commitdate < l_receiptdate AND year(l_receiptdate) = 1994
             GROUP BY ALL ORDER BY ALL""",
}
DECIMALS = {"l_quantity", "l_extendedprice", "l_discount", "l_tax", "o_totalprice"}

# What to change in a good row so that it breaks this rule, by the rule's name.
BAD_ORDERS = {
    "order_key_is_positive": {"o_orderkey": "-1"},
    "order_key_is_sparse": {"o_orderkey": "24"},
    "customer_key_is_positive": {"o_custkey": "-1"},
    "customer_may_order": {"o_custkey": "3"},
    "order_status_is_known": {"o_orderstatus": "X"},
    "price_is_plausible": {"o_totalprice": "0.00"},
    "ordered_within_the_years": {"o_orderdate": "2026-01-01"},
    "order_priority_is_known": {"o_orderpriority": "6-NEVER"},
    "clerk_has_a_number": {"o_clerk": "Clerk#12"},
    "ships_without_priority": {"o_shippriority": "1"},
    "order_comment_fits": {"o_comment": "short"},
    "done_orders_are_old": {"o_orderstatus": "F", "o_orderdate": "1997-01-01"},
    "open_orders_are_new": {"o_orderstatus": "O", "o_orderdate": "1993-08-01"},
    "o_totalprice": {"o_totalprice": "much"},
}
BAD_LINES = {
    "line_key_is_positive": {"l_orderkey": "-1"},
    "part_key_is_positive": {"l_partkey": "-1"},
    "supplier_key_is_positive": {"l_suppkey": "0"},
    "line_number_is_one_of_seven": {"l_linenumber": "8"},
    "quantity_is_at_most_50": {"l_quantity": "51"},
    "quantity_is_whole": {"l_quantity": "1.5"},
    "line_price_is_positive": {"l_extendedprice": "-1.00"},
    "price_is_that_of_the_part": {"l_extendedprice": "1.00"},
    "discount_is_at_most_a_tenth": {"l_discount": "0.11"},
    "tax_is_at_most_8_percent": {"l_tax": "0.09"},
    "return_flag_is_known": {"l_returnflag": "X"},
    "line_status_is_known": {"l_linestatus": "X"},
    "shipped_within_the_years": {"l_shipdate": "1991-12-31"},
    "promised_within_the_years": {"l_commitdate": "1998-11-01"},
    "received_after_shipped": {"l_receiptdate": "1992-01-01"},
    "received_within_a_month": {"l_receiptdate": "1998-12-31"},
    "open_lines_ship_later": {"l_linestatus": "O", "l_shipdate": "1994-03-01"},
    "only_received_lines_return": {"l_returnflag": "R", "l_receiptdate": "1998-12-01"},
    "shipping_instruction_is_known": {"l_shipinstruct": "THROW"},
    "shipping_mode_is_known": {"l_shipmode": "PIGEON"},
    "line_comment_fits": {"l_comment": "short"},
    "l_orderkey is in orders.o_orderkey": {"l_orderkey": "9"},
    "l_quantity": {"l_quantity": "many"},
}
BAD = {"orders": BAD_ORDERS, "lineitem": BAD_LINES}


def generator(cache: Path) -> str:
    """The program that makes the rows; it gets an environment of its own, because nothing else here needs it."""
    found = shutil.which("tpchgen-cli")
    if found:
        return found
    program = cache / "tpchgen" / "bin" / "tpchgen-cli"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(cache / "tpchgen")], check=True)
        subprocess.run([str(program.with_name("pip")), "install", "--quiet", GENERATOR], check=True)
    return str(program)


def generate(scale: str, cache: Path) -> Path:
    """Files of text, as many as a landing folder would have; made once for each scale."""
    folder = cache / f"tpch_{scale}"
    if not folder.exists():
        making = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        wanted = ["--scale-factor", scale, "--tables", "orders,lineitem", "--parts", "8", "--output-dir", str(making)]
        subprocess.run([generator(cache), "csv", *wanted], check=True)
        making.rename(folder)
    return folder


def plant(landing: Path) -> None:
    """Add a file of bad rows to each table: copies of its first row, each with one thing changed."""
    for table, changes in BAD.items():
        first = min(path for path in (landing / table).glob("*.csv") if path.name != PLANTED)
        with first.open(newline="") as lines:
            good = next(csv.DictReader(lines))
        with (landing / table / PLANTED).open("w", newline="") as lines:
            writer = csv.DictWriter(lines, list(good))
            writer.writeheader()
            writer.writerows({**good, **change} for change in changes.values())


def run(landing: Path, lake: Path, engine: str) -> dict[str, Any]:
    """What `lakelogic-driver` says of a run of the whole estate."""
    command = [sys.executable, "-c", "from lakelogic.cli.program import driver; driver()", "--engine", engine,
               "--registry", str(ESTATE / "_registry.yaml"), "--max-workers", "2", "--output", "json"]  # fmt: skip
    environ = {**os.environ, "TPCH_LANDING": str(landing), "TPCH_LAKE": str(lake), "LAKELOGIC_LOG_LEVEL": "ERROR"}
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the pipeline failed with {done.returncode}: {done.stdout[-3000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def answers(lake: Path) -> dict[str, list[Row]]:
    """What the Gold tables say."""
    from deltalake import DeltaTable

    found = {}
    for query, (table, columns) in GOLD.items():
        rows = DeltaTable(str(lake / "gold" / table)).to_pyarrow_table(columns=list(columns)).to_pylist()
        found[query] = sorted(tuple(row[name] for name in columns) for row in rows)
    return found


def independent_answers(landing: Path) -> dict[str, list[Row]]:
    """What DuckDB says of the files without the planted rows."""
    import duckdb

    with duckdb.connect() as connection:
        for table in BAD:
            files = [str(path) for path in (landing / table).glob("*.csv") if path.name != PLANTED]
            with Path(files[0]).open(newline="") as lines:
                names = set(next(csv.reader(lines)))
            types = ", ".join(f"'{name}': 'DECIMAL(15,2)'" for name in sorted(names & DECIMALS))
            connection.execute(
                f"CREATE VIEW {table} AS SELECT * FROM read_csv({files}, header = true, types = {{{types}}})"
            )
        return {query: connection.execute(sql).fetchall() for query, sql in INDEPENDENT.items()}


def differences(found: list[Row], expected: list[Row], digits: int) -> list[str]:
    """Texts and counts must be the same; numbers with a fraction to so many digits."""
    if len(found) != len(expected):
        return [f"{len(found)} rows instead of {len(expected)}"]
    unlike = []
    for ours, theirs in zip(found, expected, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            if not _same(mine, other, digits):
                unlike.append(f"{mine} instead of {other} in {theirs[0]}")
    return unlike


def _same(mine: Any, other: Any, digits: int) -> bool:
    if isinstance(mine, str) or (isinstance(mine, int) and isinstance(other, int)):
        return bool(mine == other)
    return abs(Decimal(str(mine)) - Decimal(str(other))) <= Decimal(1).scaleb(-digits) * Decimal("0.51")


def missed_rules(lake: Path) -> list[str]:
    """Rules whose planted row was not set aside for it, and rows that were set aside without being planted."""
    from deltalake import DeltaTable

    missed = []
    for table, changes in BAD.items():
        path = lake / "silver" / f"{table}_quarantine"
        held = DeltaTable(str(path)).to_pyarrow_table(columns=["_lakelogic_rules", "_lakelogic_errors"]).to_pylist()
        said = [" ".join([*row["_lakelogic_rules"], *row["_lakelogic_errors"]]) for row in held]
        missed += [f"{table}: {rule}" for rule in changes if not any(rule in each for each in said)]
        if len(held) != len(changes):
            missed.append(f"{table}: {len(held)} rows set aside instead of {len(changes)}")
    return missed


def check(lake: Path, landing: Path, scale: str) -> list[str]:
    """Everything that is not as it should be."""
    found, expected = answers(lake), independent_answers(landing)
    wrong = missed_rules(lake)
    for query in GOLD:
        wrong += [f"{query}: {each} (DuckDB)" for each in differences(found[query], expected[query], 4)]
        if scale == "1":
            wrong += [f"{query}: {each} (TPC)" for each in differences(found[query], PUBLISHED[query], 2)]
    return wrong


def measure(options: argparse.Namespace) -> dict[str, Any]:
    landing = generate(options.scale, Path(options.cache))
    plant(landing)
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        lake = Path(scratch) / "lake"
        begun = time.perf_counter()
        result = run(landing, lake, options.engine)
        took = time.perf_counter() - begun
        wrong = check(lake, landing, options.scale)
        shown = {query: [[str(value) for value in row] for row in rows] for query, rows in answers(lake).items()}
    return {"scale": options.scale, "engine": options.engine, "seconds": took, "contracts": steps(result),
            "wrong": wrong, "answers": shown}  # fmt: skip


def steps(result: dict[str, Any]) -> list[dict[str, Any]]:
    found = result["contracts"]
    return [{"dataset": each["dataset"], "status": each["status"], "seconds": each["duration_s"],
             **{name: each[name] for name in ("read", "accepted", "quarantined")}} for each in found]  # fmt: skip


def tell(report: dict[str, Any]) -> None:
    print(f"TPC-H scale {report['scale']} on {report['engine']}: {report['seconds']:.1f} s", file=sys.stderr)
    for each in report["contracts"]:
        numbers = ", ".join(f"{name} {each[name]:,}" for name in ("read", "accepted", "quarantined"))
        print(f"  {each['dataset']:<24} {each['status']:<10} {each['seconds']:6.1f} s  {numbers}", file=sys.stderr)
    for query, rows in report["answers"].items():
        for row in rows:
            print(f"  {query:<4} {'  '.join(row)}", file=sys.stderr)
    published = "and equal to the published ones" if report["scale"] == "1" else "by DuckDB's count"
    print("\n".join(report["wrong"]) or f"all answers are right {published}", file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--engine", choices=("spark", "duckdb", "polars"), default="spark")
    parser.add_argument("--cache", default=str(Path(tempfile.gettempdir()) / "lakelogic-bench"))
    parser.add_argument("--scratch", default=None, help="folder for the tables, removed afterwards")
    parser.add_argument("--json", action="store_true", help="print everything as JSON on stdout")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    report = measure(options)
    tell(report)
    if options.json:
        print(json.dumps(report))
    sys.exit(1 if report["wrong"] else 0)


if __name__ == "__main__":
    main()
