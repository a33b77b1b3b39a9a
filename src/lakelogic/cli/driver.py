"""`lakelogic pipeline`, also called `lakelogic-driver`: the contracts of registries, in their order."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lakelogic.cli.approvals import ApprovalFile, ApprovalRequired, check_approval_file, tell_held
from lakelogic.cli.boundary import run_guarded
from lakelogic.cli.estate import (
    Entities,
    EstatePaths,
    Exclude,
    GoldRegistry,
    Layers,
    ReferenceRegistry,
    Registries,
    Select,
    registry_files,
    selection,
)
from lakelogic.cli.observing import (
    MetricsBackend,
    MetricsHost,
    MetricsLinger,
    MetricsPath,
    MetricsPort,
    ObservingOptions,
    Report,
    SummaryBackend,
    SummaryDatabase,
    SummaryPath,
    SummaryTableName,
    observing,
)
from lakelogic.cli.options import (
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
from lakelogic.cli.packs import PolicyPack, PolicyPackDir, pack_choice
from lakelogic.cli.render import print_json, print_table
from lakelogic.cli.resilience import Grace, IgnoreBreaker, Retries, Timeout, read_limits, stopped_by_signals
from lakelogic.cli.resuming import Resume, StatePath, continue_run
from lakelogic.cli.run import Master, Remote, Wait, start_log
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
)

if TYPE_CHECKING:
    from lakelogic.core.pipeline_run import PipelineRun
    from lakelogic.core.settings import Settings
    from lakelogic.driver.dry_run import PlannedRun
    from lakelogic.driver.outcome import PipelineResult
    from lakelogic.driver.worker import Request

MaxWorkers = Annotated[int, typer.Option("--max-workers", min=1, help="How many contracts run at once.")]
StrictLayers = Annotated[
    bool, typer.Option("--strict-layer-order", help="Begin no layer before the one before it has ended.")
]
ContinueOnError = Annotated[
    bool, typer.Option("--continue-on-error", help="After a failure, go on with all that does not build on it.")
]
CacheReferences = Annotated[
    bool, typer.Option("--cache-references", help="Read a link that several contracts have only once, for all of them.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would run, read and write; move nothing.")]


def pipeline_command(
    paths: EstatePaths = None,
    registry: Registries = None,
    reference_registry: ReferenceRegistry = None,
    gold_registry: GoldRegistry = None,
    layers: Layers = None,
    entities: Entities = None,
    select: Select = None,
    exclude: Exclude = None,
    max_workers: MaxWorkers = 4,
    strict_layer_order: StrictLayers = False,
    continue_on_error: ContinueOnError = False,
    cache_references: CacheReferences = False,
    dry_run: DryRun = False,
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
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
    log_format: LogFormat = LogForm.TEXT,
    state_path: StatePath = None,
    resume: Resume = False,
    retries: Retries = None,
    timeout: Timeout = None,
    grace: Grace = "25s",
    ignore_circuit_breaker: IgnoreBreaker = False,
    summary_path: SummaryPath = None,
    summary_table: SummaryTableName = None,
    summary_backend: SummaryBackend = None,
    summary_database: SummaryDatabase = None,
    metrics_path: MetricsPath = None,
    metrics_backend: MetricsBackend = None,
    metrics_host: MetricsHost = None,
    metrics_port: MetricsPort = None,
    metrics_linger: MetricsLinger = 0,
    approval_required: ApprovalRequired = False,
    approval_file: ApprovalFile = None,
    report: Report = None,
) -> None:
    """Run the contracts of registries, each after those that it builds on, several at once.

    A contract whose upstream failed, was stopped by a gate or was held back is held back too, and the run log says
    why. SIGTERM or Ctrl-C: nothing new starts, what publishes is let finish, what still reads is taken back. Exit
    codes: 0 all is well, 2 a mistake in a file or an option, 4 a contract failed, 5 a gate said no or
    an approval is waited for, 143 or 130 stopped by SIGTERM or Ctrl-C.

    \b
    Examples:
      lakelogic pipeline --registry contracts/_registry.yaml
      lakelogic pipeline --registry contracts/_registry.yaml --layers bronze,silver --entities policies
      lakelogic pipeline contracts/ --select +gold_fact_sales --max-workers 8
      lakelogic pipeline contracts/ --dry-run
      lakelogic pipeline contracts/ --continue-on-error --output json
      lakelogic pipeline contracts/ --reprocess-start-date 2026-02-01 --reprocess-end-date 2026-02-05
      lakelogic pipeline contracts/ --resume
    """
    from lakelogic.core.settings import read_settings
    from lakelogic.driver.dry_run import plan_pipeline
    from lakelogic.driver.estate import read_estate
    from lakelogic.driver.load_many import Wanted
    from lakelogic.driver.pipeline import Order, prepare, run_pipeline

    windows = WindowOptions(
        window, window_start_date, window_end_date, reprocess_start_date, reprocess_end_date,
        backfill_start_date, backfill_end_date, backfill_granularity.value, fill_gaps,
    )  # fmt: skip
    windows.check()
    told = ObservingOptions(
        summary_path, summary_table, summary_backend, summary_database,
        metrics_path, metrics_backend, metrics_host, metrics_port, metrics_linger, tuple(report or ()),
    )  # fmt: skip
    told.check()
    named = registry_files(registry, reference_registry, gold_registry)
    if not paths and not named:
        raise typer.BadParameter("name a registry with --registry, or a folder")
    settings = read_settings(os.environ)
    start_log(settings, quiet=quiet, debug=debug, form=log_format)
    limits = read_limits(retries, timeout, grace)
    check_approval_file(approval_file)
    request = replace(
        _request(settings, windows, engine.value if engine else None, wait),
        approval_required=approval_required,
        approval_file=approval_file,
        cache_references=cache_references,
        limits=limits,
        ignore_breaker=ignore_circuit_breaker,
        tracebacks=debug,
    )
    order = Order(max_workers, strict_layer_order, continue_on_error)
    packs = pack_choice(policy_pack, policy_pack_dir)
    known = replace(packs, names=())  # those of the operator are for the chosen contracts only
    chosen = selection(select, exclude, layers, entities)
    loading = Wanted(env, stage, tuple(overrides or ()), packs=packs)
    files = (*(paths or ()), *named)
    live = not (quiet or debug or dry_run or output is OutputFormat.JSON or log_format is LogForm.JSON)
    observing_ = observing(told if not dry_run else ObservingOptions(), settings, live=live)
    with stopped_by_signals(request.stop, limits.grace) as signals, observing_ as observed:
        estate = read_estate(paths or (), registries=named, env=env, stage=stage, settings=settings, packs=known)
        prepared = prepare(estate, chosen, request, order, loading)
        going_on = continue_run(prepared, request, chosen, loading, files=files, state_path=state_path, resume=resume)
        if dry_run:
            _print_plan(plan_pipeline(going_on.left_of(prepared), request, order), output)
            return
        watchers = [*observed.watchers, *going_on.watchers]
        result = run_pipeline(
            prepared, request, order, master=master, remote=remote, watchers=watchers, resumed=going_on.resumed
        )
        _print_result(result, observed.story.picture(), output)
        tell_held((each.held.to_dict() for each in result.outcomes.values() if each.held), approval_file)
    raise typer.Exit((result.unfinished and signals.exit_code) or result.exit_code)


def _request(settings: Settings, windows: WindowOptions, engine: str | None, wait_s: float) -> Request:
    from lakelogic.driver.worker import Request

    span = windows.span()
    kind = "range" if span and not windows.backfills else windows.window.value if windows.window else "last_success"
    granularity = windows.granularity if windows.backfills else None
    return Request(settings, engine, kind, span, granularity, windows.fill_gaps, wait_s)  # type: ignore[arg-type]


def _print_plan(planned: tuple[PlannedRun, ...], output: OutputFormat) -> None:
    if output is OutputFormat.JSON:
        print_json([each.to_dict() for each in planned])
        return
    columns = ("wave", "dataset", "layer", "after", "window", "reads", "writes")
    rows = [(p.wave, p.dataset, p.layer, ", ".join(p.after), p.held or p.window, p.reads, p.writes) for p in planned]
    print_table(columns, rows, right="wave")


def _print_result(result: PipelineResult, run: PipelineRun, output: OutputFormat) -> None:
    from lakelogic.cli.pipeline_page import print_pipeline

    if output is OutputFormat.JSON:
        print_json(result.to_dict())
    else:
        print_pipeline(run)


def main() -> None:
    """Entry point of `lakelogic-driver`."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="rich", add_completion=False)
    app.command(context_settings={"help_option_names": ["--help", "-h"]})(pipeline_command)
    sys.exit(run_guarded(app, debug="--debug" in sys.argv))
