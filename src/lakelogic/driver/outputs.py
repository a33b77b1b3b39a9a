"""Watchers that tell others of a pipeline run: files, tables, monitoring systems."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import datetime

from loguru import logger

from lakelogic.core.clock import Clock, SystemClock
from lakelogic.core.errors import RunError
from lakelogic.core.pipeline_run import PipelineRun
from lakelogic.core.settings import Settings
from lakelogic.driver.outcome import Outcome
from lakelogic.driver.story import Story
from lakelogic.driver.watch import Beginning, Ending, Job
from lakelogic.observe.metrics import build_metrics, render_json
from lakelogic.observe.prometheus import MetricsServer, render_text
from lakelogic.observe.statsd import StatsdSender, contract_lines, pipeline_lines
from lakelogic.record.run_log import find_last_successes
from lakelogic.record.summary_schema import summary_rows
from lakelogic.record.summary_table import SummaryTable, append_summary
from lakelogic.run.places import find_places
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import write_file


class Silent:
    """A watcher that has nothing to say; others say what they have."""

    def pipeline_began(self, beginning: Beginning) -> None: ...

    def contract_began(self, dataset: str, at: datetime) -> None: ...

    def contract_ended(self, outcome: Outcome, at: datetime) -> None: ...

    def contract_held(self, outcome: Outcome, at: datetime) -> None: ...

    def pipeline_ended(self, ending: Ending) -> None: ...


class Final(Silent):
    """Something that is written when the run is over, or when it was refused."""

    def __init__(self, story: Story, name: str, write: Callable[[PipelineRun], None]) -> None:
        self._story, self._name, self._write = story, name, write

    def __str__(self) -> str:
        return self._name

    def pipeline_ended(self, ending: Ending) -> None:
        self.write()

    def write(self) -> None:
        self._write(self._story.picture())


class Served(Silent):
    """Metrics for Prometheus while the run lasts, and until they are closed."""

    def __init__(self, story: Story, host: str, port: int, clock: Clock | None = None) -> None:
        self._story, self._host, self._port = story, host, port
        self._clock = clock or SystemClock()
        self.server: MetricsServer | None = None

    def __str__(self) -> str:
        return "the metrics for Prometheus"

    def pipeline_began(self, beginning: Beginning) -> None:
        self.server = MetricsServer(
            lambda: build_metrics(self._story.picture(), self._clock.now()), self._host, self._port
        )
        logger.info(f"Metrics are served at http://{self._host}:{self.server.port}/metrics")

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None


class Sent(Silent):
    """Metrics for StatsD, at each beginning and each end."""

    def __init__(self, story: Story, host: str, port: int, clock: Clock | None = None) -> None:
        self._story, self._host, self._port = story, host, port
        self._clock = clock or SystemClock()
        self._sender: StatsdSender | None = None

    def __str__(self) -> str:
        return "the metrics for StatsD"

    def pipeline_began(self, beginning: Beginning) -> None:
        self._sender = StatsdSender(self._host, self._port)
        self._send(None)

    def contract_began(self, dataset: str, at: datetime) -> None:
        self._send(None)

    def contract_ended(self, outcome: Outcome, at: datetime) -> None:
        self._send(outcome.dataset)

    def contract_held(self, outcome: Outcome, at: datetime) -> None:
        # Whoever had ended well before this run went on is not counted again.
        self._send(None if outcome.good else outcome.dataset)

    def pipeline_ended(self, ending: Ending) -> None:
        self._send(None)
        if self._sender is not None:
            self._sender.close()

    def _send(self, dataset: str | None) -> None:
        if self._sender is None:
            return
        run = self._story.picture()
        lines = list(pipeline_lines(run))
        for contract in run.contracts:
            if contract.dataset == dataset:
                lines += contract_lines(contract, self._clock.now())
        self._sender.send(lines)


def write_summary(path: str, run: PipelineRun) -> None:
    """The run as JSON."""
    write_output(path, (json.dumps(run.to_dict(), indent=2, ensure_ascii=False) + "\n").encode())


def write_summary_rows(table: SummaryTable, run: PipelineRun, clock: Clock) -> None:
    append_summary(table, summary_rows(run, clock.now()))


def write_metrics(path: str, run: PipelineRun, now: datetime) -> None:
    """The numbers as JSON; in a file `*.prom`, as the text that Prometheus reads."""
    text = render_text(build_metrics(run, now)) if path.endswith(".prom") else render_json(run, now)
    write_output(path, text.encode())


def write_output(path: str, data: bytes) -> None:
    """Write a file whole or not at all; the folder is made where it is missing."""
    try:
        write_file(path if is_remote(path) else os.path.abspath(path), data)
    except OSError as error:
        raise RunError(f"`{path}` cannot be written: {error.strerror or error}", code="LL498") from error


def last_successes(jobs: Mapping[str, Job], settings: Settings) -> dict[str, datetime]:
    """When each contract last ended well, as the run logs know it."""
    folders: dict[str, list[str]] = {}
    for name, job in jobs.items():
        state = find_places(job.contract, settings).state
        if state is not None:
            folders.setdefault(state, []).append(name)
    found: dict[str, datetime] = {}
    for folder, names in folders.items():
        found.update(find_last_successes(folder, names))
    return found
