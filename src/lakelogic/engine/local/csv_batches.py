"""CSV files as Arrow batches: plain lines are cut many at a time, the others one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from lakelogic.core.errors import RunError
from lakelogic.engine.local.ahead import ahead
from lakelogic.engine.local.csv_lines import CsvSplitter
from lakelogic.engine.local.lines import NOT_UTF8, Line, decode, portions, read_blocks
from lakelogic.engine.local.options import CsvOptions

# A file of short lines under a wide header would be a thousand times larger in memory than it is on the disk.
_MOST_LINES, _MOST_CELLS = 50_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Cut:
    """Rows of a block: the fields, then every line as it was read, then why it has no fields."""

    batch: pa.RecordBatch
    skipped: int  # headers and blank lines


@dataclass(frozen=True)
class CsvFile:
    """One file with the names of its fields, in order, and its header line, if there is one."""

    path: str
    options: CsvOptions
    names: tuple[str, ...]
    header: str | None

    def blocks(self) -> Iterator[Cut]:
        """Its rows in their order."""
        most = min(_MOST_LINES, _MOST_CELLS // len(self.names) + 1)
        return ahead(self._cut, (part for block in read_blocks(self.path) for part in portions(block, most)))

    def _cut(self, block: bytes) -> Cut:
        try:
            lines = _lines(block, self.options.encoding)
        except pa.ArrowCapacityError as error:
            raise RunError(f"`{self.path}` has a line of more than 2 GiB") from error
        if lines is None:
            decoded = [decode(raw, self.options.encoding) for raw in block.removesuffix(b"\n").split(b"\n")]
            kept = [line for line in decoded if not line.valid or line.text not in ("", self.header)]
            return Cut(self._one_by_one(kept), len(decoded) - len(kept))
        records = lines.filter(pc.invert(self._skip(lines)))
        return Cut(self._together(records), len(lines) - len(records))

    def _skip(self, lines: pa.Array) -> pa.Array:
        blank = pc.equal(lines, "")
        return blank if self.header is None else pc.or_(blank, pc.equal(lines, self.header))

    def _together(self, records: pa.Array) -> pa.RecordBatch:
        parts = pc.split_pattern(records, self.options.sep)
        plain = pc.equal(pc.list_value_length(parts), len(self.names))
        if self.options.quote:
            plain = pc.and_(plain, pc.invert(pc.match_substring(records, self.options.quote)))
        if plain.true_count == len(records):
            return self._plain(records, parts)
        others = [Line(text) for text in records.filter(pc.invert(plain)).to_pylist()]
        cut = self._plain(records.filter(plain), parts.filter(plain))
        return pa.concat_batches([cut, self._one_by_one(others)]).take(_places(plain))

    def _plain(self, records: pa.Array, parts: pa.Array) -> pa.RecordBatch:
        columns = [self._without_nothing(pc.list_element(parts, place)) for place in range(len(self.names))]
        return _batch(columns, records, pa.nulls(len(records), pa.string()))

    def _without_nothing(self, column: pa.Array) -> pa.Array:
        nothing = pc.equal(column, "")
        if self.options.null_value:
            nothing = pc.or_(nothing, pc.equal(column, self.options.null_value))
        return pc.if_else(nothing, pa.scalar(None, pa.string()), column) if nothing.true_count else column

    def _one_by_one(self, lines: Sequence[Line]) -> pa.RecordBatch:
        split = [self._splitter.split(line.text) if line.valid else NOT_UTF8 for line in lines]
        rows = [[None] * len(self.names) if isinstance(fields, str) else fields for fields in split]
        columns = zip(*rows, strict=True) if rows else [()] * len(self.names)
        reasons = pa.array([fields if isinstance(fields, str) else None for fields in split], pa.string())
        records = pa.array([line.text for line in lines], pa.string())
        return _batch([pa.array(column, pa.string()) for column in columns], records, reasons)

    @cached_property
    def _splitter(self) -> CsvSplitter:
        return CsvSplitter(self.options, len(self.names))


def _batch(columns: Sequence[pa.Array], records: pa.Array, reasons: pa.Array) -> pa.RecordBatch:
    arrays = [*columns, records, reasons]
    return pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(arrays))])


def _lines(block: bytes, encoding: str) -> pa.Array | None:
    """None where the block is not what its encoding says; only its lines can tell which of them are not."""
    try:
        text = pa.array([block]).cast(pa.string()) if encoding == "UTF-8" else pa.array([block.decode(encoding)])
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    lines = pc.split_pattern(text, "\n").flatten()
    return lines.slice(0, len(lines) - 1) if block.endswith(b"\n") else lines


def _places(plain: pa.Array) -> pa.Array:
    """Where each line stands in a batch that has the plain ones first."""
    order = pc.array_sort_indices(pc.invert(plain).cast(pa.int8()))
    return pc.array_sort_indices(order)
