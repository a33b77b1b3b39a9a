"""`lakelogic run`: carry out a contract."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic.cli.approvals import ApprovalFile, ApprovalRequired, check_approval_file, tell_held
from lakelogic.cli.observing import MetricsPath, ObservingOptions, Report, SummaryPath, observing
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
from lakelogic.cli.outcomes import EXIT_CODES
from lakelogic.cli.packs import PolicyPack, PolicyPackDir
from lakelogic.cli.render import print_json
from lakelogic.cli.resilience import Grace, Retries, Timeout, read_limits, stopped_by_signals
from lakelogic.cli.windows import (
    BackfillEnd,
    BackfillGranularity,
    BackfillStart,
    FillGaps,
    GranularityName,
    ReprocessEnd,
    ReprocessStart,
    WindowEnd,
    WindowName,
    WindowOptions,
    WindowStart,
    run_backfill,
)

if TYPE_CHECKING:
    from lakelogic.core.settings import Settings

Master = Annotated[
    str | None,
    typer.Option(envvar="LAKELOGIC_MASTER", help="Spark master, e.g. local\\[4].", show_default=False),
]
Remote = Annotated[
    str | None,
    typer.Option(envvar="LAKELOGIC_REMOTE", help="Spark Connect address, sc://host:port.", show_default=False),
]
Wait = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for another run of the dataset.")]
MaxFiles = Annotated[
    int | None,
    typer.Option(
        "--max-files-per-batch",
        min=1,
        help="Of many new files, read so many at a time, the oldest first, each time in a batch of its own.",
        show_default=False,
    ),
]
Once = Annotated[bool, typer.Option("--once", help="Only the first of such batches; the other files wait.")]
Show = Annotated[bool, typer.Option("--show", help="Also print some rows, good and bad, and the times.")]


def run_command(
    contract: ContractPath,
    engine: Engine = None,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    policy_pack: PolicyPack = None,
    policy_pack_dir: PolicyPackDir = None,
    master: Master = None,
    remote: Remote = None,
    wait: Wait = 0,
    window: WindowName = None,
    window_start_date: WindowStart = None,
    window_end_date: WindowEnd = None,
    reprocess_start_date: ReprocessStart = None,
    reprocess_end_date: ReprocessEnd = None,
    backfill_start_date: BackfillStart = None,
    backfill_end_date: BackfillEnd = None,
    backfill_granularity: BackfillGranularity = GranularityName.DAY,
    fill_gaps: FillGaps = False,
    max_files_per_batch: MaxFiles = None,
    once: Once = False,
    approval_required: ApprovalRequired = False,
    approval_file: ApprovalFile = None,
    retries: Retries = None,
    timeout: Timeout = None,
    grace: Grace = "25s",
    output: Output = OutputFormat.TABLE,
    show: Show = False,
    quiet: Quiet = False,
    debug: Debug = False,
    log_format: LogFormat = LogForm.TEXT,
    summary_path: SummaryPath = None,
    metrics_path: MetricsPath = None,
    report: Report = None,
) -> None:
    """Read, check and publish what a contract describes, exactly once.

    \b
    Examples:
      lakelogic run contract.yaml
      lakelogic run contract.yaml --show
      lakelogic run contract.yaml --engine duckdb --env dev
      lakelogic run contract.yaml --set quality.on_null=fail --output json
      lakelogic run contract.yaml --window yesterday
      lakelogic run contract.yaml --reprocess-start-date 2026-03-01 --reprocess-end-date 2026-03-07
      lakelogic run contract.yaml --backfill-start-date 2026-01-01 --backfill-end-date 2026-03-31 --fill-gaps
      lakelogic run contract.yaml --max-files-per-batch 10000
      lakelogic run contract.yaml --approval-required --approval-file approvals.yaml
      lakelogic run contract.yaml --remote sc://spark.example:15002 --wait 600
      lakelogic run contract.yaml --retries 3 --timeout 30m
    """
    from lakelogic.cli.progress import PhaseClock, follow_phases
    from lakelogic.core.settings import read_settings
    from lakelogic.core.stopping import Stop
    from lakelogic.driver.guard import Guard
    from lakelogic.driver.patience import patience_of
    from lakelogic.run.processor import DataProcessor

    wanted = WindowOptions(
        window, window_start_date, window_end_date, reprocess_start_date, reprocess_end_date,
        backfill_start_date, backfill_end_date, backfill_granularity.value, fill_gaps,
    )  # fmt: skip
    wanted.check()
    observed_by = ObservingOptions(summary_path, metrics_path=metrics_path, reports=tuple(report or ()))
    observed_by.check()
    settings = read_settings(os.environ)
    if max_files_per_batch is not None:
        settings = replace(settings, max_files_per_batch=max_files_per_batch)
    start_log(settings, quiet=quiet, debug=debug, form=log_format)
    check_approval_file(approval_file)
    clock, stop, limits = PhaseClock(), Stop(), read_limits(retries, timeout, grace)
    stopping, phases = stopped_by_signals(stop, limits.grace), follow_phases(clock, show=not quiet and not debug)
    with stopping, observing(observed_by, settings) as observed, phases as begin:
        processor = DataProcessor(
            contract,
            engine=engine.value if engine else None,
            env=env,
            stage=stage,
            overrides=tuple(overrides or ()),
            policy_packs=tuple(policy_pack or ()),
            policy_pack_dir=policy_pack_dir,
            master=master,
            remote=remote,
            wait_s=wait,
            on_phase=begin,
            settings=settings,
            approval_required=approval_required,
            approval_file=approval_file,
            guard=lambda loaded: Guard(patience_of(loaded, limits), stop),
        )
        with processor, observed.telling_alone(processor) as results:
            arguments = {} if wanted.backfills else wanted.arguments(processor)
            in_parts = settings.max_files_per_batch is not None and not once and not arguments
            if wanted.backfills:
                code = run_backfill(processor, wanted, output, begin, results)
            else:
                results += processor.run_all() if in_parts else [processor.run(**arguments)]
                code = max(EXIT_CODES[result.status] for result in results)
            begin("stopping the engine")
    if wanted.backfills:
        raise typer.Exit(code)
    told = [result.to_dict() for result in results]
    if output is OutputFormat.JSON:
        print_json(told if in_parts else told[0])
    else:
        _print_results(told, clock.seconds if show else None)
    tell_held((each["held"] for each in told if each.get("held")), approval_file)
    raise typer.Exit(code)


def start_log(settings: Settings, *, quiet: bool, debug: bool, form: LogForm = LogForm.TEXT) -> None:
    """Send what happens to stderr, in the form and detail that the operator wants."""
    from lakelogic.core.log import configure_log

    colour = False if "NO_COLOR" in os.environ else sys.stderr.isatty()
    level = "DEBUG" if debug else "WARNING" if quiet else settings.log_level
    configure_log(level=level, form=form.value, colour=colour, traceback=debug)


def _print_results(results: list[dict[str, object]], seconds: dict[str, float] | None) -> None:
    from lakelogic.cli.summary import print_rows, print_seconds, print_summary

    for result in results:
        if seconds is not None:
            print_rows(result)
        print_summary(result)
    if seconds is not None:
        print_seconds(seconds)
