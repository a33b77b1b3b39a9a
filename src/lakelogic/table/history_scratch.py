"""Scratch files of a history: written once, so that the passes of a MERGE do not compute them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lakelogic.plan.files import StagedFile
from lakelogic.storage.files import walk_files
from lakelogic.storage.tables import read_footer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILE_BYTES = 16 * 1024 * 1024
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def write_parquet(frame: DataFrame, folder: str, partition_by: Sequence[str] = ()) -> None:
    writer = frame.write.mode("overwrite").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    writer.partitionBy(*partition_by).parquet(folder)


def list_parquet(root: str, folder: str) -> tuple[StagedFile, ...]:
    """The files with rows below a folder, by path relative to the root, with the partition values of their folders."""
    base = f"{root.rstrip('/')}/{folder}"
    files = []
    for file in sorted(walk_files(base), key=lambda file: file.path):
        relative = file.path.removeprefix(f"{base}/")
        rows = read_footer(file.path).num_rows if relative.endswith(".parquet") else 0
        if rows:
            inner = relative.split("/")[:-1]
            files.append(StagedFile(f"{folder}/{relative}", file.size, rows, folder_values(inner)))
    return tuple(files)


def wanted_files(files: Sequence[StagedFile]) -> int:
    """How many files these rows are best kept in: small enough that a change rewrites little."""
    return max(1, round(sum(file.size for file in files) / FILE_BYTES))


def folder_values(parts: Sequence[str]) -> dict[str, str | None]:
    """Partition values by the names of folders (`column=value`)."""
    pairs = (part.partition("=") for part in parts)
    return {unquote(name): None if value == _NULL_PARTITION else unquote(value) for name, _, value in pairs}
