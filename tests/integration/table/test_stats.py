"""Statistics are true bounds in Delta's form, or are left out."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakelogic.table.stats import footer_stats, read_stats, render_stats


def stats_of(path: Path, values: list[Any], type_: pa.DataType, **options: Any) -> dict[str, Any]:
    pq.write_table(pa.table({"c": pa.array(values, type_)}), path, **options)
    return dict(json.loads(render_stats(read_stats(str(path)), ["c"]), parse_float=Decimal))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "f.parquet"


@pytest.mark.parametrize(
    ("values", "type_", "low", "high"),
    [
        ([3, None, -1], pa.int64(), -1, 3),
        ([1, 2], pa.int8(), 1, 2),
        ([True, False, None], pa.bool_(), False, True),
        (["b", "a", None], pa.string(), "a", "b"),
        (["x" * 31 + "z\U0010ffff"], pa.string(), "x" * 31 + "z", "x" * 31 + "\U0010ffff"),
        (["x" * 32], pa.string(), "x" * 32, "x" * 32),
        (["x" * 33], pa.string(), "x" * 32, "x" * 32 + "\U0010ffff"),
        (["ü" * 40], pa.string(), "ü" * 32, "ü" * 32 + "\U0010ffff"),
        ([date(2024, 2, 29), date(1, 1, 1)], pa.date32(), "0001-01-01", "2024-02-29"),
        (
            [datetime(2024, 1, 1, 1, 2, 3, 456789, tzinfo=UTC)],
            pa.timestamp("us", "UTC"),
            "2024-01-01T01:02:03.456Z",
            "2024-01-01T01:02:03.457Z",
        ),
        (
            [datetime(2024, 1, 1, 1, 2, 3, 456000)],
            pa.timestamp("us"),
            "2024-01-01T01:02:03.456",
            "2024-01-01T01:02:03.456",
        ),
        (
            [Decimal("12345678901234567890123456.0123456789"), Decimal("-0.10")],
            pa.decimal128(38, 10),
            Decimal("-0.1000000000"),
            Decimal("12345678901234567890123456.0123456789"),
        ),
    ],
)
def test_bounds(file: Path, values: list[Any], type_: pa.DataType, low: Any, high: Any) -> None:
    found = stats_of(file, values, type_)
    assert found["minValues"] == {"c": low}
    assert found["maxValues"] == {"c": high}
    assert found["nullCount"] == {"c": values.count(None)}
    assert found["numRecords"] == len(values)


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1.5, float("nan")], pa.float64()),  # this writer leaves NaN out of its bounds
        ([b"a"], pa.binary()),
        ([None, None], pa.int64()),
        ([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("ns", "UTC")),
        (["\U0010ffff" * 33], pa.string()),
    ],
)
def test_a_bound_is_left_out_when_unsure(file: Path, values: list[Any], type_: pa.DataType) -> None:
    found = stats_of(file, values, type_)
    assert "minValues" not in found and "maxValues" not in found
    assert found["nullCount"] == {"c": values.count(None)}


def test_nested_columns_have_no_statistics(file: Path) -> None:
    assert stats_of(file, [[1], None], pa.list_(pa.int64()))["nullCount"] == {}


def test_a_file_without_statistics_has_only_its_number_of_rows(file: Path) -> None:
    found = stats_of(file, [1, 2], pa.int64(), write_statistics=False)
    assert found == {"numRecords": 2, "nullCount": {}}


def test_row_groups_are_taken_together(file: Path) -> None:
    found = stats_of(file, [None, None, 5, 1, None, 9], pa.int64(), row_group_size=2)
    assert (found["minValues"], found["maxValues"], found["nullCount"]) == ({"c": 1}, {"c": 9}, {"c": 3})


def test_only_the_first_columns_are_indexed(file: Path) -> None:
    pq.write_table(pa.table({f"c{n}": [n] for n in range(40)}), file)
    stats = read_stats(str(file))
    names = [f"c{n}" for n in range(40)]
    assert len(json.loads(render_stats(stats, names))["minValues"]) == 32
    assert len(json.loads(render_stats(stats, names, limit=-1))["minValues"]) == 40
    assert json.loads(render_stats(stats, names, limit=0)) == {"numRecords": 1, "nullCount": {}}


def test_one_column_without_bounds_takes_the_bounds_of_the_file_away(file: Path) -> None:
    pq.write_table(pa.table({"a": [1], "f": [1.5]}), file)
    stats = read_stats(str(file))
    assert "minValues" not in json.loads(render_stats(stats, ["a", "f"]))
    assert json.loads(render_stats(stats, ["a"]))["minValues"] == {"a": 1}, "not a column of the table"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=80), min_size=1, max_size=5))
def test_law_text_bounds_hold_every_value_in_byte_order(values: list[str]) -> None:
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table({"c": values}), buffer)
    stats = footer_stats(pq.read_metadata(pa.BufferReader(buffer.getvalue())))
    low, high = stats.minimum.get("c"), stats.maximum.get("c")
    for value in values:
        assert low is None or str(low).encode() <= value.encode()
        assert high is None or value.encode() <= str(high).encode()
