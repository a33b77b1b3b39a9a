"""Parquet files that a job left: found, measured by their footers, and read back."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from lakelogic.engine.protocol import StageInput
from lakelogic.engine.spark.paths import exactly, local_path
from lakelogic.engine.spark.types import to_ddl
from lakelogic.engine.spark.words import quote
from lakelogic.plan.files import StagedFile
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import FoundFile, walk_files
from lakelogic.storage.tables import read_footer

_FOOTER_READERS = 8
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def join_path(root: str, folder: str) -> str:
    return f"{root.rstrip('/')}/{folder.strip('/')}"


def list_written(root: str, folder: str) -> tuple[StagedFile, ...]:
    """The files below a folder, by path relative to the root, with rows and partition values."""
    base = join_path(root, folder)
    local = local_path(base)
    if local is not None:
        found = sorted(path for path in local.rglob("*.parquet") if not path.name.startswith((".", "_")))
        return tuple(_measure(path, local, folder) for path in found)
    if not is_remote(base):
        return ()  # no row had this verdict, so nobody made the folder
    with ThreadPoolExecutor(_FOOTER_READERS) as readers:
        return tuple(readers.map(lambda file: _measure_object(file, base, folder), _objects(base)))


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


def _objects(base: str) -> list[FoundFile]:
    names = ((file, file.path.rsplit("/", 1)[-1]) for file in walk_files(base))
    return [file for file, name in names if name.endswith(".parquet") and not name.startswith((".", "_"))]


def _measure_object(file: FoundFile, base: str, folder: str) -> StagedFile:
    relative = file.path.removeprefix(f"{base}/")
    rows = read_footer(file.path).num_rows
    return StagedFile(f"{folder.strip('/')}/{relative}", file.size, rows, _partition(relative.split("/")[:-1]))


def _partition(parts: Sequence[str]) -> dict[str, str | None]:
    pairs = (part.partition("=") for part in parts if "=" in part)
    return {unquote(name): None if value == _NULL_PARTITION else unquote(value) for name, _, value in pairs}
