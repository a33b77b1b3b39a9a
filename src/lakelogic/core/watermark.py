"""A watermark: the value of a growing column from which on rows are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Watermark:
    """Rows with a lower value are left out; those with the same one are read again, so that none of it is lost."""

    field: str
    value: str

    def __str__(self) -> str:
        return f"{self.field} from {self.value} on"


def encode_watermark(watermark: Watermark | None) -> list[str] | None:
    """As the journal keeps it, so that a retry reads the same rows."""
    return [watermark.field, watermark.value] if watermark else None


def decode_watermark(node: Sequence[str] | None) -> Watermark | None:
    """The watermark that `encode_watermark` wrote."""
    return Watermark(node[0], node[1]) if node else None
