"""Rows of a block of lines: most are found many at a time, the others are looked at one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakelogic.engine.local.lines import NOT_UTF8, Line, decode
from lakelogic.engine.local.spans import Lines, texts

if TYPE_CHECKING:
    from lakelogic.engine.local.spans import Mask

Split = Callable[[str], Sequence[str | None] | str]  # the fields of a record, or why it has none

_RECORDS = 10_000


@dataclass(frozen=True, slots=True)
class Cut:
    """Rows of a block: the fields, then the record as it was read, where it is kept, then why there are no fields."""

    batch: pa.RecordBatch
    skipped: int  # headers and blank lines


def cut_lines(lines: Lines, quick: Mask, careful: Mask, fields: Sequence[pa.Array], split: Split, *, raw: bool) -> Cut:
    """The rows of a block, in order: the columns of quick lines are there, careful ones are split one by one."""
    nothing = pa.nulls(np.count_nonzero(quick), pa.string())
    records = whole(lines, quick) if raw else nothing
    batch = _batch([*fields, records, nothing])
    skipped = len(lines) - np.count_nonzero(quick) - np.count_nonzero(careful)
    if careful.any():
        others = _one_by_one(map(decode, lines.raw(careful)), split, len(fields), raw=raw)
        batch = _spliced(batch, others, quick[quick | careful])
    return Cut(batch, int(skipped))


def cut_records(records: Iterable[Line], split: Split, width: int, *, raw: bool = False) -> Iterator[Cut]:
    """Rows of records that are split one by one."""
    left = iter(records)
    while some := list(islice(left, _RECORDS)):
        yield Cut(_one_by_one(some, split, width, raw=raw), 0)


def whole(lines: Lines, chosen: Mask) -> pa.Array:
    """Lines as they were read."""
    return texts(lines.content, lines.starts[chosen], lines.ends[chosen])


def _one_by_one(records: Iterable[Line], split: Split, width: int, *, raw: bool) -> pa.RecordBatch:
    rows: list[list[str | None]] = []
    for line in records:
        fields = split(line.text) if line.valid else NOT_UTF8
        if isinstance(fields, str):
            rows.append([*[None] * width, line.text, fields])
        else:
            rows.append([*fields, line.text if raw else None, None])
    return _batch([pa.array(column, pa.string()) for column in zip(*rows, strict=True)])


def _spliced(quick: pa.RecordBatch, careful: pa.RecordBatch, is_quick: Mask) -> pa.RecordBatch:
    """Rows that were made in two ways, in the order in which their lines stand."""
    places = np.empty(len(is_quick), np.int64)
    places[is_quick] = np.arange(len(quick))
    places[~is_quick] = len(quick) + np.arange(len(careful))
    return pa.concat_batches([quick, careful]).take(pa.array(places))


def _batch(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), [str(place) for place in range(len(columns))])
