"""A pipeline while it runs, drawn on a terminal: what runs and since when, what waits and for what, what is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lakelogic.cli.pipeline_page import STYLES, told_seconds, told_status
from lakelogic.core.pipeline_run import RUNNING, WAITING, ContractRun, PipelineRun
from lakelogic.driver.outcome import Outcome
from lakelogic.driver.watch import Beginning, Ending

_PER_SECOND = 4
_FEWEST_LINES = 8
_DONE_SHOWN = 4  # of those that ended well; the others are only counted
_AWAITED_SHOWN = 3
_NAME_WIDTH = 44


class LiveView:
    """A watcher that draws; log lines go on above it."""

    def __init__(self, picture: Callable[[], PipelineRun], console: Console | None = None) -> None:
        self._picture = picture
        self._console = console or Console(stderr=True)
        self._live: Live | None = None

    def __str__(self) -> str:
        return "the view of the pipeline"

    def pipeline_began(self, beginning: Beginning) -> None:
        self._live = Live(
            get_renderable=self._draw, console=self._console, refresh_per_second=_PER_SECOND, transient=True
        )
        self._live.start()

    def contract_began(self, dataset: str, at: datetime) -> None: ...

    def contract_ended(self, outcome: Outcome, at: datetime) -> None: ...

    def contract_held(self, outcome: Outcome, at: datetime) -> None: ...

    def pipeline_ended(self, ending: Ending) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self) -> RenderableType:
        return draw_progress(self._picture(), self._console.size.height)


def can_draw() -> bool:
    return sys.stderr.isatty()


def draw_progress(run: PipelineRun, height: int) -> RenderableType:
    """The run in at most so many lines, those at work first."""
    room = max(height, _FEWEST_LINES) - 3  # the bar, the counts, and a line of the log
    running = [each for each in run.contracts if each.status == RUNNING]
    bad = [each for each in run.contracts if each.status not in (RUNNING, WAITING, "skipped") and not each.ended_well]
    waiting = [each for each in run.contracts if each.status == WAITING]
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=_NAME_WIDTH)
    # The last one takes what is left: a long reason is cut, not the names beside it.
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    not_over = {each.dataset for each in (*running, *waiting)}
    waiting.sort(key=lambda each: len(_awaited(each, not_over)))
    for contract in _best(run, running, bad, waiting, room):
        table.add_row(*_line(contract, not_over))
    return Group(table, _bar(run), _counts(run))


def _best(
    run: PipelineRun, running: list[ContractRun], bad: list[ContractRun], waiting: list[ContractRun], room: int
) -> list[ContractRun]:
    """Those that matter most, as many as there is room for: at work, gone wrong, just done, and next in line."""
    done = [each for each in run.contracts if each.ended_well and each.finished_at and each.started_at]
    done.sort(key=lambda each: str(each.finished_at))
    above = [*bad[-max(room // 4, 1) :], *done[-_DONE_SHOWN:]]
    above = above[max(len(above) + len(running) - room, 0) :] if len(running) < room else []
    left = max(room - len(above) - len(running), 0)
    return [*above, *running[:room], *waiting[:left]]


def _line(contract: ContractRun, not_over: Collection[str]) -> tuple[Text, Text, Text]:
    style = STYLES.get(contract.status, "")
    name = Text(contract.dataset)
    if contract.status == RUNNING:
        return Text("running", style=style), name, Text(told_seconds(contract.duration_s))
    if contract.status == WAITING:
        awaited = _awaited(contract, not_over)
        more = f" and {len(awaited) - _AWAITED_SHOWN} more" if len(awaited) > _AWAITED_SHOWN else ""
        told = f"for {', '.join(awaited[:_AWAITED_SHOWN])}{more}" if awaited else "for a free worker"
        return Text("waiting", style=style), Text(contract.dataset, style="dim"), Text(told, style="dim")
    if contract.ended_well:
        return Text("done", style="green"), name, Text(_told_rows(contract))
    return Text(told_status(contract.status), style=style), name, Text(contract.reason or "", style=style)


def _awaited(contract: ContractRun, not_over: Collection[str]) -> list[str]:
    return [name for name in dict.fromkeys((*contract.needs, *contract.after)) if name in not_over]


def _told_rows(contract: ContractRun) -> str:
    if contract.status == "no_new_data":
        return "nothing new"
    rejected = f", {contract.rows.quarantined:,} quarantined" if contract.rows.quarantined else ""
    return f"{contract.rows.accepted:,} rows{rejected}, {told_seconds(contract.duration_s)}"


def _bar(run: PipelineRun) -> RenderableType:
    over = len(run.contracts) - run.count(RUNNING, WAITING)
    grid = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=max(len(run.contracts), 1), completed=over, width=40)
    grid.add_row(bar, Text(f"{over} of {len(run.contracts)}"), Text(told_seconds(run.duration_s), style="dim"))
    return grid


def _counts(run: PipelineRun) -> Text:
    good = run.count("succeeded", "no_new_data")
    told = [Text(f"{good} done", style="green")] if good else []
    for status in ("failed", "gate_failed", "held", "interrupted", "skipped", RUNNING, WAITING):
        if number := run.count(status):
            told.append(Text(f"{number} {told_status(status)}", style=STYLES[status]))
    return Text(" · ").join(told)
