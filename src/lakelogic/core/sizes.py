"""Sizes as people write them."""

from __future__ import annotations


def render_bytes(number: int) -> str:
    """A number of bytes in its largest unit: `1.5 MB`."""
    size = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"


def render_count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
