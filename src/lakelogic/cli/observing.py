"""Options that say who else is told of a pipeline run, and the watchers that they mean."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from lakelogic.core.clock import Clock
    from lakelogic.core.settings import Settings
    from lakelogic.driver.outputs import Final, Served
    from lakelogic.driver.story import Story
    from lakelogic.driver.watch import Watcher
    from lakelogic.record.summary_table import SummaryTable
    from lakelogic.run.processor import DataProcessor
    from lakelogic.run.result import RunResult

_PANEL = "Who else is told"
_PORTS = {"prometheus": 9100, "statsd": 8125}


class SummaryBackendName(StrEnum):
    DELTA = "delta"
    DUCKDB = "duckdb"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


class MetricsBackendName(StrEnum):
    PROMETHEUS = "prometheus"
    STATSD = "statsd"


def _option(name: str, text: str, **more: Any) -> Any:
    return typer.Option(name, help=text, show_default=False, rich_help_panel=_PANEL, **more)


SummaryPath = Annotated[
    str | None, _option("--summary-path", "Write a summary of the run to this file, as JSON.", metavar="FILE")
]
SummaryTableName = Annotated[
    str | None,
    _option("--summary-table", "Add a row for each contract to this table.", metavar="NAME|SCHEMA.NAME"),
]
SummaryBackend = Annotated[
    SummaryBackendName | None, _option("--summary-backend", "What the summary table is in; without it, delta.")
]
SummaryDatabase = Annotated[
    str | None,
    _option(
        "--summary-database",
        "The folder (delta), the file (duckdb, sqlite) or the address (postgres) of the summary table.",
        metavar="PATH|URL",
        envvar="LAKELOGIC_SUMMARY_DATABASE",
    ),
]
MetricsPath = Annotated[
    str | None,
    _option(
        "--metrics-path", "Write numbers about the run to this file, as JSON; *.prom: for Prometheus.", metavar="FILE"
    ),
]
MetricsBackend = Annotated[
    MetricsBackendName | None,
    _option("--metrics-backend", "prometheus: serve /metrics during the run; statsd: send UDP packets."),
]
MetricsHost = Annotated[
    str | None, _option("--metrics-host", "Where to listen, or to send to; without it, 127.0.0.1.", metavar="HOST")
]
MetricsPort = Annotated[
    int | None,
    _option(
        "--metrics-port", "Without it, 9100 or, for statsd, 8125; 0: any free one.", metavar="PORT", min=0, max=65535
    ),
]
MetricsLinger = Annotated[
    float,
    _option("--metrics-linger", "How long to go on serving /metrics after the run.", metavar="SECONDS", min=0),
]
Report = Annotated[
    list[str] | None,
    _option(
        "--report",
        "junit=FILE: tests for a build server; github: annotations on stderr. May be given again.",
        metavar="junit=FILE|github",
    ),
]


@dataclass(frozen=True, slots=True)
class ObservingOptions:
    """What was asked for; an option that makes no sense is refused before anything runs."""

    summary_path: str | None = None
    summary_table: str | None = None
    summary_backend: SummaryBackendName | None = None
    summary_database: str | None = field(default=None, repr=False)
    metrics_path: str | None = None
    metrics_backend: MetricsBackendName | None = None
    metrics_host: str | None = None
    metrics_port: int | None = None
    metrics_linger: float = 0.0
    reports: tuple[str, ...] = ()

    @property
    def wants_metrics(self) -> bool:
        return self.metrics_path is not None or self.metrics_backend is not None

    def check(self) -> None:
        """Refuse what cannot be, also for want of a package."""
        from lakelogic.observe.prometheus import import_client
        from lakelogic.record.summary_table import check_packages

        if self.summary_table is None and self.summary_backend is not None:
            raise typer.BadParameter("needs --summary-table", param_hint="--summary-backend")
        if self.metrics_backend is None and (self.metrics_host is not None or self.metrics_port is not None):
            raise typer.BadParameter("needs --metrics-backend", param_hint="--metrics-host, --metrics-port")
        if self.metrics_linger and self.metrics_backend is not MetricsBackendName.PROMETHEUS:
            raise typer.BadParameter("needs --metrics-backend prometheus", param_hint="--metrics-linger")
        for report in self.reports:
            _check_report(report)
        table = self.table()
        if table is not None:
            check_packages(table)
        if self.metrics_backend is MetricsBackendName.PROMETHEUS or (self.metrics_path or "").endswith(".prom"):
            import_client()

    def table(self) -> SummaryTable | None:
        from lakelogic.record.summary_table import find_summary_table

        if self.summary_table is None:
            return None
        backend = self.summary_backend or SummaryBackendName.DELTA
        try:
            return find_summary_table(backend.value, self.summary_table, self.summary_database)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--summary-table") from None


def _check_report(report: str) -> None:
    kind, _, file = report.partition("=")
    if not (report == "github" or (kind == "junit" and file)):
        raise typer.BadParameter("write junit=FILE or github", param_hint="--report")


@dataclass(frozen=True, slots=True)
class Observed:
    """Who watches a run, and the run as they see it."""

    watchers: tuple[Watcher, ...]
    story: Story

    @contextmanager
    def telling_alone(self, processor: DataProcessor) -> Iterator[list[RunResult]]:
        """Tell of one contract, whose results are added to the list; not where nobody but the story would hear it."""
        from lakelogic.core.clock import SystemClock
        from lakelogic.driver.alone import telling_alone

        if len(self.watchers) < 2:
            yield []
            return
        with telling_alone(processor.contract, processor.engine_name, self.watchers, SystemClock()) as results:
            yield results


@contextmanager
def observing(
    options: ObservingOptions, settings: Settings, clock: Clock | None = None, *, live: bool = False
) -> Iterator[Observed]:
    """Watch for the length of a run; mistakes that are found before it begins are told too."""
    from lakelogic.core.clock import SystemClock
    from lakelogic.core.errors import LakeLogicError
    from lakelogic.core.pipeline_run import INTERRUPTED
    from lakelogic.driver.outputs import Sent, Served, last_successes
    from lakelogic.driver.story import Story

    timed = clock or SystemClock()
    known = partial(last_successes, settings=settings) if options.wants_metrics else None
    story = Story(timed, known)
    final = _final_outputs(options, story, timed)
    watchers: list[Watcher] = [story, *_live_view(story, live), *final]
    place = options.metrics_host or "127.0.0.1", _port(options)
    served = Served(story, *place, timed) if options.metrics_backend is MetricsBackendName.PROMETHEUS else None
    if served is not None:
        watchers.append(served)
    elif options.metrics_backend is MetricsBackendName.STATSD:
        watchers.append(Sent(story, *place, timed))
    try:
        yield Observed(tuple(watchers), story)
        # Whoever stopped the run wants the process to end.
        if story.begun and story.picture().status != INTERRUPTED:
            linger(served, options.metrics_linger)
    except LakeLogicError as error:
        if not story.begun:
            _tell_refusal(story, final, error, timed)
        raise
    finally:
        if served is not None:
            served.close()


def _live_view(story: Story, wanted: bool) -> list[Watcher]:
    from lakelogic.cli.live import LiveView, can_draw

    return [LiveView(story.picture)] if wanted and can_draw() else []


def _final_outputs(options: ObservingOptions, story: Story, clock: Clock) -> list[Final]:
    from lakelogic.driver.outputs import Final, write_metrics, write_summary, write_summary_rows

    outputs: list[Final] = []
    if options.summary_path:
        outputs.append(Final(story, "the summary", partial(write_summary, options.summary_path)))
    table = options.table()
    if table is not None:
        outputs.append(Final(story, "the summary", lambda run: write_summary_rows(table, run, clock)))
    if options.metrics_path:
        path = options.metrics_path
        outputs.append(Final(story, "the metrics", lambda run: write_metrics(path, run, clock.now())))
    return [*outputs, *(_report(story, report) for report in options.reports)]


def _report(story: Story, report: str) -> Final:
    from lakelogic.driver.outputs import Final, write_output
    from lakelogic.report.github import render_github
    from lakelogic.report.junit import render_junit

    kind, _, file = report.partition("=")
    if kind == "junit":
        return Final(story, "the JUnit report", lambda run: write_output(file, render_junit(run)))
    root = Path(os.environ.get("GITHUB_WORKSPACE") or ".")
    # stderr: stdout may be JSON that a program reads, and GitHub looks at both.
    return Final(story, "the report for GitHub", lambda run: _say_raw(render_github(run, root)))


def _say_raw(text: str) -> None:
    from lakelogic.core.redaction import redact

    sys.stderr.write(redact(text))
    sys.stderr.flush()


def _tell_refusal(story: Story, final: list[Final], error: Any, clock: Clock) -> None:
    from lakelogic.driver.outputs import Final
    from lakelogic.driver.watch import Watchers
    from lakelogic.run.pipeline import new_run_id

    story.refuse(new_run_id(clock.now()), error.problems, error.exit_code)
    Watchers(final).tell(lambda watcher: cast(Final, watcher).write())


def linger(served: Served | None, seconds: float) -> None:
    """Wait; whoever ends it with a signal ends the waiting only, because the run itself is over."""
    if served is None or served.server is None or not seconds:
        return
    enough = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        enough.wait(seconds)
        return
    before = {number: signal.signal(number, lambda *_: enough.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        enough.wait(seconds)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _port(options: ObservingOptions) -> int:
    if options.metrics_port is not None or options.metrics_backend is None:
        return options.metrics_port or 0
    return _PORTS[options.metrics_backend.value]
