"""`lakelogic maintain`: keep tables in shape."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from lakelogic.cli.options import Debug, Engine, Env, Output, OutputFormat, Overrides, Quiet, StageName
from lakelogic.cli.render import print_json, print_table
from lakelogic.cli.selection import ContractPaths, Layer, Wait, select_contracts, spark_opener

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what is needed, with the evidence.")]
ShortRetention = Annotated[
    bool, typer.Option("--short-retention", help="Allow a vacuum_retain below 168h: older versions become unreadable.")
]
_COLUMNS = ("dataset", "table", "action", "state", "evidence")


def maintain_command(
    contracts: ContractPaths,
    dry_run: DryRun = False,
    layer: Layer = None,
    short_retention: ShortRetention = False,
    engine: Engine = None,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    wait: Wait = 0,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compact or sort files, remove old ones, trim logs, forget old rejected rows: what the evidence asks for.

    \b
    Examples:
      lakelogic maintain contract.yaml --dry-run
      lakelogic maintain contracts/ --layer silver
      lakelogic maintain contract.yaml --output json
    """
    from lakelogic.cli.run import start_log
    from lakelogic.core.settings import read_settings
    from lakelogic.run.maintain import maintain
    from lakelogic.run.processor import DataProcessor

    settings = read_settings(os.environ)
    start_log(settings, quiet=quiet, debug=debug)
    found = []
    for contract in select_contracts(contracts, layer=layer, env=env, stage=stage, overrides=overrides):
        with DataProcessor(contract, engine=engine.value if engine else None, settings=settings) as processor:
            steps = maintain(
                contract,
                settings,
                spark_opener(processor),
                dry_run=dry_run,
                short_retention=short_retention,
                wait_s=wait,
            )
        found.append({"dataset": contract.dataset, "steps": [step.to_dict() for step in steps]})
    if output is OutputFormat.JSON:
        print_json(found)
    else:
        lines = [{"dataset": entry["dataset"], **step} for entry in found for step in entry["steps"]]  # type: ignore[dict-item]
        print_table(_COLUMNS, [[line[column] for column in _COLUMNS] for line in lines])
