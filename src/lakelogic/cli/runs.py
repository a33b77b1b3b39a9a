"""`lakelogic runs`: what happened, read from the run log."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from lakelogic.cli.options import Debug, Output, OutputFormat
from lakelogic.cli.render import print_json, print_table, say
from lakelogic.cli.windows import BackfillEnd, BackfillGranularity, BackfillStart, GranularityName, parse_day


class StatusName(StrEnum):
    """How a run can have ended."""

    SUCCEEDED = "succeeded"
    NO_NEW_DATA = "no_new_data"
    FAILED = "failed"
    GATE_FAILED = "gate_failed"
    HELD = "held"
    DISCARDED = "discarded"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


class _ListByDefault(TyperGroup):
    """`runs PATH` means `runs list PATH`."""

    def parse_args(self, ctx, args):  # type: ignore[no-untyped-def]
        # While a shell asks for completions the words must stay as they are.
        if not ctx.resilient_parsing and (
            not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names)
        ):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ListByDefault,
    help="List past runs, or show one of them.",
    rich_markup_mode="rich",
    add_completion=False,
)
Where = Annotated[
    Path,
    typer.Argument(
        metavar="CONTRACT|REGISTRY|FOLDER", help="A contract, a registry, or a folder with tables below it."
    ),
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, or its beginning.", show_default=False)]
Missing = Annotated[
    bool, typer.Option("--missing", help="List instead the windows of a span that no committed run was for.")
]
Dataset = Annotated[str | None, typer.Option(help="Only runs of this dataset.", show_default=False)]
Since = Annotated[
    str | None,
    typer.Option(metavar="AGE|DATE", help="Only runs that began since: 90m, 7d, or a date (UTC).", show_default=False),
]
StatusOption = Annotated[StatusName | None, typer.Option(help="Only runs that ended so.", show_default=False)]
_COLUMNS = ("started_at", "run_id", "dataset", "status", "read", "accepted", "quarantined", "duration_s", "error_code")


@app.command("list")
def list_runs(
    where: Where = Path(),
    dataset: Dataset = None,
    status: StatusOption = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 20,
    missing: Missing = False,
    backfill_start_date: BackfillStart = None,
    backfill_end_date: BackfillEnd = None,
    backfill_granularity: BackfillGranularity = GranularityName.DAY,
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """List the newest runs of a contract, of all contracts of a registry, or of all tables below a folder.

    \b
    Examples:
      lakelogic runs contract.yaml
      lakelogic runs lakehouse/ --limit 5 --output json
      lakelogic runs lakehouse/ --status failed --since 7d
      lakelogic runs contract.yaml --missing --backfill-start-date 2026-01-01 --backfill-end-date 2026-03-31
    """
    from lakelogic.cli.history import RunFilter, find_runs
    from lakelogic.core.settings import read_settings

    if missing:
        _list_missing(where, backfill_start_date, backfill_end_date, backfill_granularity.value, output)
        return
    wanted = RunFilter(dataset, status.value if status else None, _parse_since(since), limit=limit)
    runs = [run.to_line() for run in find_runs(where, read_settings(os.environ), wanted)]
    if output is OutputFormat.JSON:
        print_json(runs)
    elif runs:
        rows = [[run[column] for column in _COLUMNS] for run in runs]
        print_table(_COLUMNS, rows, right="read accepted quarantined duration_s")
    else:
        some = "such " if dataset or status or since else ""
        say(f"no {some}runs recorded for {where}")


def _parse_since(text: str | None) -> datetime | None:
    """A moment: so long ago, or since the beginning of a day, or from an instant on; UTC where no zone is named."""
    from lakelogic.contract.duration import parse_duration

    if text is None:
        return None
    try:
        return datetime.now(UTC) - parse_duration(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        what = f"`{text}` is neither an age such as 7d nor a date such as 2026-03-01"
        raise typer.BadParameter(what, param_hint="--since") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _list_missing(where: Path, start: str | None, end: str | None, granularity: str, output: OutputFormat) -> None:
    from lakelogic.contract.loader import load_contract
    from lakelogic.core.settings import read_settings
    from lakelogic.run.windows import Span, find_intervals

    if not where.is_file():
        raise typer.BadParameter("windows are missing of one contract; name it", param_hint="--missing")
    settings = read_settings(os.environ)
    first, last = parse_day(start, "--backfill-start-date"), parse_day(end, "--backfill-end-date")
    span = Span(first, last) if first is not None else None
    found = find_intervals(load_contract(where, env=settings.env), settings, span, granularity)  # type: ignore[arg-type]
    if output is OutputFormat.JSON:
        print_json(
            {
                "done": [{"window": str(done.window), "batch": done.batch} for done in found.done],
                "missing": [str(window) for window in found.missing],
            }
        )
    elif found.missing:
        print_table(("missing",), [[str(window)] for window in found.missing])
    else:
        say("no window is missing" if found.done or span else f"no run of {where} was for a window")


@app.command("show")
def show_run(
    run_id: RunId,
    where: Where = Path(),
    dataset: Dataset = None,
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """Show one run in full: times, source, ledger, rules, gates, events, and why it failed.

    \b
    Examples:
      lakelogic runs show 20260301T06 contract.yaml
      lakelogic runs show 20260301T06 lakehouse/ --output json
    """
    from lakelogic.cli.history import RunFilter, find_run
    from lakelogic.cli.run_page import print_run
    from lakelogic.core.settings import read_settings

    found = find_run(where, read_settings(os.environ), RunFilter(dataset, prefix=run_id)).to_dict()
    if output is OutputFormat.JSON:
        print_json(found)
    else:
        print_run(found)
