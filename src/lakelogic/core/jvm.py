"""Errors of a JVM in this process; a client of Spark Connect has none, and not the package that talks to one."""

from __future__ import annotations


def jvm_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """What a call into the JVM raises, beside others; nothing of its own where there is none."""
    try:
        from py4j.protocol import Py4JError  # noqa: PLC0415  # importing the package must not import an engine
    except ImportError:
        return others
    return (*others, Py4JError)
