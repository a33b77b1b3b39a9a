"""Credentials: what a store is entered with, where it was found, and what was looked at before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakelogic.core.secrets import Secret

Given = Mapping[str, str | Secret]  # an entry of a contract's `credentials`, without its path


@dataclass(frozen=True, slots=True)
class Credentials:
    """One answer for all libraries. Values that prove who we are come as `Secret`."""

    origin: str  # where they were found, in words
    tried: tuple[str, ...]  # what was looked at before, in order, in words
    options: Mapping[str, str | Secret] = field(default_factory=dict)  # for delta-rs and obstore
    hadoop: Mapping[str, str | Secret] = field(default_factory=dict)  # for Spark
    explicit: bool = False  # the contract names them, so that they also go to a session that is not ours

    def describe(self) -> str:
        """For an error: what was tried, and never a key."""
        return "; ".join((*self.tried, f"used: {self.origin}"))


def secrets(values: Mapping[str, str | Secret | None]) -> dict[str, str | Secret]:
    """Values that must not be shown from here on; those that are missing are left out."""
    found = {name: value for name, value in values.items() if value}
    return {name: value if isinstance(value, Secret) else Secret(value) for name, value in found.items()}


def plain(values: Mapping[str, str | Secret | None]) -> dict[str, str | Secret]:
    """Values without those that are missing."""
    return {name: value for name, value in values.items() if value}


def text(value: str | Secret | None) -> str | None:
    """A setting that is no secret, as text."""
    return value.reveal() if isinstance(value, Secret) else value


def is_set(value: str | Secret | None) -> bool:
    """Whether a flag is set."""
    return (text(value) or "").lower() in ("true", "1", "yes")
