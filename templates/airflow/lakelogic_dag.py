"""An estate of contracts as an Airflow DAG: one task for each dataset, after the datasets that it builds on.

Airflow reads the graph from a file, so that parsing this one costs nothing and needs no LakeLogic beside Airflow.
Write the file when the contracts are deployed:

    lakelogic dag contracts --format json > estate.json

Settings are environment variables of the scheduler and its workers:

    LAKELOGIC_ESTATE    the file above                          (default: estate.json beside this file)
    LAKELOGIC_COMMAND   the program, also inside another venv   (default: lakelogic-driver)
    LAKELOGIC_CONTRACTS a folder of contracts, or a registry    (default: contracts)
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import DAG, task

ESTATE = Path(os.environ.get("LAKELOGIC_ESTATE", Path(__file__).with_name("estate.json")))
COMMAND = shlex.split(os.environ.get("LAKELOGIC_COMMAND", "lakelogic-driver"))
CONTRACTS = os.environ.get("LAKELOGIC_CONTRACTS", "contracts")

# A mistake in a contract (2), no plan (3) or a gate (5) is the same a minute later; only a failure (4) is tried again.
RETRYABLE = 4


def run_dataset(dataset: str) -> None:
    """Run one contract; what it had begun and not finished is finished first, so that a retry loses nothing."""
    done = subprocess.run([*COMMAND, CONTRACTS, "--select", dataset, "--wait", "300"], check=False)
    if done.returncode == RETRYABLE:
        raise AirflowException(f"`{dataset}` failed; lakelogic runs says why")
    if done.returncode:
        raise AirflowFailException(f"`{dataset}` ended with exit code {done.returncode}; the task's log says why")


with DAG(
    dag_id="lakelogic",
    schedule="@hourly",
    start_date=datetime(2026, 1, 1),
    catchup=False,  # a run reads what is new since the last one, whenever that was
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=2), "retry_exponential_backoff": True},
    tags=["lakelogic"],
) as dag:
    datasets = [each for each in json.loads(ESTATE.read_text())["datasets"] if each["own"] and each["enabled"]]
    tasks: dict[str, Any] = {
        each["dataset"]: task(task_id=each["dataset"])(run_dataset)(each["dataset"]) for each in datasets
    }
    for each in datasets:
        for above in each["upstream"]:
            if above in tasks:
                tasks[above] >> tasks[each["dataset"]]
