"""Options that narrow a run to a window, or cut a long one into slices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakelogic.cli.approvals import tell_held
from lakelogic.cli.options import OutputFormat
from lakelogic.cli.outcomes import EXIT_CODES
from lakelogic.cli.render import print_json, print_table

if TYPE_CHECKING:
    from lakelogic.run.processor import DataProcessor
    from lakelogic.run.result import RunResult
    from lakelogic.run.windows import Span


class WindowWord(StrEnum):
    """What `--window` can be."""

    LAST_SUCCESS = "last_success"
    YESTERDAY = "yesterday"
    NONE = "none"
    RANGE = "range"


class GranularityName(StrEnum):
    """How long the slices of a backfill are."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


def parse_day(text: str | None, option: str) -> date | None:
    """A date of the command line."""
    try:
        return date.fromisoformat(text) if text is not None else None
    except ValueError as error:
        raise typer.BadParameter(f"`{text}` is not a date such as 2026-03-01", param_hint=option) from error


def _day(option: str, help_: str) -> Any:
    return typer.Option(option, metavar="DATE", help=help_, show_default=False)


WindowName = Annotated[
    WindowWord | None,
    typer.Option(
        "--window",
        help="last_success: what is new (as without it); yesterday; range: the days between two dates; "
        "none: all of the source, whatever was read before.",
        show_default=False,
    ),
]
WindowStart = Annotated[str | None, _day("--window-start-date", "The first day of `--window range`.")]
WindowEnd = Annotated[str | None, _day("--window-end-date", "Its last day, included.")]
ReprocessStart = Annotated[
    str | None,
    _day("--reprocess-start-date", "Read and replace only the days from this one on (materialization.reprocess)."),
]
ReprocessEnd = Annotated[
    str | None,
    _day("--reprocess-end-date", "The last of those days, included; without it the first is the only one."),
]
BackfillStart = Annotated[
    str | None, _day("--backfill-start-date", "Run window after window from this day on, each replacing its own rows.")
]
BackfillEnd = Annotated[str | None, _day("--backfill-end-date", "The last of those days, included.")]
BackfillGranularity = Annotated[
    GranularityName, typer.Option("--backfill-granularity", help="How long each of those windows is.")
]
FillGaps = Annotated[bool, typer.Option("--fill-gaps", help="Of a backfill, only the windows that are not done yet.")]


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """The options as they were given."""

    window: WindowWord | None
    window_start: str | None
    window_end: str | None
    reprocess_start: str | None
    reprocess_end: str | None
    backfill_start: str | None
    backfill_end: str | None
    granularity: str
    fill_gaps: bool

    @property
    def backfills(self) -> bool:
        return self.backfill_start is not None

    def check(self) -> None:
        """Refuse what contradicts itself, before anything is started."""
        _require(self.window_start, self.window_end, "--window-start-date", "--window-end-date")
        _require(self.reprocess_start, self.reprocess_end, "--reprocess-start-date", "--reprocess-end-date")
        _require(self.backfill_start, self.backfill_end, "--backfill-start-date", "--backfill-end-date")
        if self.backfills and self.backfill_end is None:
            raise typer.BadParameter("it needs --backfill-end-date", param_hint="--backfill-start-date")
        if self.fill_gaps and not self.backfills:
            raise typer.BadParameter("it needs --backfill-start-date and -end-date", param_hint="--fill-gaps")
        if (self.window is WindowWord.RANGE) != (self.window_start is not None):
            raise typer.BadParameter("`range` and --window-start-date belong together", param_hint="--window")
        named = [self.window is not None, self.reprocess_start is not None, self.backfills]
        if sum(named) > 1:
            raise typer.BadParameter("name one window: --window, --reprocess-... or --backfill-...")
        self.span()

    def span(self) -> Span | None:
        """The days that were named."""
        from lakelogic.run.windows import Span

        for start, end, what in (
            (self.window_start, self.window_end, "window"),
            (self.reprocess_start, self.reprocess_end, "reprocess"),
            (self.backfill_start, self.backfill_end, "backfill"),
        ):
            first = parse_day(start, f"--{what}-start-date")
            last = parse_day(end, f"--{what}-end-date")
            if first is not None:
                return Span(first, last)
        return None

    def arguments(self, processor: DataProcessor) -> dict[str, Any]:
        """What `DataProcessor.run` gets."""
        from lakelogic.run.file_windows import refuse_reprocess

        if self.window is WindowWord.NONE:
            return {"everything": True}
        if self.reprocess_start is not None:
            refuse_reprocess(processor.contract)
        kind = "range" if self.span() else (self.window or WindowWord.LAST_SUCCESS).value
        if kind == "last_success":
            return {}
        return {"window": processor.find_window(kind, self.span())}  # type: ignore[arg-type]


def _require(start: str | None, end: str | None, start_option: str, end_option: str) -> None:
    if end is not None and start is None:
        raise typer.BadParameter(f"it needs {start_option}", param_hint=end_option)


def run_backfill(
    processor: DataProcessor,
    wanted: WindowOptions,
    output: OutputFormat,
    begin: Callable[[str], None],
    results: list[RunResult],
) -> int:
    """Run the slices, tell of each and add it to the results; gives the exit code."""
    span = wanted.span()
    assert span is not None and span.last is not None
    told = []
    slices = processor.backfill(span.first, span.last, wanted.granularity, only_gaps=wanted.fill_gaps)  # type: ignore[arg-type]
    for window, result in slices:
        results.append(result)
        told.append({"window": str(window), **result.to_dict()})
        begin(f"window {window} is done")
    if output is OutputFormat.JSON:
        print_json(told)
    else:
        rows = [[run["window"], run["status"], *_counts(run)] for run in told]
        print_table(("window", "status", "read", "accepted", "quarantined"), rows, right="read accepted quarantined")
    tell_held((run["held"] for run in told if run.get("held")), None)
    return max((EXIT_CODES[run["status"]] for run in told), default=0)


def _counts(run: dict[str, Any]) -> list[Any]:
    return [run["counts"][name] for name in ("read", "accepted", "quarantined")]
