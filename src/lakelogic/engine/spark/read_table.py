"""Typed sources: Parquet, ORC and Avro files, Delta tables, and frames that the caller holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.core.slices import CAME, CHANGE_COLUMNS, OWN_PREFIX, RUN_ID_COLUMN, WENT, TableSlice
from lakelogic.engine.spark.lines import Source
from lakelogic.engine.spark.paths import exactly, local_path, source_expression
from lakelogic.engine.spark.tally import take_tally
from lakelogic.plan.model import SOURCE_COLUMN

_ROW, _RANK, _ALIKE, _GONE = (f"_lakelogic_change_{part}" for part in ("row", "rank", "alike", "gone"))
_ACTIONS = (
    "add STRUCT<path: STRING, dataChange: BOOLEAN, stats: STRING, "
    "deletionVector: STRUCT<storageType: STRING>>, "
    "remove STRUCT<path: STRING, dataChange: BOOLEAN>, "
    "metaData STRUCT<configuration: MAP<STRING, STRING>>"
)


def open_files(spark: SparkSession, format_: str, paths: Sequence[str], options: Mapping[str, str]) -> DataFrame:
    # Files of one slice may come from writers with different columns; one footer does not speak for all.
    wanted = {"mergeSchema": "true", **options} if len(paths) > 1 and format_ in {"parquet", "orc"} else dict(options)
    return spark.read.format(format_).options(**wanted).load(exactly(paths))


def read_files(frame: DataFrame, format_: str, paths: Sequence[str], names: Sequence[str]) -> Source:
    stamped = frame.select(*_columns(frame, names), sf.expr(source_expression(paths)).alias(SOURCE_COLUMN))
    rows = _footer_rows(paths) if format_ == "parquet" else None
    return Source(stamped, rows=rows) if rows is not None else count_passing(stamped)


def read_frame(frame: DataFrame, names: Sequence[str]) -> Source:
    return count_passing(frame.select(*_columns(frame, names), sf.lit("dataframe").alias(SOURCE_COLUMN)))


def count_passing(frame: DataFrame) -> Source:
    counted, tally = take_tally(frame, {"lines": sf.count(sf.lit(1))})
    return Source(counted, (tally,))


def open_delta(spark: SparkSession, slice_: TableSlice) -> DataFrame:
    return spark.read.format("delta").option("versionAsOf", slice_.version).load(slice_.path)


def read_delta(spark: SparkSession, slice_: TableSlice, names: Sequence[str]) -> Source:
    whole = open_delta(spark, slice_)
    if slice_.run_ids:
        of_runs = whole.where(sf.col(RUN_ID_COLUMN).isin(list(slice_.run_ids)))
        return count_passing(_stamp(of_runs, slice_, names))
    if slice_.after_version is None:
        # Delta answers this from its log.
        first = whole.agg(sf.count(sf.lit(1)).alias("rows")).head()
        frame, rows = whole, int(first.rows) if first else 0
    else:
        frame, found = _read_added(spark, slice_, slice_.after_version, whole)
        if found is None:
            return count_passing(_stamp(frame, slice_, names))
        rows = found
    return Source(_stamp(frame, slice_, names), rows=rows)


def _stamp(frame: DataFrame, slice_: TableSlice, names: Sequence[str]) -> DataFrame:
    return frame.select(*_columns(frame, names), sf.lit(slice_.path).alias(SOURCE_COLUMN))


@dataclass(frozen=True, slots=True)
class _Added:
    """What commits after a version added, read from the table's log."""

    paths: tuple[str, ...]
    rows: int | None
    rewrites: bool  # rows were changed or removed, too
    special: bool  # deletion vectors or column mapping: only Delta can read the files
    change_feed: bool


def _read_added(spark: SparkSession, slice_: TableSlice, after: int, whole: DataFrame) -> tuple[DataFrame, int | None]:
    if after >= slice_.version:
        return whole.where("false"), 0
    added = _read_log(spark, slice_, after)
    if added.change_feed and (added.rewrites or added.special):
        return _read_changes(spark, slice_, after), None
    if added.special:
        raise CapabilityError(
            f"`{slice_.path}` has deletion vectors or column mapping: new rows cannot be told from old",
            hint="set the table property delta.enableChangeDataFeed to true, or read with load_mode: full",
        )
    if not added.paths:
        return whole.where("false"), 0
    files = spark.read.schema(whole.schema).option("basePath", slice_.path).parquet(*exactly(added.paths))
    return files, added.rows


def _read_changes(spark: SparkSession, slice_: TableSlice, after: int) -> DataFrame:
    """Rows that are in the table now and were not before: what came, less what went.

    A commit that replaces files tells every row of them, gone and come again. Those that came back as they were are
    not new, whichever run stamped them.
    """
    feed = spark.read.format("delta").option("readChangeFeed", "true")
    changes = feed.option("startingVersion", after + 1).option("endingVersion", slice_.version).load(slice_.path)
    names = [name for name in changes.columns if name not in CHANGE_COLUMNS]
    compared = [sf.col(f"`{name.replace('`', '``')}`") for name in names if not name.startswith(OWN_PREFIX)]
    # A map cannot be compared, its JSON can.
    keyed = changes.withColumn(_ROW, sf.sha2(sf.to_json(sf.struct(*compared)), 256))
    went = keyed.where(sf.col("_change_type").isin(*WENT)).groupBy(_ROW).agg(sf.count(sf.lit(1)).alias(_GONE))
    newest_first = Window.partitionBy(_ROW).orderBy(sf.col("_commit_version").desc())
    came = keyed.where(sf.col("_change_type").isin(*CAME)).withColumn(_RANK, sf.row_number().over(newest_first))
    back = came.withColumn(_ALIKE, sf.count(sf.lit(1)).over(Window.partitionBy(_ROW))).join(went, _ROW, "left")
    new = back.where(sf.col(_RANK) <= sf.col(_ALIKE) - sf.coalesce(sf.col(_GONE), sf.lit(0)))
    return new.drop(_ROW, _RANK, _ALIKE, _GONE, *CHANGE_COLUMNS)


def _read_log(spark: SparkSession, slice_: TableSlice, after: int) -> _Added:
    """The file actions of some commits: names and counts, no rows of the table."""
    base = slice_.path.rstrip("/")
    commits = [f"{base}/_delta_log/{version:020}.json" for version in range(after + 1, slice_.version + 1)]
    if any(local_path(commit) is None for commit in commits) and local_path(base) is not None:
        raise RunError(
            f"the log of `{slice_.path}` no longer reaches back to version {after}",
            hint="run once with load_mode: full",
        )
    actions = (
        spark.read.schema(_ACTIONS).json(exactly(commits)).where("add IS NOT NULL OR remove IS NOT NULL").collect()
    )
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{base}`").select("properties").head()
    properties = dict(detail.properties) if detail else {}
    adds = [row.add for row in actions if row.add is not None and row.add.dataChange]
    removed = {row.remove.path for row in actions if row.remove is not None and row.remove.dataChange}
    kept = [add for add in adds if add.path not in removed]
    return _Added(
        paths=tuple(_absolute(base, add.path) for add in kept),
        rows=_stats_rows([add.stats for add in kept]),
        rewrites=bool(removed),
        special=any(add.deletionVector is not None for add in adds) or "delta.columnMapping.mode" in properties,
        change_feed=properties.get("delta.enableChangeDataFeed") == "true",
    )


def _stats_rows(stats: Sequence[str | None]) -> int | None:
    counts = [json.loads(text).get("numRecords") if text else None for text in stats]
    known = [int(count) for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _absolute(base: str, path: str) -> str:
    decoded = unquote(path)
    return decoded if "://" in decoded or decoded.startswith("/") else f"{base}/{decoded}"


def _columns(frame: DataFrame, names: Sequence[str]) -> list[str]:
    return [f"`{name.replace('`', '``')}`" for name in names if name in frame.columns]


def _footer_rows(paths: Sequence[str]) -> int | None:
    """Rows by the footers: free, and independent of what the job reads."""
    local = [local_path(path) for path in paths]
    if any(path is None for path in local):
        return None
    return sum(int(pq.read_metadata(path).num_rows) for path in local)
