"""`lakelogic bootstrap`: contracts and a registry from the files of a landing zone."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lakelogic.cli.options import Debug, EngineName, Output, OutputFormat, Quiet
from lakelogic.cli.render import print_json, print_table, say


class FileFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    TEXT = "text"
    XML = "xml"


class LayerName(StrEnum):
    REFERENCE = "reference"
    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"


def bootstrap_command(
    landing: Annotated[Path, typer.Option("--landing", help="Folder with the files.", show_default=False)],
    output_dir: Annotated[Path, typer.Option("--output-dir", help="Folder for the contracts.", show_default=False)],
    registry: Annotated[
        Path | None,
        typer.Option(
            "--registry", help="The registry to write; default: _registry.yaml in --output-dir.", show_default=False
        ),
    ] = None,
    format_: Annotated[
        FileFormat | None,
        typer.Option("--format", help="Format of the files; default: by their extensions.", show_default=False),
    ] = None,
    pattern: Annotated[str, typer.Option("--pattern", help="Only files whose names fit.")] = "*",
    layer: Annotated[LayerName, typer.Option("--layer", help="Layer of the contracts.")] = LayerName.BRONZE,
    engine: Annotated[EngineName, typer.Option("--engine", help="What looks at the rows.")] = EngineName.DUCKDB,
    sample_rows: Annotated[int, typer.Option("--sample-rows", min=1, help="Rows of a dataset to look at.")] = 10_000,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a contract for each dataset of a landing zone, and a registry of them, that validate and run at once.

    Files that differ by a date or a number are one dataset. Types, keys, personal data and rules are guessed from a
    sample, with what was seen beside them; rules are warnings until somebody has looked at them.

    \b
    Examples:
      lakelogic bootstrap --landing landing --output-dir contracts
      lakelogic bootstrap --landing landing --output-dir contracts --format csv --pattern "*.csv"
      lakelogic validate contracts
      lakelogic pipeline contracts --engine duckdb
    """
    from lakelogic.core.keys import derive_keys
    from lakelogic.core.settings import read_settings
    from lakelogic.engine.registry import EngineOptions, open_engine
    from lakelogic.run.bootstrap import Wish, bootstrap

    settings = read_settings(os.environ)
    listed = registry or output_dir / "_registry.yaml"
    form = format_.value if format_ else None
    wish = Wish(landing, output_dir, listed, form, pattern, layer.value, sample_rows, force)
    found = bootstrap(wish, lambda: open_engine(engine.value, EngineOptions(settings, derive_keys(None))))
    if output is OutputFormat.JSON:
        print_json({"registry": str(listed), "datasets": [each.to_dict() for each in found]})
        return
    columns = ("dataset", "files", "rows", "columns", "key", "personal", "rules", "notes")
    rows = [
        (e.dataset, e.files, e.rows, e.columns, ", ".join(e.key), ", ".join(e.personal), e.rules, "; ".join(e.notes))
        for e in found
    ]
    print_table(columns, rows, right="files rows columns rules")
    if not quiet:
        made = sum(each.contract is not None for each in found)
        say(f"{made} contracts and {listed} written; now: lakelogic validate {output_dir}")
