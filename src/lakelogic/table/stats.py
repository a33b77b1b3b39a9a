"""Statistics of staged files in Delta's form, read off the Parquet footers.

A reader skips a file when the bounds say that no row can match, so a wrong bound loses rows, while a missing
bound only costs time: wherever a footer leaves a doubt, the bound is left out. And where the bounds of one
column are left out, those of all columns of that file are: delta-rs (1.6, `to_pyarrow_dataset`) takes a
bound that is missing beside others for one that no value keeps, and hides the rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.storage.tables import read_footer

# Delta keeps this much of a string bound, and statistics of this many columns.
STRING_PREFIX = 32
INDEXED_COLUMNS = 32
_LAST_CHARACTER = "\U0010ffff"

Bound = int | float | str | Decimal


@dataclass(frozen=True, slots=True)
class FileStats:
    """What the footer of one file says; columns that it is silent about are missing from the mappings."""

    rows: int
    minimum: Mapping[str, Bound] = field(default_factory=dict)
    maximum: Mapping[str, Bound] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    columns: frozenset[str] = frozenset()
    unbounded: frozenset[str] = frozenset()  # columns with values, but without both bounds


def read_stats(path: str, constants: Mapping[str, str] | None = None) -> FileStats:
    """Read the footer of a Parquet file; it is silent on columns whose one value is known."""
    return footer_stats(read_footer(path), constants)


def footer_stats(metadata: pq.FileMetaData, constants: Mapping[str, str] | None = None) -> FileStats:
    """What a footer says."""
    schema = metadata.schema.to_arrow_schema()
    flat = _flat_columns(metadata, schema)
    nulls = {name: count for name, index in flat.items() if (count := _null_count(metadata, index)) is not None}
    minimum, maximum, known = {}, {}, constants or {}
    for name, index in flat.items():
        low, high = _bounds(metadata, index, schema.field(name).type)
        if name in known:
            low, high = _constant_bounds(known[name], schema.field(name).type)
            nulls[name] = 0
        if low is not None and high is not None:
            minimum[name], maximum[name] = low, high
    with_values = {name for name in flat if nulls.get(name) != metadata.num_rows}
    return FileStats(
        metadata.num_rows,
        minimum,
        maximum,
        nulls,
        columns=frozenset(schema.names),
        unbounded=frozenset(name for name in with_values - set(minimum) if _is_bounded(schema.field(name).type)),
    )


def render_stats(stats: FileStats, columns: Iterable[str], *, limit: int = INDEXED_COLUMNS) -> str:
    """The JSON text of an add action: statistics of the first `limit` of these columns (-1: of all)."""
    names = list(columns)
    kept = names if limit < 0 else names[:limit]
    node: dict[str, Any] = {"numRecords": stats.rows}
    if not stats.unbounded.intersection(kept) and not stats.minimum.keys().isdisjoint(kept):
        node["minValues"] = _pick(stats.minimum, kept)
        node["maxValues"] = _pick(stats.maximum, kept)
    node["nullCount"] = _pick(stats.nulls, kept)
    return _render(node)


def _pick(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _render(value: Any) -> str:
    # A decimal is a JSON number with all its digits; the json module would pass it through a double.
    match value:
        case dict():
            return "{" + ",".join(f"{json.dumps(key)}:{_render(item)}" for key, item in value.items()) + "}"
        case Decimal():
            return format(value, "f")
        case _:
            return json.dumps(value)


def _flat_columns(metadata: pq.FileMetaData, schema: pa.Schema) -> dict[str, int]:
    # Leaves of nested columns count elements, not rows, so only columns that are their own leaf are taken.
    nested = {field.name for field in schema if pa.types.is_nested(field.type)}
    leaves = ((metadata.schema.column(index).path, index) for index in range(metadata.num_columns))
    return {path: index for path, index in leaves if path in schema.names and path not in nested}


def _chunks(metadata: pq.FileMetaData, index: int) -> list[tuple[int, Any]]:
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return [(group.num_rows, group.column(index).statistics) for group in groups]


def _constant_bounds(text: str, type_: pa.DataType) -> tuple[Bound | None, Bound | None]:
    value = datetime.fromisoformat(text) if pa.types.is_timestamp(type_) else text
    return _lower(value, type_), _upper(value, type_)


def _null_count(metadata: pq.FileMetaData, index: int) -> int | None:
    total = 0
    for rows, statistics in _chunks(metadata, index):
        if rows and (statistics is None or not statistics.has_null_count):
            return None
        total += statistics.null_count if rows else 0
    return total


def _bounds(metadata: pq.FileMetaData, index: int, type_: pa.DataType) -> tuple[Bound | None, Bound | None]:
    if not _has_usable_order(metadata, type_):
        return None, None
    lows, highs = [], []
    for rows, statistics in _chunks(metadata, index):
        if statistics is not None and statistics.has_null_count and statistics.null_count == rows:
            continue
        try:
            if statistics is None or not statistics.has_min_max:
                return None, None
            lows.append(statistics.min)
            highs.append(statistics.max)
        except (ValueError, OverflowError, UnicodeDecodeError, NotImplementedError):
            # A date outside of Python's years, or bytes that are no text: the footer may be right, we
            # cannot say it.
            return None, None
    if not lows or any(bound != bound for bound in (*lows, *highs)):  # NaN
        return None, None
    return _lower(min(lows), type_), _upper(max(highs), type_)


def _has_usable_order(metadata: pq.FileMetaData, type_: pa.DataType) -> bool:
    if pa.types.is_floating(type_):
        # These writers tell of a NaN: parquet-mr by a NaN as maximum, DuckDB by leaving the bounds out.
        # Others pass over it, and Spark holds NaN for greater than every number.
        return str(metadata.created_by or "").startswith(("parquet-mr", "DuckDB"))
    if pa.types.is_timestamp(type_):
        return type_.unit in ("ms", "us")
    return _is_bounded(type_)


def _is_bounded(type_: pa.DataType) -> bool:
    """Whether Delta keeps bounds for columns of a type."""
    kinds = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_boolean,
        pa.types.is_date32,
        pa.types.is_timestamp,
        pa.types.is_string,
        pa.types.is_large_string,
    )
    return any(is_kind(type_) for is_kind in kinds)


def _lower(value: Any, type_: pa.DataType) -> Bound | None:
    match value:
        case str():
            return value[:STRING_PREFIX]
        case datetime():
            return _iso(value - timedelta(microseconds=value.microsecond % 1000), type_)
        case float():
            # The sign of zero: a writer may order -0.0 before 0.0 or hold them for equal.
            return None if math.isinf(value) else (-0.0 if value == 0 else value)
        case date():
            return value.isoformat()
        case int() | Decimal():
            return value
        case _:
            return None


def _upper(value: Any, type_: pa.DataType) -> Bound | None:
    match value:
        case str():
            return _upper_text(value)
        case datetime():
            # Rounded up, so that it stays an upper bound for readers that do not allow for the lost
            # microseconds.
            rest = value.microsecond % 1000
            try:
                return _iso(value + timedelta(microseconds=1000 - rest if rest else 0), type_)
            except OverflowError:
                return None
        case float():
            return None if math.isinf(value) else (0.0 if value == 0 else value)
        case _:
            return _lower(value, type_)


def _upper_text(value: str) -> str | None:
    if len(value) <= STRING_PREFIX:
        return value
    # The last character of all stands for the rest; it must replace one that sorts before it.
    for end in range(STRING_PREFIX, -1, -1):
        if value[end] != _LAST_CHARACTER:
            return value[:end] + _LAST_CHARACTER
    return None


def _iso(value: datetime, type_: pa.DataType) -> str:
    text = value.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{text}Z" if type_.tz else text
