"""Staged files as a Spark frame, and Spark's errors in our words."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from lakelogic.core.errors import RunError
from lakelogic.core.jvm import jvm_errors
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import DELETE_COLUMN, HELPER_COLUMNS, Column
from lakelogic.table.adopt import find_commit, find_table
from lakelogic.table.delta_schema import delta_schema
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.stats import read_stats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def spark_schema(columns: Iterable[Column]) -> StructType:
    """Spark's schema of declared columns; Delta writes schemas in Spark's own JSON form."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(delta_schema(columns).to_json()))


def with_helpers(shape: TableShape, names: Iterable[str]) -> TableShape:
    """The shape of staged files with those columns that only tell the table what to do."""
    return replace(shape, columns=(*shape.columns, *helper_columns(names)))


def helper_columns(names: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(name, exp.DataType.build(HELPER_COLUMNS[name], dialect="databricks")) for name in names)


def has_deletes(root: str, files: Sequence[StagedFile]) -> bool:
    """Whether a staged row says that its key is to go, by the footers; in doubt, yes."""
    return any(read_stats(os.path.join(root, file.path)).maximum.get(DELETE_COLUMN) is not False for file in files)


def read_staged(spark: SparkSession, root: str, files: Sequence[StagedFile], shape: TableShape) -> DataFrame:
    """The rows of staged files with exactly the table's columns; partition values come from folder names."""
    schema = spark_schema(shape.columns)
    if not files:
        return spark.createDataFrame([], schema)
    reader = spark.read.schema(schema).option("basePath", partition_base(root, files[0].path))
    # These are names, not patterns: a folder may have `[` or `{` in its name.
    paths = [os.path.join(root, file.path) for file in files]
    frame = reader.option("__globPaths__", "false").parquet(*paths)
    return frame.select(*(quoted(column.name) for column in shape.columns))


def committed(path: str, commit_id: CommitId) -> Commit:
    """The commit that Spark just made, with the numbers it left in the log."""
    found = find_commit(find_table(path), commit_id)
    if found is None:
        raise RunError(f"the commit to `{path}` is not in its log", code="LL441", retryable=True)
    return Commit(found.version, metrics=found.metrics)


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Translate Spark's exceptions; their text may quote row values, so only the condition's name is kept."""
    from pyspark.errors import PySparkException

    try:
        yield
    except jvm_errors(PySparkException) as error:
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        condition = condition or _condition(str(error)) or type(error).__name__
        raise RunError(
            f"{what} failed on Spark: {condition}",
            code="LL441",
            hint="nothing of this batch was published by it; run with --debug for Spark's own message",
        ) from error


@contextmanager
def session_confs(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Settings that hold inside the block only."""
    before = {key: spark.conf.get(key, None) for key in values}
    try:
        for key, value in values.items():
            spark.conf.set(key, value)
        yield
    finally:
        # What one batch sets must not reach the next in the same session.
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def partition_base(root: str, path: str) -> str:
    """The folder above the first `column=value` folder, where Spark must start to read partition values."""
    parts = os.path.dirname(path).split("/")
    plain = []
    for part in parts:
        if "=" in part:
            break
        plain.append(part)
    return os.path.join(root, *plain)


def _condition(text: str) -> str | None:
    """The condition's name in the text of a Java exception that PySpark handed on as it was."""
    found = re.search(r"Exception: \[([A-Z][A-Z0-9_.]+)\]", text)
    return found.group(1) if found else None


def quoted(name: str) -> str:
    """A name as Spark SQL takes it whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"
