"""`lakelogic run`: carry out a contract."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic.cli.options import (
    ContractPath,
    Debug,
    Engine,
    Env,
    LogForm,
    LogFormat,
    Output,
    OutputFormat,
    Overrides,
    Quiet,
    StageName,
)
from lakelogic.cli.render import print_json

if TYPE_CHECKING:
    from lakelogic.core.settings import Settings
    from lakelogic.core.window import Window

EXIT_CODES = {"succeeded": 0, "no_new_data": 0, "failed": 4, "gate_failed": 5}

Master = Annotated[
    str | None,
    typer.Option(envvar="LAKELOGIC_MASTER", help="Spark master, e.g. local\\[4].", show_default=False),
]
Remote = Annotated[
    str | None,
    typer.Option(envvar="LAKELOGIC_REMOTE", help="Spark Connect address, sc://host:port.", show_default=False),
]
Wait = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for another run of the dataset.")]
Show = Annotated[bool, typer.Option("--show", help="Also print some rows, good and bad, and the times.")]


ReprocessStart = Annotated[
    str | None,
    typer.Option(
        "--reprocess-start-date",
        metavar="DATE",
        help="Read and replace only the days from this one on (materialization.reprocess).",
        show_default=False,
    ),
]
ReprocessEnd = Annotated[
    str | None,
    typer.Option(
        "--reprocess-end-date",
        metavar="DATE",
        help="The last of those days, included; without it the first is the only one.",
        show_default=False,
    ),
]


def run_command(
    contract: ContractPath,
    engine: Engine = None,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    master: Master = None,
    remote: Remote = None,
    wait: Wait = 0,
    reprocess_start_date: ReprocessStart = None,
    reprocess_end_date: ReprocessEnd = None,
    output: Output = OutputFormat.TABLE,
    show: Show = False,
    quiet: Quiet = False,
    debug: Debug = False,
    log_format: LogFormat = LogForm.TEXT,
) -> None:
    """Read, check and publish what a contract describes, exactly once.

    \b
    Examples:
      lakelogic run contract.yaml
      lakelogic run contract.yaml --show
      lakelogic run contract.yaml --engine duckdb --env dev
      lakelogic run contract.yaml --set quality.on_null=fail --output json
      lakelogic run contract.yaml --reprocess-start-date 2026-03-01 --reprocess-end-date 2026-03-07
      lakelogic run contract.yaml --remote sc://spark.example:15002 --wait 600
    """
    from lakelogic.cli.progress import PhaseClock, follow_phases
    from lakelogic.core.settings import read_settings
    from lakelogic.run.processor import DataProcessor

    settings = read_settings(os.environ)
    start_log(settings, quiet=quiet, debug=debug, form=log_format)
    clock = PhaseClock()
    with follow_phases(clock, show=not quiet and not debug) as begin:
        processor = DataProcessor(
            contract,
            engine=engine.value if engine else None,
            env=env,
            stage=stage,
            overrides=tuple(overrides or ()),
            master=master,
            remote=remote,
            wait_s=wait,
            on_phase=begin,
            settings=settings,
        )
        with processor:
            result = processor.run(window=_window(reprocess_start_date, reprocess_end_date))
            begin("stopping the engine")
    if output is OutputFormat.JSON:
        print_json(result.to_dict())
    else:
        _print_result(result.to_dict(), clock.seconds if show else None)
    raise typer.Exit(EXIT_CODES[result.status])


def _window(first: str | None, last: str | None) -> Window | None:
    from datetime import date

    from lakelogic.core.window import window_of_days

    days = []
    for option, text in (("--reprocess-start-date", first), ("--reprocess-end-date", last)):
        try:
            days.append(date.fromisoformat(text) if text is not None else None)
        except ValueError as error:
            raise typer.BadParameter(f"`{text}` is not a date such as 2026-03-01", param_hint=option) from error
    if days[0] is None:
        if days[1] is not None:
            raise typer.BadParameter("it needs --reprocess-start-date", param_hint="--reprocess-end-date")
        return None
    return window_of_days(days[0], days[1])


def start_log(settings: Settings, *, quiet: bool, debug: bool, form: LogForm = LogForm.TEXT) -> None:
    """Send what happens to stderr, in the form and detail that the operator wants."""
    from lakelogic.core.log import configure_log

    colour = False if "NO_COLOR" in os.environ else sys.stderr.isatty()
    level = "DEBUG" if debug else "WARNING" if quiet else settings.log_level
    configure_log(level=level, form=form.value, colour=colour, traceback=debug)


def _print_result(result: dict[str, object], seconds: dict[str, float] | None) -> None:
    from lakelogic.cli.summary import print_rows, print_seconds, print_summary

    if seconds is not None:
        print_rows(result)
    print_summary(result)
    if seconds is not None:
        print_seconds(seconds)
