"""Lines of JSON and of text as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lakelogic.engine.local.ahead import ahead
from lakelogic.engine.local.cuts import Cut, cut_lines, whole
from lakelogic.engine.local.flat_objects import find_flat_objects
from lakelogic.engine.local.json_lines import NOT_JSON, split_object
from lakelogic.engine.local.lines import portions, read_blocks
from lakelogic.engine.local.spans import find_lines

_MOST_LINES, _MOST_CELLS = 6_000, 1_000_000
TEXT_COLUMN = "value"


@dataclass(frozen=True)
class LineFile:
    """One file with a record on each line, and the columns to give."""

    path: str
    encoding: str
    wanted: tuple[str, ...]
    raw: bool  # a sound record comes too, beside its values

    def objects(self) -> Iterator[Cut]:
        """Lines that are JSON objects, in their order."""
        return ahead(self._cut_objects, self._blocks())

    def texts(self) -> Iterator[Cut]:
        """Lines that are texts, in their order."""
        return ahead(self._cut_texts, self._blocks())

    def _blocks(self) -> Iterator[bytes]:
        # Short lines with many columns would be a thousand times larger in memory than they are on the disk.
        most = min(_MOST_LINES, _MOST_CELLS // (len(self.wanted) + 1) + 1)
        return (part for block in read_blocks(self.path) for part in portions(block, most))

    def _cut_objects(self, block: bytes) -> Cut:
        lines = find_lines(block, self.encoding, self.path)
        flat = find_flat_objects(lines, self.wanted)
        careful = ~(flat.lines | (lines.starts == lines.ends))
        return cut_lines(lines, flat.lines, careful, flat.columns, self.members, raw=self.raw)

    def members(self, text: str) -> Sequence[str | None] | str:
        found = split_object(text)
        return NOT_JSON if found is None else [found.get(name) for name in self.wanted]

    def _cut_texts(self, block: bytes) -> Cut:
        lines = find_lines(block, self.encoding, self.path)
        filled = lines.starts != lines.ends
        quick = filled & lines.sound
        value = whole(lines, quick)
        columns = [value if name == TEXT_COLUMN else pa.nulls(len(value), pa.string()) for name in self.wanted]
        return cut_lines(lines, quick, filled & ~quick, columns, self._text, raw=self.raw)

    def _text(self, text: str) -> Sequence[str | None]:
        return [text if name == TEXT_COLUMN else None for name in self.wanted]
