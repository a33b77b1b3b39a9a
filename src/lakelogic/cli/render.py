"""Results on stdout, talk on stderr: the only places that print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

# A pipe has no width; wide enough that no cell is ever cut.
_PIPE_WIDTH = 10_000


def print_json(data: Any) -> None:
    """Print data as JSON, and nothing else, to stdout."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")


def print_text(text: str) -> None:
    """Print lines to stdout as they are."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None, right: str = ""
) -> None:
    """Print rows to stdout; `right` names the columns, separated by blanks, that hold numbers."""
    numbers = right.split()
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for column in columns:
        table.add_column(escape(column), justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(show_cell(value)) for value in row))
    stdout_console().print(table)


def print_heading(text: str) -> None:
    stdout_console().print(f"\n[bold]{escape(text)}[/bold]", highlight=False)


def say(text: str, *, style: str = "") -> None:
    """Tell the person something, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(escape(text), style=style)


def show_cell(value: object) -> str:
    """A value as a person reads it; an absent one is a dot, so that it is not taken for empty text."""
    if value is None:
        return "·"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return "\n".join(show_cell(item) for item in value)
    return str(value)


def stdout_console() -> Console:
    """Where results go: as wide as the terminal, or as wide as they are."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False)
