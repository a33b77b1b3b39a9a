"""Options that several commands share, so that each reads and behaves the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class OutputFormat(StrEnum):
    TABLE = "table"
    JSON = "json"


class EngineName(StrEnum):
    SPARK = "spark"
    DUCKDB = "duckdb"
    POLARS = "polars"


class LogForm(StrEnum):
    TEXT = "text"
    JSON = "json"


ContractPath = Annotated[
    Path, typer.Argument(metavar="CONTRACT", help="The contract, a YAML file.", show_default=False)
]
Output = Annotated[OutputFormat, typer.Option("--output", "-o", help="What stdout carries: a table to read, or JSON.")]
Engine = Annotated[
    EngineName | None,
    typer.Option(help="What computes the rows; wins over LAKELOGIC_ENGINE and the contract.", show_default=False),
]
Env = Annotated[
    str | None,
    typer.Option(envvar="LAKELOGIC_ENV", help="Entry of `environments` to apply.", show_default=False),
]
StageName = Annotated[str | None, typer.Option(help="Entry of `stages` to apply.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace one value of the contract, e.g. quality.on_null=fail. May be given again.",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only warnings and errors on stderr.")]
Debug = Annotated[bool, typer.Option("--debug", help="Everything on stderr, tracebacks too.")]
LogFormat = Annotated[LogForm, typer.Option(help="Form of the log lines on stderr.")]
