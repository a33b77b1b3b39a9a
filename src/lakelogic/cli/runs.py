"""`lakelogic runs`: what happened, read from the run log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from lakelogic.cli.options import Debug, Output, OutputFormat
from lakelogic.cli.render import print_json, print_table, say
from lakelogic.cli.windows import BackfillEnd, BackfillGranularity, BackfillStart, GranularityName, parse_day


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
Where = Annotated[Path, typer.Argument(metavar="CONTRACT|FOLDER", help="A contract, or a folder with tables below it.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, or its beginning.", show_default=False)]
Missing = Annotated[
    bool, typer.Option("--missing", help="List instead the windows of a span that no committed run was for.")
]
_COLUMNS = ("started_at", "run_id", "dataset", "status", "read", "accepted", "quarantined", "duration_s")


@app.command("list")
def list_runs(
    where: Where = Path(),
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 20,
    missing: Missing = False,
    backfill_start_date: BackfillStart = None,
    backfill_end_date: BackfillEnd = None,
    backfill_granularity: BackfillGranularity = GranularityName.DAY,
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """List the newest runs of a contract, or of all tables below a folder.

    \b
    Examples:
      lakelogic runs contract.yaml
      lakelogic runs lakehouse/ --limit 5 --output json
      lakelogic runs contract.yaml --missing --backfill-start-date 2026-01-01 --backfill-end-date 2026-03-31
    """
    from lakelogic.cli.history import find_runs
    from lakelogic.core.settings import read_settings

    if missing:
        _list_missing(where, backfill_start_date, backfill_end_date, backfill_granularity.value, output)
        return
    runs = [run.to_line() for run in find_runs(where, read_settings(os.environ), limit=limit)]
    if output is OutputFormat.JSON:
        print_json(runs)
    elif runs:
        rows = [[run[column] for column in _COLUMNS] for run in runs]
        print_table(_COLUMNS, rows, right="read accepted quarantined duration_s")
    else:
        say(f"no runs recorded for {where}")


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
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """Show one run in full: counts, ledger, rules, places.

    \b
    Examples:
      lakelogic runs show 01J9ZK contract.yaml
      lakelogic runs show 01J9ZK lakehouse/ --output json
    """
    from lakelogic.cli.history import find_runs
    from lakelogic.cli.summary import print_summary
    from lakelogic.core.errors import RunError
    from lakelogic.core.settings import read_settings

    found = [run for run in find_runs(where, read_settings(os.environ)) if run.run_id.startswith(run_id)]
    if len(found) != 1:
        what = f"{len(found)} runs begin with `{run_id}`" if found else f"no run `{run_id}` in {where}"
        raise RunError(what, hint=f"`lakelogic runs {where}` lists them", code="LL480")
    if output is OutputFormat.JSON:
        print_json(found[0].to_dict())
    else:
        print_summary(found[0].to_dict())
