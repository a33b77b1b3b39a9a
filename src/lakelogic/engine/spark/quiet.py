"""What Spark says while it starts or fails, kept off the user's terminal where it says nothing, or too much."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.logger import PySparkLogger

# Printed by the JVM itself, before any logging is configured, because Spark asks for a preview module.
_NOISE = (b"WARNING: Using incubator modules",)
_STDERR = 2
# PySpark writes each error that has a place in a query here, with the values of rows and the stack of the JVM.
_TALKERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_ours = threading.local()


@contextmanager
def quiet_start() -> Iterator[None]:
    """Let the JVM that is started inside write its errors through us, without the noise."""
    reading, writing = os.pipe()
    real = os.dup(_STDERR)
    threading.Thread(target=_forward, args=(reading, real), name="spark-stderr", daemon=True).start()
    os.dup2(writing, _STDERR)
    os.close(writing)
    try:
        with warnings.catch_warnings():
            # PySpark looks at the version of pandas here, although none is used.
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        os.dup2(real, _STDERR)


def _forward(reading: int, real: int) -> None:
    """Pass lines on until the JVM, which holds the other end, is gone."""
    with os.fdopen(reading, "rb") as stream:
        for line in stream:
            if not line.startswith(_NOISE):
                os.write(real, line)
    os.close(real)


@contextmanager
def quiet_errors() -> Iterator[None]:
    """Keep PySpark from writing errors of this thread that are translated anyway; those of others are not ours."""
    for name in _TALKERS:
        PySparkLogger.getLogger(name).addFilter(_is_not_ours)  # adding it again changes nothing
    depth = getattr(_ours, "depth", 0)
    _ours.depth = depth + 1
    try:
        yield
    finally:
        _ours.depth = depth


def _is_not_ours(record: logging.LogRecord) -> bool:
    return getattr(_ours, "depth", 0) == 0
