"""`lakelogic runs`: what happened, read from the run log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from lakelogic.cli.options import Debug, Output, OutputFormat
from lakelogic.cli.render import print_json, print_table, say


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
_COLUMNS = ("started_at", "run_id", "dataset", "status", "read", "accepted", "quarantined", "duration_s")


@app.command("list")
def list_runs(
    where: Where = Path(),
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 20,
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """List the newest runs of a contract, or of all tables below a folder.

    \b
    Examples:
      lakelogic runs contract.yaml
      lakelogic runs lakehouse/ --limit 5 --output json
    """
    from lakelogic.cli.history import find_runs
    from lakelogic.core.settings import read_settings

    runs = [run.to_line() for run in find_runs(where, read_settings(os.environ), limit=limit)]
    if output is OutputFormat.JSON:
        print_json(runs)
    elif runs:
        rows = [[run[column] for column in _COLUMNS] for run in runs]
        print_table(_COLUMNS, rows, right="read accepted quarantined duration_s")
    else:
        say(f"no runs recorded for {where}")


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
