"""Partition values as texts, and texts as the values that they are."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa


def partition_text(value: Any) -> str | None:
    """A partition value as Delta's log writes it."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case datetime():
            moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
            return moment.isoformat(sep=" ")
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.decode()
        case _:
            return str(value)


def partition_value(text: str | None, type_: pa.DataType) -> pa.Scalar:
    """A partition value by its text; a moment stands there in UTC, without a zone."""
    if text is None:
        return pa.scalar(None, type_)
    if pa.types.is_timestamp(type_) and type_.tz is not None and text[-1:] != "Z":
        return pa.scalar(text, pa.string()).cast(pa.timestamp(type_.unit)).cast(type_)
    return pa.scalar(text, pa.string()).cast(type_)
