"""Input files of cases that are not text, written from text that a person can read and review."""

from __future__ import annotations

import json
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# `input.parquet.json` holds {"columns": {name: type}, "rows": [...]} and becomes `input.parquet`.
PARQUET_SUFFIX = ".parquet.json"
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(), "int": pa.int32(), "long": pa.int64(), "short": pa.int16(), "float": pa.float32(),
    "double": pa.float64(), "boolean": pa.bool_(), "date": pa.date32(), "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "null": pa.null(),
}  # fmt: skip


def write_tables(folder: Path) -> None:
    """Turn every readable description of a Parquet file below a folder into that file."""
    for found in sorted(folder.rglob(f"*{PARQUET_SUFFIX}")):
        described = json.loads(found.read_text(encoding="utf-8"))
        types = {name: _arrow_type(type_) for name, type_ in described["columns"].items()}
        arrays = [
            pa.array([_value(row.get(name), type_) for row in described["rows"]], type_)
            for name, type_ in types.items()
        ]
        pq.write_table(pa.table(arrays, names=list(types)), found.with_suffix(""))
        found.unlink()


def _arrow_type(name: str) -> pa.DataType:
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if name.startswith("array<"):
        return pa.list_(_arrow_type(name[6:-1]))
    if name.startswith("struct<"):  # of plain types
        fields = (field.split(":") for field in name[7:-1].split(","))
        return pa.struct([(field, _arrow_type(type_)) for field, type_ in fields])
    return _TYPES[name]


def _value(value: Any, type_: pa.DataType) -> Any:
    """JSON has no dates, decimals or bytes: they stand there as text."""
    if not isinstance(value, str):
        return value
    if pa.types.is_decimal(type_):
        return Decimal(value)
    if pa.types.is_timestamp(type_):
        return datetime.fromisoformat(value)
    if pa.types.is_date(type_):
        return datetime.fromisoformat(value).date()
    if pa.types.is_floating(type_):
        return float(value)
    return bytes.fromhex(value) if pa.types.is_binary(type_) else value
