"""One CSV line into fields, with the values that the Spark engine gives.

An empty field is NULL, a quoted empty one is the empty text. A quote counts only at the start of a field. A line whose
quotes are out of place has no fields: what they would be is a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from lakelogic.engine.local.options import CsvOptions

UNCLOSED, MISPLACED, TOO_FEW, TOO_MANY = "unclosed quote", "misplaced quote", "too few fields", "too many fields"
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
            fields: list[str | None] | None = [field or None for field in line.split(style.sep)]
        elif line.count(style.sep) >= _MAX_FIELDS:
            return TOO_MANY
        elif self._quotes(line) % 2:
            return UNCLOSED
        else:
            fields = self._split_quoted(line)
        return self._judged(fields)

    def split_record(self, record: str) -> list[str | None] | str:
        """The same of a record that may hold ends of lines; its quotes are known to be in place."""
        if self.options.quote in record:
            return self._judged(self._split_quoted(record))
        return self._judged([field or None for field in record.split(self.options.sep)])

    def _judged(self, fields: list[str | None] | None) -> list[str | None] | str:
        if fields is None:
            return MISPLACED
        if len(fields) != self.width:
            return TOO_FEW if len(fields) < self.width else TOO_MANY
        if self.options.null_value is not None:
            return [None if field == self.options.null_value else field for field in fields]
        return fields

    def _quotes(self, line: str) -> int:
        if self.options.escape not in ("", self.options.quote):
            line = self._escaped.sub("", line)
        return line.count(self.options.quote)

    def _split_quoted(self, line: str) -> list[str | None] | None:
        fields: list[str | None] = []
        at = 0
        while (found := self._field.match(line, at)) is not None:
            fields.append((found[0] or None) if found[1] is None else self._meant(found[1]))
            at = found.end()
            if at == len(line):
                return fields
            if not line.startswith(self.options.sep, at):
                return None
            at += len(self.options.sep)
        return None

    def _meant(self, quoted: str) -> str:
        mark, escape = self.options.quote, self.options.escape
        if escape in ("", mark):
            return quoted.replace(escape + mark, mark)
        return self._escaped.sub(lambda pair: pair[0][1:] if pair[0][1:] in (mark, escape) else pair[0], quoted)

    @cached_property
    def _field(self) -> re.Pattern[str]:
        style = self.options
        return re.compile(
            style.quoted_field.replace(style.quoted_text, f"({style.quoted_text})") + f"|{style.plain_field}"
        )

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.options.escape) + r"[\s\S]")
