"""An estate of contracts as Dagster assets: one for each dataset, with the graph that LakeLogic knows.

Write the graph when the contracts are deployed:

    lakelogic dag contracts --format json > estate.json

Then `dagster dev -f lakelogic_assets.py`. Settings are environment variables:

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

import dagster as dg

ESTATE = Path(os.environ.get("LAKELOGIC_ESTATE", Path(__file__).with_name("estate.json")))
COMMAND = shlex.split(os.environ.get("LAKELOGIC_COMMAND", "lakelogic-driver"))
CONTRACTS = os.environ.get("LAKELOGIC_CONTRACTS", "contracts")

# A mistake in a contract (2), no plan (3) or a gate (5) is the same a minute later; only a failure (4) is tried again.
RETRYABLE = 4
COUNTS = ("read", "accepted", "quarantined")


def _asset(entry: dict[str, Any], names: set[str]) -> dg.AssetsDefinition:
    @dg.asset(
        name=entry["dataset"],
        deps=[above for above in entry["upstream"] if above in names],
        group_name=entry["layer"] or "lakelogic",
        description=entry["contract"],
        retry_policy=dg.RetryPolicy(max_retries=2, delay=120, backoff=dg.Backoff.EXPONENTIAL),
    )
    def run_dataset() -> dg.MaterializeResult:
        command = [*COMMAND, CONTRACTS, "--select", entry["dataset"], "--wait", "300", "--output", "json"]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise dg.Failure(
                f"`{entry['dataset']}` ended with exit code {done.returncode}; the log of the step says why",
                allow_retries=done.returncode == RETRYABLE,
            )
        told = json.loads(done.stdout)["contracts"][0]
        return dg.MaterializeResult(metadata={**{name: told[name] for name in COUNTS}, "status": told["status"]})

    return run_dataset


_datasets = [each for each in json.loads(ESTATE.read_text())["datasets"] if each["own"] and each["enabled"]]
_names = {each["dataset"] for each in _datasets}
_assets = [_asset(each, _names) for each in _datasets]
_job = dg.define_asset_job("lakelogic", selection=dg.AssetSelection.assets(*_assets))

defs = dg.Definitions(
    assets=_assets,
    jobs=[_job],
    schedules=[dg.ScheduleDefinition(job=_job, cron_schedule="0 * * * *")],
)
