"""CSV files as Arrow batches: plain lines are cut many at a time, the others one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakelogic.engine.local.ahead import ahead
from lakelogic.engine.local.csv_lines import CsvSplitter
from lakelogic.engine.local.cuts import Cut, cut_lines
from lakelogic.engine.local.lines import portions, read_blocks
from lakelogic.engine.local.options import CsvOptions
from lakelogic.engine.local.spans import Lines, find, find_lines, texts

if TYPE_CHECKING:
    from lakelogic.engine.local.spans import Mask, Places

# A file of short lines under a wide header would be a thousand times larger in memory than it is on the disk.
_MOST_LINES, _MOST_CELLS = 50_000, 1_000_000


@dataclass(frozen=True)
class CsvFile:
    """One file with the names of its fields, in order, its header line, if there is one, and the names to give."""

    path: str
    options: CsvOptions
    names: tuple[str, ...]
    header: str | None
    wanted: tuple[str, ...]
    raw: bool  # a sound record comes too, beside its values

    def blocks(self) -> Iterator[Cut]:
        """Its rows in their order."""
        most = min(_MOST_LINES, _MOST_CELLS // len(self.names) + 1)
        return ahead(self._cut, (part for block in read_blocks(self.path) for part in portions(block, most)))

    def _cut(self, block: bytes) -> Cut:
        lines = find_lines(block, self.options.encoding, self.path)
        skipped = lines.starts == lines.ends
        if self.header is not None:
            skipped |= lines.equal(self.header)
        separators = find(lines, self.options.sep)
        counts = lines.count(separators)
        plain = (counts == len(self.names) - 1) & ~skipped & lines.sound
        if self.options.quote:
            plain &= ~lines.holding(find(lines, self.options.quote))
        fields = self._fields(lines, plain, separators[np.repeat(plain, counts)])
        return cut_lines(lines, plain, ~(plain | skipped), fields, self._split, raw=self.raw)

    def _fields(self, lines: Lines, plain: Mask, separators: Places) -> list[pa.Array]:
        """The columns of plain lines; all of their separators are known, one line's behind the other's."""
        starts, ends = lines.starts[plain], lines.ends[plain]
        between = separators.reshape(len(starts), len(self.names) - 1)
        width = len(self.options.sep.encode())
        columns = []
        for place in self._places:
            if place is None:
                columns.append(pa.nulls(len(starts), pa.string()))
                continue
            begin = between[:, place - 1] + width if place else starts
            end = between[:, place] if place < len(self.names) - 1 else ends
            columns.append(self._without_null(texts(lines.content, begin, end, begin == end)))
        return columns

    def _without_null(self, column: pa.Array) -> pa.Array:
        if not self.options.null_value:
            return column
        return pc.if_else(pc.equal(column, self.options.null_value), pa.scalar(None, pa.string()), column)

    def _split(self, text: str) -> Sequence[str | None] | str:
        fields = self._splitter.split(text)
        if isinstance(fields, str):
            return fields
        return [None if place is None else fields[place] for place in self._places]

    @cached_property
    def _places(self) -> list[int | None]:
        found = {name: place for place, name in enumerate(self.names)}
        return [found.get(name) for name in self.wanted]

    @cached_property
    def _splitter(self) -> CsvSplitter:
        return CsvSplitter(self.options, len(self.names))
