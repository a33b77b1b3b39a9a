"""Text cleaned of secrets: the last guard before a log line or an error leaves the process."""

from __future__ import annotations

HIDDEN = "***"

# Shorter values stand in ordinary words; replacing them would garble text without protecting anything.
_SHORTEST = 4
# Process-wide on purpose: whoever formats a log line or an error cannot know which contract named the secret.
_known: set[str] = set()


def remember_secret(value: str) -> None:
    """Have every later log line and error text cleaned of this value."""
    if len(value) >= _SHORTEST:
        _known.add(value)


def redact(text: str) -> str:
    """The text with every known secret replaced by stars."""
    # Longest first: a secret that contains another one would otherwise leave its tail behind.
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text
