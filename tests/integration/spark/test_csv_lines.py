"""Whatever stands in a line, Spark and the engines without a JVM cut it into the same fields, or refuse it alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core.slices import FileSlice
from lakelogic.engine.local.csv_lines import CsvSplitter
from lakelogic.engine.local.options import parse_csv_options
from lakelogic.engine.protocol import ReadSpec
from lakelogic.engine.spark.reader import read_source

pytestmark = pytest.mark.spark
NAMES = ("a", "b", "c")
STYLES: dict[str, dict[str, str]] = {
    "usual": {},
    "piped": {"sep": "|"},
    "tabs": {"sep": "\t"},
    "two letters": {"sep": "::"},
    "backslashes": {"escape": "\\"},
    "apostrophes": {"quote": "'", "sep": ";"},
    "no quotes": {"quote": ""},
    "named null": {"nullValue": "NA"},
    "nothing is null": {"nullValue": "", "sep": "||"},
    "nothing escapes": {"escape": ""},
    "clefs": {"sep": "\U0001d11e"},
    "backslash between": {"sep": "\\"},
}
_PLAIN = ("", "x", " ", "NA", "1.5", "é", "\\", "#", "%", "\u2028", "\x00", ".")
PIECES = (*_PLAIN, "'", ",", "|", "\t", ":", ";", "\U0001d11e", '\\"', '"', '""')


def make_lines(seed: int, options: dict[str, str], count: int) -> list[str]:
    """Lines of about three fields; some of them plain, some quoted, some broken."""
    dice = random.Random(seed)
    sep, quote = options.get("sep", ","), options.get("quote", '"')
    escape = options.get("escape", quote)

    def field() -> str:
        text = "".join(dice.choices(PIECES, k=dice.randint(0, 3)))
        kind = dice.random()
        if kind < 0.6:
            return text
        inner = text.replace(quote, escape + quote) if quote else text
        return f"{quote}{inner}{quote}" if kind < 0.9 else f"{text}{quote}"

    lines = [sep.join(field() for _ in range(dice.choice((3, 3, 3, 3, 2, 4)))) for _ in range(count)]
    return [line for line in lines if line and line != sep.join(NAMES)]


@pytest.mark.parametrize("style", STYLES)
def test_lines(spark_session: Any, tmp_path: Path, slice_of: Callable[..., FileSlice], style: str) -> None:
    options = STYLES[style]
    lines = make_lines(7, options, 2000)
    path = tmp_path / "in.csv"
    path.write_text("\n".join([options.get("sep", ",").join(NAMES), *lines]) + "\n", encoding="utf-8", newline="")
    splitter = CsvSplitter(parse_csv_options(options), len(NAMES))
    expected = [splitter.split(line) for line in lines]

    frame = read_source(spark_session, ReadSpec("csv", options=options), slice_of(path)).frame
    found = [row[3] or list(row[:3]) for row in frame.select(*NAMES, "_lakelogic_malformed").collect()]

    told = [case for case in zip(lines, found, expected, strict=True) if case[1] != case[2]]
    assert told == []
    assert {type(fields) for fields in expected} == {list, str}
