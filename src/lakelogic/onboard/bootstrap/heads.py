"""The head of a text file: how it is encoded, what stands between its fields, and whether its first line names them."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HEAD_BYTES = 256 * 1024
_DELIMITERS = (",", ";", "\t", "|")
_DATA = re.compile(
    r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|true|false|null|", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class CsvHead:
    """What the first lines of a CSV file tell."""

    names: tuple[str, ...]  # of the header, or of nobody
    header: bool = True
    delimiter: str = ","
    encoding: str = "UTF-8"
    first_line: str = ""

    @property
    def repeated(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in self.names if self.names.count(name) > 1))

    @property
    def options(self) -> dict[str, str]:
        """What a contract must say; a header that names a column twice cannot be used as one."""
        given = {} if self.header and not self.repeated else {"header": "false"}
        given |= {"delimiter": "\\t" if self.delimiter == "\t" else self.delimiter} if self.delimiter != "," else {}
        return given | ({"encoding": self.encoding} if self.encoding != "UTF-8" else {})


def read_csv_head(path: str) -> CsvHead | None:
    """None for a file without a line."""
    text, encoding = _decoded(_head(path))
    lines = [line for line in text.splitlines() if line.strip()][:200]
    if not lines:
        return None
    delimiter = _find_delimiter(lines[:50])
    first, *others = csv.reader(lines, delimiter=delimiter)
    if _is_header(first, others):
        names = tuple(name or f"_c{number}" for number, name in enumerate(first))
        return CsvHead(names, True, delimiter, encoding, lines[0])
    return CsvHead(tuple(f"column_{number + 1}" for number in range(len(first))), False, delimiter, encoding)


def _head(path: str) -> bytes:
    with Path(path).open("rb") as file:
        if not path.lower().endswith(".gz"):
            return file.read(_HEAD_BYTES)
        with gzip.open(file) as unpacked:
            return unpacked.read(_HEAD_BYTES)


def _decoded(head: bytes) -> tuple[str, str]:
    body = head.removeprefix(b"\xef\xbb\xbf")
    # The last line may be cut in the middle of a letter.
    whole = body[: body.rfind(b"\n") + 1] or body
    try:
        return whole.decode("utf-8"), "UTF-8"
    except UnicodeDecodeError:
        return whole.decode("iso-8859-1"), "ISO-8859-1"


def _find_delimiter(lines: Sequence[str]) -> str:
    """The one that cuts all lines into the same number of fields, more than one; else a comma."""
    best, fields = ",", 1
    for delimiter in _DELIMITERS:
        widths = {len(row) for row in csv.reader(lines, delimiter=delimiter)}
        if len(widths) == 1 and max(widths) > fields:
            best, fields = delimiter, max(widths)
    if fields > 1:
        return best
    counts = {delimiter: lines[0].count(delimiter) for delimiter in _DELIMITERS}
    most = max(counts, key=lambda delimiter: counts[delimiter])
    return most if counts[most] else ","


def _is_header(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Names are words. A line with a number or a date in it is data, unless no line below looks like it."""
    looks_like_data = [bool(name.strip()) and _DATA.fullmatch(name.strip()) is not None for name in first]
    if not any(looks_like_data):
        return True
    if not others:
        return False
    return not any(
        looks and any(len(row) > index and _DATA.fullmatch(row[index].strip()) for row in others)
        for index, looks in enumerate(looks_like_data)
    )
