"""Parquet files that a job left: found, measured by their footers, and read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from lakelogic.engine.protocol import StageInput
from lakelogic.engine.spark.paths import exactly, local_path
from lakelogic.engine.spark.render import quote
from lakelogic.engine.spark.types import to_ddl
from lakelogic.plan.files import StagedFile

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def join_path(root: str, folder: str) -> str:
    return f"{root.rstrip('/')}/{folder.strip('/')}"


def list_written(spark: SparkSession, root: str, folder: str) -> tuple[StagedFile, ...]:
    """The files below a folder, by path relative to the root, with rows and partition values."""
    local = local_path(join_path(root, folder))
    if local is not None:
        found = sorted(path for path in local.rglob("*.parquet") if not path.name.startswith((".", "_")))
        return tuple(_measure(path, local, folder) for path in found)
    if local_path(root) is not None:
        return ()  # no row had this verdict, so nobody made the folder
    return _list_remote(spark, root, folder)


def read_staged(spark: SparkSession, staged: StageInput) -> DataFrame:
    """The rows of staged files, partition columns included, with the schema that they were written with."""
    if not staged.staged or staged.staged_root is None:
        columns = ", ".join(f"CAST(NULL AS {c.type.sql('spark')}) AS {quote(c.name)}" for c in staged.columns)
        return spark.sql(f"SELECT {columns} WHERE false")
    root = staged.staged_root
    paths = [join_path(root, file.path) for file in staged.staged]
    frame = spark.read.schema(to_ddl(staged.columns)).option("basePath", root).parquet(*exactly(paths))
    return frame.select(*(quote(column.name) for column in staged.columns))


def plain_folder(root: str, folder: str, written: str, wanted: str) -> str:
    """Give a `column=value` folder a plain name; readers that guess partitions from paths would see a column.

    An object store has no renames: there the folder keeps its name, and gives it back.
    """
    parent = local_path(join_path(root, folder))
    if parent is None:
        return written
    if (parent / written).is_dir():
        (parent / written).rename(parent / wanted)
    return wanted


def _measure(path: Path, base: Path, folder: str) -> StagedFile:
    relative = path.relative_to(base)
    return StagedFile(
        path=f"{folder.strip('/')}/{relative.as_posix()}",
        size=path.stat().st_size,
        rows=pq.read_metadata(path).num_rows,
        partition=_partition(relative.parts[:-1]),
    )


def _partition(parts: Sequence[str]) -> dict[str, str | None]:
    pairs = (part.partition("=") for part in parts if "=" in part)
    return {unquote(name): None if value == _NULL_PARTITION else unquote(value) for name, _, value in pairs}


def _list_remote(spark: SparkSession, root: str, folder: str) -> tuple[StagedFile, ...]:
    """On an object store Spark itself looks: one row per file, never a row of data."""
    base = join_path(root, folder)
    rows = (
        spark.read.option("recursiveFileLookup", "true")
        .parquet(base)
        .groupBy("_metadata.file_path", "_metadata.file_size")
        .count()
        .collect()
    )
    files = []
    for path, size, count in rows:
        relative = unquote(path).split(f"{base.split('://', 1)[-1]}/", 1)[-1]
        parts = relative.split("/")[:-1]
        files.append(StagedFile(f"{folder.strip('/')}/{relative}", size, count, _partition(parts)))
    return tuple(sorted(files, key=lambda file: file.path))
