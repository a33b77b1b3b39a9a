"""The first line of a CSV file: how many fields it has, and what they are called."""

from __future__ import annotations

import csv
from typing import Literal

from lakelogic.core.errors import RunError
from lakelogic.engine.options import CsvOptions


def split_header(line: str, path: str, options: CsvOptions) -> list[str]:
    """The fields of a first line."""
    if len(options.sep) != 1:
        return line.split(options.sep)
    doubled = options.escape == options.quote
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE
    reader = csv.reader(
        [line], delimiter=options.sep, quotechar=options.quote or None, doublequote=doubled,
        escapechar=None if doubled else options.escape or None, quoting=quoting,
    )  # fmt: skip
    try:
        return next(reader)
    except csv.Error as error:
        raise RunError(f"the first line of `{path}` cannot be split: {error}", hint="is it a CSV file?") from error


def header_names(line: str, path: str, options: CsvOptions) -> tuple[str, ...]:
    """The names in a header; one that is empty gets the number of its column."""
    names = [name or f"_c{number}" for number, name in enumerate(split_header(line, path, options))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RunError(f"column `{twice[0]}` stands twice in the header of `{path}`", hint="rename one of them")
    return tuple(names)
