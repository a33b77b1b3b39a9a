"""How accepted rows land in the target: one small value per strategy, kept in the journal with the batch.

Fields are texts, numbers, flags and tuples of texts only, so that a write survives as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class WriteAppend:
    """Add the accepted rows to the target."""


@dataclass(frozen=True, slots=True)
class WriteOverwrite:
    """Replace the whole target by the accepted rows."""


@dataclass(frozen=True, slots=True)
class WriteMerge:
    """Upsert the accepted rows by key."""

    keys: tuple[str, ...]
    order_by: tuple[str, ...] = ()  # "updated_at desc"-style terms over output columns; latest wins
    on_duplicate_key: Literal["latest", "fail"] = "fail"


Write = WriteAppend | WriteOverwrite | WriteMerge
