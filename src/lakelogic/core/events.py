"""Events: what a run noticed beside rows, kept on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EventSeverity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth remembering about a run; never a value of a row."""

    kind: str  # `missing_column`, `widened_column`, ...
    message: str
    severity: EventSeverity = "info"
    detail: Mapping[str, Any] = field(default_factory=dict)  # goes to JSON
