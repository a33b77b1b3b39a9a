"""Values that must never show: wrapped so that they do not print, and known so that text can be cleaned of them."""

from __future__ import annotations

from dataclasses import dataclass, field

HIDDEN = "***"

# Shorter values stand in ordinary words; replacing them would garble text without protecting anything.
_SHORTEST = 4
# Process-wide on purpose: whoever formats a log line or an error cannot know which contract named the secret.
_known: set[str] = set()


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that only `reveal` gives out; printing, formatting and repr show stars."""

    _value: str = field(repr=False)

    def __post_init__(self) -> None:
        remember_secret(self._value)

    def reveal(self) -> str:
        return self._value

    def __str__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __reduce__(self) -> str:
        raise TypeError("a Secret is not pickled: it would leave the process in clear")


def remember_secret(value: str) -> None:
    """Have every later log line and error text cleaned of this value."""
    if len(value) >= _SHORTEST:
        _known.add(value)


def redact(text: str) -> str:
    """The text with every known secret replaced by stars."""
    # Longest first: a secret that contains another one would otherwise leave its tail behind.
    for value in sorted(_known, key=len, reverse=True):
        if value in text:
            text = text.replace(value, HIDDEN)
    return text
