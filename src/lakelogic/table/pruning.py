"""Which part of a table a batch can touch, as a condition of literals, so that Delta reads no other file.

Every row of the table that has a key of the batch keeps the condition; a doubt makes it wider, never
narrower. It comes from the keys of the staged files and from the bounds that the table's log has of each
of its files: where the keys lie in separated clusters, so do the ranges. Literals are values of the log only, never
keys of the batch: the condition is kept in the log and shown by Spark (docs/decisions/0026).
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from sqlglot import exp

from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.storage.tables import open_parquet
from lakelogic.table.protocol import TableShape
from lakelogic.table.spark_staged import quoted
from lakelogic.table.stats import read_stats

EVERYTHING = "TRUE"
MAX_RANGES = 16
MAX_WORDS = 200  # partition values in one list
# Looking at single keys is for batches and tables of which it takes a moment.
_MAX_ROWS, _MAX_FILES, _CHUNK = 1_000_000, 20_000, 200_000

_SUFFIX = {
    exp.DataType.Type.TINYINT: "Y",
    exp.DataType.Type.SMALLINT: "S",
    exp.DataType.Type.INT: "",
    exp.DataType.Type.BIGINT: "L",
}
_TEXT = {exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR}
_INSTANT = {exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ}
# Floating keys are left out: NaN and the sign of zero are ordered differently by different writers.
_RANGED = {*_SUFFIX, *_TEXT, *_INSTANT, exp.DataType.Type.DATE, exp.DataType.Type.DECIMAL}
Range = tuple[Any, Any]


def target_predicate(
    table: DeltaTable, root: str, files: Sequence[StagedFile], shape: TableShape, keys: Sequence[str], *, alias: str
) -> str:
    """A condition over the table under `alias` that holds for every row whose key stands in the staged files."""
    columns = {column.name: column for column in shape.columns}
    found = [_key_predicate(table, root, files, columns[key], shape, alias) for key in keys] if files else []
    return " AND ".join(part for part in found if part is not None) or EVERYTHING


def _key_predicate(
    table: DeltaTable, root: str, files: Sequence[StagedFile], column: Column, shape: TableShape, alias: str
) -> str | None:
    if column.type.this in _RANGED and column.name in shape.partition_by:
        return _partition_predicate(_named(column.name, alias), files, column)
    ranges = key_ranges(table, root, files, column)
    return render_ranges(_named(column.name, alias), ranges, column.type) if ranges else None


def key_ranges(table: DeltaTable, root: str, files: Sequence[StagedFile], column: Column) -> list[Range]:
    """Ranges that hold every key of the batch which the table can have; none where they cannot be told."""
    if column.type.this not in _RANGED:
        return []
    try:
        bounds, complete = _bounds(table, column)
        return round_outward(find_ranges(bounds if complete else None, root, files, column), bounds)
    except (ValueError, OverflowError, pa.ArrowException):
        # A date outside of Python's years, for one: Spark may know it, we cannot name it.
        return []


def overlaps(actions: pa.Table, ranges: Mapping[str, Sequence[Range]]) -> list[bool]:
    """Of each file in the log's list (flattened), whether it may hold a row with all its columns in their ranges."""
    found = [True] * actions.num_rows
    for name, parts in ranges.items():
        lows, highs = (
            actions.column(f"{which}.{name}").to_pylist() if f"{which}.{name}" in actions.column_names else None
            for which in ("min", "max")
        )
        if lows is None or highs is None or not parts:
            continue
        for number, (low, high) in enumerate(zip(lows, highs, strict=True)):
            known = low is not None and high is not None
            found[number] &= not known or any(_meet(low, _after(high), part) for part in parts)
    return found


def _meet(low: Any, high: Any, part: Range) -> bool:
    first, last = part
    return (last is None or low <= last) and (first is None or first <= high)


def _after(high: Any) -> Any:
    # The log keeps milliseconds of an instant and may have cut the rest off.
    return high + timedelta(milliseconds=1) if isinstance(high, datetime) else high


def _named(name: str, alias: str) -> str:
    return f"{alias}.{quoted(name)}" if alias else quoted(name)


def _partition_predicate(name: str, files: Sequence[StagedFile], column: Column) -> str | None:
    """Partition values stand in the log as text, so a list of them is exact."""
    words = {file.partition.get(column.name) for file in files}
    if None in words or len(words) > MAX_WORDS or column.type.this in _INSTANT:
        return None
    texts = sorted(word for word in words if word is not None)
    if column.type.this in _SUFFIX and not all(text.lstrip("-").isdigit() for text in texts):
        return None
    return f"{name} IN ({', '.join(render_literal(text, column.type) for text in texts)})"


def find_ranges(bounds: Sequence[Range] | None, root: str, files: Sequence[StagedFile], column: Column) -> list[Range]:
    """Ranges that together hold every key of the batch which a file with these bounds can hold."""
    rows = sum(file.rows for file in files)
    if bounds is None or rows > _MAX_ROWS or len(bounds) > _MAX_FILES:
        whole = _footer_range(root, files, column)
        return [(typed_bound(whole[0], column.type), typed_bound(whole[1], column.type))] if whole else []
    hit: dict[int, Range] = {}
    low: Any = None
    high: Any = None
    for values in _sorted_chunks(root, files, column.name):
        low = values[0] if low is None else min(low, values[0])
        high = values[-1] if high is None else max(high, values[-1])
        for number, (first, last) in enumerate(bounds):
            start, end = bisect_left(values, first), bisect_right(values, last) - 1
            if start <= end:
                before = hit.get(number, (values[start], values[end]))
                hit[number] = (min(before[0], values[start]), max(before[1], values[end]))
    if low is None:
        return []
    # No file can hold a key: the batch's own range tells Delta so.
    return _joined(sorted(hit.values())) if hit else [(low, high)]


def round_outward(ranges: Sequence[Range], bounds: Sequence[Range]) -> list[Range]:
    """The ranges with ends that are bounds of files; an end beyond all of them is open (None)."""
    ends = sorted({end for pair in bounds for end in pair})
    rounded = []
    for low, high in ranges:
        first, last = bisect_right(ends, low) - 1, bisect_left(ends, high)
        rounded.append((ends[first] if first >= 0 else None, ends[last] if last < len(ends) else None))
    return [] if (None, None) in rounded else _without_overlaps(rounded)


def _without_overlaps(ranges: Sequence[Range]) -> list[Range]:
    """Sorted ranges, of which only the first may be open below and only the last above."""
    merged: list[Range] = []
    for low, high in ranges:
        reaches = merged and (merged[-1][1] is None or low is None or low <= merged[-1][1])
        if not reaches:
            merged.append((low, high))
            continue
        before = merged[-1][1]
        merged[-1] = (merged[-1][0], None if before is None or high is None else max(before, high))
    return [] if (None, None) in merged else merged


def count_repeated(root: str, files: Sequence[StagedFile], shape: TableShape, keys: Sequence[str]) -> int | None:
    """How many keys stand in staged files more than once; None where that is for an engine to count.

    A job of its own costs more than looking at the keys of a batch that is not large. Types are those in which
    equal values have equal bytes.
    """
    types = {column.name: column.type.this for column in shape.columns}
    if any(types[key] not in _RANGED or key in shape.partition_by for key in keys):
        return None
    if sum(file.rows for file in files) > _MAX_ROWS:
        return None
    tables = []
    for file in files:
        with open_parquet(os.path.join(root, file.path)) as parquet:
            tables.append(parquet.read(columns=list(keys)))
    counts = pa.concat_tables(tables).group_by(list(keys)).aggregate([([], "count_all")]).column("count_all")
    return int(pc.sum(pc.greater(counts, 1)).as_py() or 0)


def _sorted_chunks(root: str, files: Sequence[StagedFile], name: str) -> Iterator[list[Any]]:
    for file in files:
        with open_parquet(os.path.join(root, file.path)) as parquet:
            for batch in parquet.iter_batches(batch_size=_CHUNK, columns=[name]):
                values = [value for value in pc.unique(batch.column(0)).to_pylist() if value is not None]
                if values:
                    yield sorted(values)


def _joined(ranges: Sequence[Range]) -> list[Range]:
    """Overlapping ranges as one; and no more than a few, where the narrowest gaps are given up first."""
    merged: list[Range] = []
    for low, high in ranges:
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    while len(merged) > MAX_RANGES:
        at = min(range(len(merged) - 1), key=lambda i: _gap(merged[i][1], merged[i + 1][0]))
        merged[at : at + 2] = [(merged[at][0], merged[at + 1][1])]
    return merged


def _gap(low: Any, high: Any) -> float:
    match low:
        case int() | Decimal():
            return float(high - low)
        case datetime() | date():
            return float((high - low).total_seconds())
        case _:
            return 0.0


def _bounds(table: DeltaTable, column: Column) -> tuple[list[Range], bool]:
    """What the log says of files, and whether it says something of each."""
    actions = pa.table(table.get_add_actions(flatten=True))
    names = (f"min.{column.name}", f"max.{column.name}")
    if not set(names) <= set(actions.column_names):
        # A table without files has no bounds, and nothing that could match.
        return [], not actions.num_rows
    pairs = zip(*(actions.column(name).to_pylist() for name in names), strict=True)
    known = [(low, _after(high)) for low, high in pairs if low is not None and high is not None]
    return known, len(known) == actions.num_rows


def _footer_range(root: str, files: Sequence[StagedFile], column: Column) -> Range | None:
    lows, highs = [], []
    for file in files:
        stats = read_stats(os.path.join(root, file.path))
        if stats.nulls.get(column.name) == stats.rows:
            continue
        if column.name not in stats.minimum:
            return None
        lows.append(stats.minimum[column.name])
        highs.append(stats.maximum[column.name])
    return (min(lows), max(highs)) if lows else None


def typed_bound(value: Any, type_: exp.DataType) -> Any:
    """A bound of a footer, which is written as the log would write it, as a value to compare."""
    if type_.this == exp.DataType.Type.DECIMAL:
        return Decimal(str(value))
    if not isinstance(value, str):
        return value
    if type_.this == exp.DataType.Type.DATE:
        return date.fromisoformat(value)
    return datetime.fromisoformat(value) if type_.this in _INSTANT else value


def first_value(root: str, files: Sequence[StagedFile], column: Column) -> Any:
    """A lower bound of a column's values in staged files, by their footers; None where these do not say."""
    found = _footer_range(root, files, column) if column.type.this in _RANGED else None
    return found[0] if found else None


def render_ranges(name: str, ranges: Sequence[Range], type_: exp.DataType) -> str:
    """The condition that a column lies in one of the ranges; an end that is None is open."""
    parts = []
    for low, high in ranges:
        first, last = (None if end is None else render_literal(end, type_) for end in (low, high))
        match first, last:
            case None, _:
                parts.append(f"{name} <= {last}")
            case _, None:
                parts.append(f"{name} >= {first}")
            case _:
                parts.append(f"{name} = {first}" if first == last else f"{name} BETWEEN {first} AND {last}")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def render_literal(value: Any, type_: exp.DataType) -> str:
    """A value as a literal of exactly the column's type: with a cast around the column no file is skipped."""
    kind = type_.this
    if kind in _SUFFIX:
        return f"{int(value)}{_SUFFIX[kind]}"
    if kind == exp.DataType.Type.DECIMAL:
        return f"{Decimal(value):f}BD"
    if kind == exp.DataType.Type.DATE:
        return f"DATE'{value}'"
    if kind in _INSTANT:
        text = value.replace(tzinfo=None).isoformat(sep=" ") if isinstance(value, datetime) else str(value)
        return f"TIMESTAMP'{text.removesuffix('Z')}Z'"
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
