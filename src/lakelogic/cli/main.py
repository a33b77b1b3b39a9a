"""The `lakelogic` command.

Commands import what they need when they run, not at the top: YAML, SQL and an engine cost more than all
the rest, and `lakelogic --help`, completion and `validate` must not pay for what they do not use.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lakelogic.cli import (
    approvals,
    bootstrap,
    dag,
    dates,
    ddl,
    doctor,
    driver,
    explain,
    init,
    maintain,
    reset,
    run,
    runs,
    schema,
    setup,
    validate,
    verify,
)
from lakelogic.cli.boundary import run_guarded

app = typer.Typer(
    name="lakelogic",
    help="Turn a data contract into a checked, reconciled table.",
    epilog="Exit codes: 0 done, 2 mistake in a contract, 3 no plan possible, 4 run failed, 5 a gate said no.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)

app.command("run")(run.run_command)
app.command("validate")(validate.validate_command)
app.command("verify")(verify.verify_command)
app.command("explain")(explain.explain_command)
app.command("dag")(dag.dag_command)
app.command("pipeline")(driver.pipeline_command)
app.command("ddl")(ddl.ddl_command)
app.command("maintain")(maintain.maintain_command)
app.command("reset")(reset.reset_command)
app.command("reload")(reset.reload_command)
app.command("dates")(dates.dates_command)
app.command("schema")(schema.schema_command)
app.command("init")(init.init_command)
app.command("bootstrap")(bootstrap.bootstrap_command)
app.command("doctor")(doctor.doctor_command)
app.command("setup")(setup.setup_command)
app.add_typer(runs.app, name="runs")
app.add_typer(approvals.app, name="approvals")


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _lakelogic(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn a data contract into a checked, reconciled table."""


@app.command("version")
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version

    typer.echo(f"lakelogic {installed_version('lakelogic')}")


def main() -> None:
    """Entry point of the console script."""
    # Errors may come before the command has parsed its own options, so the flag is looked for here.
    sys.exit(run_guarded(app, debug="--debug" in sys.argv))
