"""One CSV line into fields, with the values that the Spark engine's from_csv gives.

An empty field is NULL, a quoted empty one is the empty text. A quote counts only at the start of a field;
where text follows a closing quote, the field is plain text up to the next delimiter, quotes included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from lakelogic.engine.local.options import CsvOptions

UNCLOSED, TOO_FEW, TOO_MANY = "unclosed quote", "too few fields", "too many fields"
_MAX_FIELDS = 100_000


@dataclass(frozen=True)
class CsvSplitter:
    """Splits the lines of one style into as many fields as the header has."""

    options: CsvOptions
    width: int

    def split(self, line: str) -> list[str | None] | str:
        """The fields, or why there are none."""
        style = self.options
        if not style.quote or style.quote not in line:
            fields = [field or None for field in line.split(style.sep)]
        elif line.count(style.sep) >= _MAX_FIELDS:
            return TOO_MANY
        elif self._quotes(line) % 2:
            return UNCLOSED
        else:
            fields = _split_quoted(line, style)
        if len(fields) != self.width:
            return self._ragged(line)
        if style.null_value is not None:
            fields = [None if field == style.null_value else field for field in fields]
        return fields

    def _quotes(self, line: str) -> int:
        style = self.options
        if style.escape and style.escape != style.quote:
            line = line.replace(style.escape + style.quote, "")
        return line.count(style.quote)

    def _ragged(self, line: str) -> str:
        """Too few or too many, by the separators that stand outside quotes."""
        plain = self._quoted.sub("", line) if self.options.quote else line
        return TOO_FEW if plain.count(self.options.sep) + 1 < self.width else TOO_MANY

    @cached_property
    def _quoted(self) -> re.Pattern[str]:
        mark, escape = re.escape(self.options.quote), re.escape(self.options.escape)
        inner = f"[^{mark}]" if self.options.escape == self.options.quote else f"(?:[^{mark}{escape}]|{escape}.)"
        return re.compile(f"{mark}{inner}*{mark}")


def _split_quoted(line: str, style: CsvOptions) -> list[str | None]:
    fields: list[str | None] = []
    at = 0
    while True:
        if line.startswith(style.quote, at):
            value, at = _quoted(line, at, style)
            fields.append(value)
        else:
            value, at = _plain(line, at, style)
            fields.append(value or None)
        if at >= len(line):
            return fields
        at += len(style.sep)


def _plain(line: str, start: int, style: CsvOptions) -> tuple[str, int]:
    end = line.find(style.sep, start)
    end = len(line) if end < 0 else end
    return line[start:end], end


def _quoted(line: str, start: int, style: CsvOptions) -> tuple[str, int]:
    out: list[str] = []
    at = start + 1
    while at < len(line):
        char = line[at]
        following = line[at + 1 : at + 2]
        if char == style.escape and following and following in (style.quote, style.escape):
            out.append(following)
            at += 2
        elif char == style.quote:
            return _closed("".join(out), line, start, at + 1, style)
        else:
            out.append(char)
            at += 1
    # Never closed, in a line whose quotes are even: Spark's parser keeps what it has.
    return "".join(out) or style.quote, at


def _closed(value: str, line: str, start: int, after: int, style: CsvOptions) -> tuple[str, int]:
    """What a quote in the middle means: blanks may follow it; all else makes the whole field plain text."""
    at = after
    while at < len(line) and line[at] <= " " and not line.startswith(style.sep, at):
        at += 1
    if at >= len(line) or line.startswith(style.sep, at):
        return value, at
    _, end = _plain(line, after, style)
    return line[start:end], end
