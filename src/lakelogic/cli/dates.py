"""`lakelogic dates`: a date dimension as a Delta table, without an engine."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from lakelogic.cli.options import Debug, Output, OutputFormat
from lakelogic.cli.render import print_json, print_text


def _parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"`{text}` is not a date such as 2026-03-01") from error


First = Annotated[
    date, typer.Option("--from", parser=_parse_day, metavar="DATE", help="The first day.", show_default=False)
]
Last = Annotated[
    date, typer.Option("--to", parser=_parse_day, metavar="DATE", help="The last day, included.", show_default=False)
]
Target = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the table lies or is made.", show_default=False)]
FiscalStart = Annotated[int, typer.Option(min=1, max=12, metavar="MONTH", help="First month of the fiscal year.")]


def dates_command(
    first: First,
    last: Last,
    target: Target,
    fiscal_start: FiscalStart = 1,
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """Write a date dimension: one row per day, with calendar, ISO week and fiscal columns.

    A second call with the same days changes nothing; with others it replaces the rows.

    \b
    Examples:
      lakelogic dates --from 2020-01-01 --to 2030-12-31 --target lake/dim_date
      lakelogic dates --from 2020-01-01 --to 2030-12-31 --fiscal-start 4 --target lake/dim_date
    """
    from dataclasses import asdict

    from lakelogic.onboard.calendar import CalendarDay, calendar_days
    from lakelogic.plan.model import Column
    from lakelogic.plan.types import named
    from lakelogic.table.protocol import TableShape
    from lakelogic.table.rows import replace_table

    types = {"int": "int", "str": "string", "bool": "boolean", "date": "date"}
    fields = CalendarDay.__dataclass_fields__.values()
    columns = tuple(Column(field.name, named(types[str(field.type)]), nullable=False) for field in fields)
    days = [asdict(day) for day in calendar_days(first, last, fiscal_start=fiscal_start)]
    about = "One row per day. ISO weeks; a fiscal year is named after the year it ends in."
    version = replace_table(str(target), TableShape(columns, description=about), days)
    result = {"path": str(target), "version": version, "rows": len(days)}
    if output is OutputFormat.JSON:
        print_json(result)
    else:
        print_text(f"{len(days)} days in {target} (version {version})")
