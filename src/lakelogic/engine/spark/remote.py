"""Spark Connect: the same API in other classes, which behave differently in a few places."""

from __future__ import annotations


def is_remote(thing: object) -> bool:
    """Whether a session or a frame lives on the other side of a connection."""
    return type(thing).__module__.startswith("pyspark.sql.connect")
