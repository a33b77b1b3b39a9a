"""The files of a history's table, read as they lie: Spark needs no snapshot of the log for them.

A version that a batch finds in the table carries a mark of its file, so that a batch knows which files it changes
as soon as it knows its changes.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa

from lakelogic.plan.files import StagedFile
from lakelogic.storage.address import is_remote
from lakelogic.table.history_scratch import folder_values
from lakelogic.table.obstacles import adoption_obstacle
from lakelogic.table.partition_text import partition_text
from lakelogic.table.protocol import TableShape
from lakelogic.table.pruning import Range, overlaps
from lakelogic.table.spark_staged import partition_base, quoted, spark_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

FILE_PATH = "_lakelogic_file_path"
_PLAIN_PATH = re.compile(r"[\w./=-]+", re.ASCII)
_JAVA_KEEPS = "/_-!.~'()*,;:$&+=@"  # characters of a path that stand in a Java URI as they are
_MAX_FOLDERS = 32  # each is a scan of its own in Spark's plan


def find_files(
    table: DeltaTable, shape: TableShape, ranges: Mapping[str, Sequence[Range]]
) -> tuple[StagedFile, ...] | None:
    """The table's files that may hold keys of these ranges; None where only Delta's own reader knows their rows."""
    configuration = table.metadata().configuration
    fed = configuration.get("delta.enableChangeDataFeed", "false").lower() == "true"
    kept = configuration.get("delta.appendOnly", "false").lower() == "true"
    if fed or kept or adoption_obstacle(table, overwrite=True) is not None:
        return None
    actions = pa.table(table.get_add_actions(flatten=True))
    files = [_file(row, shape) for row in _rows(actions, overlaps(actions, ranges))]
    if any(not _PLAIN_PATH.fullmatch(file.path) or not _folders_tell(file, shape) for file in files):
        return None
    few = not shape.partition_by or len({partition_base("", file.path) for file in files}) <= _MAX_FOLDERS
    return tuple(files) if few else None


def _rows(actions: pa.Table, wanted: Sequence[bool]) -> list[dict[str, object]]:
    names = [name for name in actions.column_names if name.startswith("partition.")]
    chosen = actions.select(["path", "size_bytes", "num_records", *names]).filter(pa.array(wanted, pa.bool_()))
    return list(chosen.to_pylist())


def _file(row: Mapping[str, object], shape: TableShape) -> StagedFile:
    partition = {name: partition_text(row.get(f"partition.{name}")) for name in shape.partition_by}
    return StagedFile(str(row["path"]), int(str(row["size_bytes"])), int(str(row["num_records"] or 0)), partition)


def _folders_tell(file: StagedFile, shape: TableShape) -> bool:
    """Whether the folders of a file say its partition values, as Spark reads them from there."""
    folders = [part for part in os.path.dirname(file.path).split("/") if "=" in part]
    return folder_values(folders) == {name: file.partition[name] for name in shape.partition_by}


def read_files(
    spark: SparkSession, root: str, files: Sequence[StagedFile], shape: TableShape, *, with_path: bool = False
) -> DataFrame:
    """The rows of a table's files, with the path of the file beside them if wanted."""
    schema = spark_schema(shape.columns)
    columns: list[str | SparkColumn] = [quoted(column.name) for column in shape.columns]
    if with_path:
        from pyspark.sql import functions as sf

        columns.append(sf.col("_metadata.file_path").alias(FILE_PATH))
    bases: dict[str, list[str]] = {}
    for file in files:
        base = partition_base(root, file.path) if shape.partition_by else root
        bases.setdefault(base, []).append(os.path.join(root, file.path))
    reader = spark.read.schema(schema).option("__globPaths__", "false")
    frames = [
        (reader.option("basePath", base) if shape.partition_by else reader).parquet(*paths).select(*columns)
        for base, paths in bases.items()
    ]
    return reduce(lambda left, right: left.unionByName(right), frames)


def file_mark(path: SparkColumn) -> SparkColumn:
    """A number for the file that a row comes from: it is carried by every version, where a path would weigh more."""
    from pyspark.sql import functions as sf

    return sf.crc32(path)


def marked_files(root: str, files: Sequence[StagedFile], marks: frozenset[int]) -> tuple[StagedFile, ...]:
    """The files that have these marks. Two may share one, and then one is rewritten without need."""
    by_mark: dict[int, list[StagedFile]] = {}
    for file in files:
        for address in _addresses(os.path.join(root, file.path)):
            by_mark.setdefault(zlib.crc32(address.encode()), []).append(file)
    if not marks <= by_mark.keys():
        # Java writes the address of a folder with such a name in another way.
        return tuple(files)
    return tuple(file for mark in sorted(marks) for file in by_mark[mark])


def _addresses(path: str) -> tuple[str, ...]:
    """How Spark may write the path of a file."""
    if is_remote(path):
        return (quote(path, safe=_JAVA_KEEPS),)
    address = quote(os.path.abspath(path), safe=_JAVA_KEEPS)
    return f"file:{address}", f"file://{address}"  # Hadoop writes a local address with one slash or with three
