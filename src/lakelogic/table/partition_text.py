"""Partition values as texts."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any


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
