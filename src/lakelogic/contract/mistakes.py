"""Mistakes that our own validators find, carried through Pydantic with their code and hint."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pydantic_core import PydanticCustomError

MISTAKE = "lakelogic_mistake"


def mistake(code: str, message: str, hint: str | None = None, *, key: str | int | None = None) -> PydanticCustomError:
    """Build the error that a validator raises; `key` names the key or item below the value that it means."""
    context = {"code": code, "message": message, "hint": hint, "key": key}
    # The message is filled into a template, so that braces in it stay as they are.
    return PydanticCustomError(MISTAKE, "{message}", context)


def suggest(word: str, known: Iterable[str]) -> str:
    """Say which known word was probably meant, else list the known words."""
    choices = list(known)
    lowered = {choice.lower(): choice for choice in reversed(choices)}
    close = get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{lowered[close[0]]}`?"
    return "choose one of " + ", ".join(f"`{choice}`" for choice in choices)
