"""What LIKE does not allow in a pattern."""

from __future__ import annotations


def find_like_mistake(pattern: str, escape: str) -> str | None:
    """Spark raises where the escape stands before another sign than `%`, `_` and itself."""
    at = 0
    while at < len(pattern):
        if pattern[at] == escape:
            at += 1
            if at == len(pattern):
                return f"the escape `{escape}` ends the pattern"
            if pattern[at] not in ("%", "_", escape):
                return f"the escape `{escape}` stands before a sign that needs none"
        at += 1
    return None
