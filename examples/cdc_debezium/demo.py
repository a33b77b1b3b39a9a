"""Change a PostgreSQL table while the consumer of its change events is killed again and again, then compare.

    python examples/cdc_debezium/demo.py

CDC_KILLS (default 12) is how often the consumer is killed with SIGKILL: half of the times at a named point of its
commit protocol, half of the times whenever it happens; after each pair it may run to its end once. Debezium is killed
once, too, so that it sends events twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC
from pathlib import Path
from typing import Any

import stack
from deltalake import DeltaTable
from traffic import ROWS, TABLE, Traffic

KILLS = int(os.environ.get("CDC_KILLS", "12"))
SEED = int(os.environ.get("CDC_SEED", "7"))
SILVER = stack.WORK / "lakehouse" / "silver" / "customers"
CONTRACT = Path(__file__).resolve().parent / "contract.yaml"
POINTS = ("after_prepare", "after_stage", "after_mark_staged", "before_target_commit", "after_target_commit",
          "after_run_log")  # fmt: skip
QUIET_S = 5


def main() -> None:
    """The whole story."""
    stack.down()
    ports = stack.up()
    stack.psql(ports, TABLE)
    stack.connect(ports)
    say(f"PostgreSQL, Kafka and Debezium run ({stack.WORK}); the customers begin to change")
    traffic = Traffic(ports, SEED)
    traffic.start()
    chance = random.Random(SEED)
    for number in range(KILLS):
        say(f"{number + 1}/{KILLS}: {consume_and_kill(ports, number, chance)}")
        if number % 2:
            consume(ports)
        if number == KILLS // 2:
            stack.stop("connect", signal.SIGKILL)
            stack.connect(ports)
            say("Debezium was killed and started again: it sends its last events a second time")
    traffic.stop()
    say(f"{traffic.transactions} transactions were made; reading what is left")
    time.sleep(QUIET_S)
    while consume(ports) != "no_new_data":
        time.sleep(1)
    verdict(ports)


def consume_and_kill(ports: dict[str, int], number: int, chance: random.Random) -> str:
    """One run that is killed, by itself at a point of its protocol or by us at a random moment."""
    point = POINTS[number // 2 % len(POINTS)] if number % 2 == 0 else None
    process = start(ports, {"LAKELOGIC_FAULT": point} if point else {})
    try:
        process.wait(timeout=None if point else chance.uniform(3, 25))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "the consumer was killed at a random moment"
    if process.returncode == -signal.SIGKILL:
        return f"the consumer was killed {point}".replace("_", " ")
    return f"the consumer came to its end before the kill (exit code {process.returncode})"


def consume(ports: dict[str, int]) -> str:
    """One run that nobody disturbs; its status."""
    process = start(ports, {})
    told, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"the consumer failed; see {stack.WORK / 'consumer.log'}")
    status = str(json.loads(told)["status"])
    say(f"undisturbed run: {status}")
    return status


def start(ports: dict[str, int], faults: dict[str, str]) -> subprocess.Popen[bytes]:
    """`lakelogic run` in a process group of its own, so that a kill takes its Spark along."""
    command = [sys.executable, "-m", "lakelogic", "run", str(CONTRACT), "--output", "json"]
    address = {"CDC_KAFKA": f"127.0.0.1:{ports['kafka']}", "LAKELOGIC_ROOT": str(stack.WORK)}
    log = (stack.WORK / "consumer.log").open("ab")
    environ = {**os.environ, **address, **faults}
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=log, start_new_session=True)


def verdict(ports: dict[str, int]) -> None:
    """Compare the two tables row by row."""
    source = [json.loads(line) for line in stack.psql(ports, ROWS).splitlines()]
    silver = sorted(silver_row(row) for row in DeltaTable(SILVER).to_pyarrow_table().to_pylist())
    journal = DeltaTable(SILVER.parent / "_lakelogic" / "silver_shop_customers_live" / "journal").to_pyarrow_table()
    states = journal["state"].to_pylist()
    say(f"{len(source)} rows in PostgreSQL, {len(silver)} in Silver, {states.count('committed')} batches")
    if (SILVER.parent / "customers_quarantine").is_dir():
        say(f"{DeltaTable(SILVER.parent / 'customers_quarantine').to_pyarrow_table().num_rows} rows in quarantine")
    wrong = [row for row in source if row not in silver] + [row for row in silver if row not in source]
    if wrong or len(source) != len(silver):
        raise SystemExit(f"NOT EQUAL: {len(wrong)} rows differ, such as {wrong[:3]}")
    say("EQUAL: the Silver table has exactly the rows of the source table")


def silver_row(row: dict[str, Any]) -> list[Any]:
    changed = row["updated_at"].astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    balance, born = row["balance"], row["born"]
    plain = [row["customer_id"], row["name"], row["email"], row["tier"]]
    return [*plain, None if balance is None else str(balance), None if born is None else born.isoformat(), changed]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    main()
