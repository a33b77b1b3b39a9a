"""Durations such as `90s`, `30m`, `6h`, `3d`, `2w`."""

from __future__ import annotations

import re
from datetime import timedelta

_PART = re.compile(r"(\d+)\s*(ms|s|m|h|d|w)")
_WHOLE = re.compile(r"\s*(?:\d+\s*(?:ms|s|m|h|d|w)\s*)+")
_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def parse_duration(text: str) -> timedelta:
    """Read a duration; several parts add up (`1d 12h`). Raises ValueError on anything else."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"`{text}` is not a duration")
    return sum((int(number) * _UNITS[unit] for number, unit in _PART.findall(text)), timedelta())


def render_duration(duration: timedelta) -> str:
    """Write a duration in its largest whole unit: the inverse of `parse_duration`."""
    for unit in ("w", "d", "h", "m", "s"):
        if duration and not duration % _UNITS[unit] and (unit != "w" or duration >= timedelta(weeks=4)):
            return f"{duration // _UNITS[unit]}{unit}"
    return f"{duration // _UNITS['ms']}ms"
