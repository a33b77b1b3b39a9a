"""Spark's errors, translated once at the edge: a short sentence, no JVM stack, no row values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from pyspark.errors import AnalysisException, ParseException, PySparkException

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.core.jvm import jvm_errors
from lakelogic.engine.file_columns import damaged
from lakelogic.engine.spark.quiet import quiet_errors

# Messages of these name columns, tables and paths only; all others may quote a row's values.
_SAFE = (AnalysisException, ParseException)
_READ_FILE = re.compile(r"FAILED_READ_FILE\.NO_HINT\] Encountered error while reading file (\S+?)\.\s")
_KINDS = {"parquet": "a Parquet", "orc": "an ORC", "avro": "an Avro"}
_KAFKA_HINT = (
    "run `lakelogic setup --with kafka`; a Spark that was started elsewhere needs the package "
    "org.apache.spark:spark-sql-kafka-0-10_2.13 of its own version"
)
_DELTA_HINT = (
    "start Spark with the package io.delta:delta-spark_<Spark's version>_2.13, or name no session and no master: "
    "then the jars of `lakelogic setup` are used"
)
_AVRO_HINT = "start Spark with the package org.apache.spark:spark-avro_2.13 of the same version as Spark"


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what Spark raises while `doing` something into an error that a person can act on."""
    try:
        with quiet_errors():
            yield
    except PySparkException as error:
        raise _translate(error, doing) from error
    except jvm_errors() as error:
        file = _damaged_file(error)
        if file is not None:
            raise file from error
        raise RunError(f"Spark failed while {doing}: {_java_class(error)}", code="LL487") from error


def _translate(error: PySparkException, doing: str) -> RunError | CapabilityError:
    condition = error.getCondition() or type(error).__name__
    file = _damaged_file(error)
    if file is not None:
        return file
    if "find data source: delta" in str(error).lower():
        return CapabilityError("this Spark cannot read or write Delta: its package is missing", hint=_DELTA_HINT)
    if "find data source: avro" in str(error).lower():
        return CapabilityError("this Spark cannot read Avro: its Avro package is missing", hint=_AVRO_HINT)
    if "find data source: kafka" in str(error).lower():
        return CapabilityError("this Spark cannot read Kafka: its Kafka package is missing", hint=_KAFKA_HINT)
    if isinstance(error, _SAFE):
        return RunError(f"Spark refused {doing}: {_first_sentence(error)}", code="LL421")
    return RunError(f"Spark failed while {doing}: {condition}", code="LL487")


def _damaged_file(error: Exception) -> RunError | None:
    """Spark says which file it was reading, somewhere in the causes of what it raises."""
    found = _READ_FILE.search(str(error))
    if found is None:
        return None
    if not found[1].startswith("file:"):
        return RunError(f"`{found[1]}` cannot be read", code="LL423", retryable=True)
    path = unquote(found[1].removeprefix("file:").replace("///", "/", 1))
    return damaged(_KINDS.get(path.rsplit(".", 1)[-1], "a readable"), path)


def _first_sentence(error: PySparkException) -> str:
    first = str(error).strip().splitlines()[0]
    return re.sub(r"\s*(SQLSTATE: \w+)?\s*;?\s*(line \d+.*)?$", "", first)[:400]


def _java_class(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    return str(java.getClass().getName()) if java is not None else type(error).__name__
