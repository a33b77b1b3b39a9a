"""`lakelogic init`: a folder with a contract that runs at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lakelogic.cli.options import Debug, Output, OutputFormat
from lakelogic.cli.render import print_json, print_text, say


def init_command(
    folder: Annotated[Path, typer.Argument(help="Folder to make.", show_default=False)],
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """Make a folder with a contract and a few rows, good and bad, that runs at once.

    \b
    Examples:
      lakelogic init my_project
      lakelogic run my_project/contract.yaml
    """
    from lakelogic.onboard.scaffold import write_scaffold

    written = write_scaffold(folder)
    if output is OutputFormat.JSON:
        print_json([str(path) for path in written])
        return
    for path in written:
        print_text(str(path))
    say(f"now: lakelogic run {folder / 'contract.yaml'} --show")
