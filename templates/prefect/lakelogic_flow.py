"""An estate of contracts as a Prefect flow: one task for each dataset, after the datasets that it builds on.

Write the graph when the contracts are deployed:

    lakelogic dag contracts --format json > estate.json

Then `python lakelogic_flow.py`, or serve it: `lakelogic_estate.serve(cron="0 * * * *")`. Settings are environment
variables:

    LAKELOGIC_ESTATE    the file above                          (default: estate.json beside this file)
    LAKELOGIC_COMMAND   the program, also inside another venv   (default: lakelogic-driver)
    LAKELOGIC_CONTRACTS a folder of contracts, or a registry    (default: contracts)
"""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.futures import PrefectFuture
from prefect.states import Failed
from prefect.tasks import exponential_backoff

ESTATE = Path(os.environ.get("LAKELOGIC_ESTATE", Path(__file__).with_name("estate.json")))
COMMAND = shlex.split(os.environ.get("LAKELOGIC_COMMAND", "lakelogic-driver"))
CONTRACTS = os.environ.get("LAKELOGIC_CONTRACTS", "contracts")


class RunFailedError(RuntimeError):
    """A run that may go well the next time (exit code 4)."""


class RunRefusedError(RuntimeError):
    """A mistake in a contract (2), no plan (3) or a gate (5): the same a minute later, and not tried again."""


def _worth_a_retry(_task: Any, _run: Any, state: Any) -> bool:
    return isinstance(state.data, RunFailedError) or "RunFailedError" in (state.message or "")


@task(retries=2, retry_delay_seconds=exponential_backoff(backoff_factor=60), retry_condition_fn=_worth_a_retry)
def run_dataset(dataset: str) -> None:
    """Run one contract; what it had begun and not finished is finished first, so that a retry loses nothing."""
    done = subprocess.run([*COMMAND, CONTRACTS, "--select", dataset, "--wait", "300"], check=False)
    if done.returncode == 4:
        raise RunFailedError(f"`{dataset}` failed; lakelogic runs says why")
    if done.returncode:
        raise RunRefusedError(f"`{dataset}` ended with exit code {done.returncode}; the log says why")


@flow(name="lakelogic", log_prints=True)
def lakelogic_estate() -> Any:
    """Submit every dataset; Prefect starts each when those above it have ended well."""
    datasets = [each for each in json.loads(ESTATE.read_text())["datasets"] if each["own"] and each["enabled"]]
    futures: dict[str, PrefectFuture[None]] = {}
    for each in datasets:  # the file has them in an order in which each comes after what it builds on
        above = [futures[name] for name in each["upstream"] if name in futures]
        futures[each["dataset"]] = run_dataset.with_options(name=each["dataset"]).submit(
            each["dataset"], wait_for=above
        )
    bad = [name for name, future in futures.items() if not _ended_well(future)]
    return Failed(message=f"not done: {', '.join(bad)}") if bad else None


def _ended_well(future: PrefectFuture[None]) -> bool:
    future.wait()
    return future.state.is_completed()


if __name__ == "__main__":
    lakelogic_estate()
