"""`lakelogic reset` and `lakelogic reload`: begin a dataset anew, after a look at what that means."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic.cli.options import Debug, Engine, Env, Output, OutputFormat, Overrides, Quiet, StageName
from lakelogic.cli.render import print_json, print_table, say
from lakelogic.cli.selection import ContractPaths, Layer, Wait, select_contracts, spark_opener

if TYPE_CHECKING:
    from lakelogic.run.reset import ResetReport


class TableName(StrEnum):
    TARGET = "target"
    QUARANTINE = "quarantine"


Yes = Annotated[bool, typer.Option("--yes", help="Do it; without this it is only previewed.")]
Undo = Annotated[bool, typer.Option("--undo", help="Take the last reset back, as long as nothing was loaded since.")]
Only = Annotated[
    TableName | None, typer.Option(help="Reset only this table; the position stays unless it is the target.")
]
_COLUMNS = ("dataset", "table", "rows", "files", "batches", "back_to_version", "path")


def reset_command(
    contracts: ContractPaths,
    yes: Yes = False,
    only: Only = None,
    undo: Undo = False,
    layer: Layer = None,
    engine: Engine = None,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    wait: Wait = 0,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Empty target and quarantine by a commit and forget what was read, so that the next run loads in full.

    Without --yes nothing happens: what would be removed is printed, with the Delta version to go back to. Files stay
    until `lakelogic maintain` removes old ones; --undo takes a reset back.

    \b
    Examples:
      lakelogic reset contract.yaml
      lakelogic reset contract.yaml --yes
      lakelogic reset contract.yaml --undo
      lakelogic reset contracts/ --layer silver --yes
    """
    from lakelogic.cli.run import start_log
    from lakelogic.core.settings import read_settings
    from lakelogic.run.processor import DataProcessor
    from lakelogic.run.reset import TABLES, preview_reset, reset, undo_reset

    settings = read_settings(os.environ)
    start_log(settings, quiet=quiet, debug=debug)
    tables = (only.value,) if only else TABLES
    reports = []
    for contract in select_contracts(contracts, layer=layer, env=env, stage=stage, overrides=overrides):
        with DataProcessor(contract, engine=engine.value if engine else None, settings=settings) as processor:
            spark = spark_opener(processor)
            if undo:
                reports.append(undo_reset(contract, settings, spark, wait_s=wait))
            elif yes:
                reports.append(reset(contract, settings, spark, only=tables, wait_s=wait))
            else:
                reports.append(preview_reset(contract, settings, spark, only=tables))
    _print(reports, output)
    if not quiet and not undo:
        say("done" if yes else "nothing was changed: add --yes to do it")


def reload_command(
    contracts: ContractPaths,
    yes: Yes = False,
    layer: Layer = None,
    engine: Engine = None,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    wait: Wait = 0,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Reset, and load again in full. If it is stopped anywhere, `run` or `reload` brings it to its end.

    \b
    Examples:
      lakelogic reload contract.yaml
      lakelogic reload contract.yaml --yes
      lakelogic reload contracts/ --layer silver --yes --output json
    """
    from lakelogic.cli.outcomes import EXIT_CODES
    from lakelogic.cli.run import start_log
    from lakelogic.core.settings import read_settings
    from lakelogic.run.processor import DataProcessor
    from lakelogic.run.reset import preview_reset, reset

    settings = read_settings(os.environ)
    start_log(settings, quiet=quiet, debug=debug)
    reports: list[ResetReport] = []
    results: list[Any] = []
    for contract in select_contracts(contracts, layer=layer, env=env, stage=stage, overrides=overrides):
        name = engine.value if engine else None
        with DataProcessor(contract, engine=name, wait_s=wait, settings=settings) as processor:
            spark = spark_opener(processor)
            if not yes:
                reports.append(preview_reset(contract, settings, spark))
                continue
            reports.append(reset(contract, settings, spark, wait_s=wait))
            results.append(processor.run())
    if output is OutputFormat.JSON and yes:
        print_json([{**r.to_dict(), "run": run.to_dict()} for r, run in zip(reports, results, strict=True)])
    else:
        _print(reports, output)
    for run in results:
        say(f"{run.dataset}: {run.status}, read {run.counts.read}, accepted {run.counts.accepted}")
    if not yes and not quiet:
        say("nothing was changed: add --yes to do it")
    raise typer.Exit(max((EXIT_CODES[run.status] for run in results), default=0))


def _print(reports: list[ResetReport], output: OutputFormat) -> None:
    if output is OutputFormat.JSON:
        print_json([report.to_dict() for report in reports])
        return
    rows = []
    for report in reports:
        for table in report.tables:
            line = {"dataset": report.dataset, "batches": report.batches, **table.to_dict()}
            rows.append([line[column] for column in _COLUMNS])
    print_table(_COLUMNS, rows, right="rows files batches back_to_version")
