"""`lakelogic ddl`: the tables of a contract, before or between runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic.cli.options import ContractPath, Debug, Engine, Env, Output, OutputFormat, Overrides, Quiet, StageName
from lakelogic.cli.render import print_json, print_text, say
from lakelogic.cli.selection import Wait, spark_opener

if TYPE_CHECKING:
    from lakelogic.run.ddl import DdlReport

EXIT_REFUSED = 3

Apply = Annotated[bool, typer.Option("--apply", help="Carry the statements out; nothing where one is refused.")]


def ddl_command(
    contract: ContractPath,
    apply: Apply = False,
    engine: Engine = None,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    wait: Wait = 0,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Print the CREATE and ALTER statements that make target, quarantine and views fit the contract.

    What would lose data is refused with exit code 3, and then --apply changes nothing. Printing starts no engine;
    --apply starts Spark only for what needs it.

    \b
    Examples:
      lakelogic ddl contract.yaml
      lakelogic ddl contract.yaml --apply
      lakelogic ddl contract.yaml --env prod --output json
    """
    from lakelogic.cli.run import start_log
    from lakelogic.core.settings import read_settings
    from lakelogic.run.ddl import plan_ddl
    from lakelogic.run.ddl_apply import apply_ddl
    from lakelogic.run.processor import DataProcessor

    settings = read_settings(os.environ)
    start_log(settings, quiet=quiet, debug=debug)
    processor = DataProcessor(
        contract,
        engine=engine.value if engine else None,
        env=env,
        stage=stage,
        overrides=tuple(overrides or ()),
        settings=settings,
    )
    with processor:
        if apply:
            report = apply_ddl(processor.contract, settings, spark_opener(processor), wait_s=wait)
        else:
            report = plan_ddl(processor.contract, settings)
    if output is OutputFormat.JSON:
        print_json(report.to_dict())
    else:
        print_text(report.to_text())
    if not quiet and apply:
        say(_summary(report))
    if report.refused:
        raise typer.Exit(EXIT_REFUSED)


def _summary(report: DdlReport) -> str:
    if report.refused:
        return f"{len(report.refused)} refused; nothing was changed"
    return f"{sum(statement.applied for statement in report.statements)} of {len(report.statements)} statements applied"
