"""All observations that a batch concerns: its own rows, the versions of its keys, and what is remembered of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from lakelogic.plan.files import StagedFile
from lakelogic.plan.history import staged_columns
from lakelogic.plan.model import DELETE_COLUMN, Column
from lakelogic.plan.writes import visible_keys
from lakelogic.table.history_files import FILE_PATH, file_mark, find_files, read_files
from lakelogic.table.history_rows import (
    AT,
    BATCH,
    COVERED,
    FROM_BATCH,
    FROM_STORE,
    FROM_TABLE,
    GONE,
    OLD_FILE,
    OLD_TO,
    OLD_VERSION,
    ORIGIN,
    SINCE,
    Layout,
    Observed,
    unknown_start,
)
from lakelogic.table.history_store import read_store
from lakelogic.table.protocol import TableShape
from lakelogic.table.pruning import EVERYTHING, Range, first_value, key_ranges, render_literal, render_ranges
from lakelogic.table.spark_staged import quoted, read_staged, spark_schema, with_helpers

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_BROADCAST_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch on its way into a history."""

    path: str
    table: DeltaTable | None  # as it is; None where there is no version yet
    files: Sequence[StagedFile]
    shape: TableShape  # of the table
    layout: Layout
    number: int
    concerned: str = EVERYTHING  # condition over the table as `t`, true for every version of the batch's keys
    sources: tuple[StagedFile, ...] | None = None  # files with all such versions; None: only Delta can read them

    @property
    def staged_shape(self) -> TableShape:
        write = self.layout.write
        shape = TableShape(staged_columns(write, self.shape.columns))
        return with_helpers(shape, [DELETE_COLUMN] if write.deletes else [])

    @property
    def staged_folder(self) -> str:
        """The folder of the staged files, whose name is this batch's alone."""
        return self.files[0].path.split("/")[0] if self.files else f"merge-{self.number:08d}"

    @property
    def keys(self) -> tuple[Column, ...]:
        by_name = {c.name: c for c in self.shape.columns}
        return tuple(by_name[key] for key in self.layout.write.keys)

    @property
    def unknown_member(self) -> str | None:
        """A condition over a table as `t` that holds for the unknown member."""
        write = self.layout.write
        given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
        parts = [f"t.{quoted(c.name)} = {render_literal(given[c.name], c.type)}" for c in self.keys if given]
        return f"({' AND '.join(parts)})" if parts else None


def open_batch(
    path: str, table: DeltaTable | None, files: Sequence[StagedFile], shape: TableShape, layout: Layout, number: int
) -> Batch:
    """A batch with the part of the table that it concerns; values of personal columns stay out of the condition."""
    batch = Batch(path, table, files, shape, layout, number)
    if table is None:
        return batch
    ranges = {c.name: key_ranges(table, path, files, c) for c in batch.keys}
    visible = [c for c in batch.keys if c.name in visible_keys(layout.write) and ranges[c.name]]
    parts = [render_ranges(f"t.{quoted(c.name)}", ranges[c.name], c.type) for c in visible]
    condition, unknown = " AND ".join(parts) or EVERYTHING, batch.unknown_member
    batch = replace(batch, sources=find_files(table, shape, _with_unknown(batch, ranges)))
    return replace(batch, concerned=f"({condition} OR {unknown})" if unknown else condition)


def _with_unknown(batch: Batch, ranges: Mapping[str, Sequence[Range]]) -> dict[str, Sequence[Range]]:
    """The ranges with the key of the unknown member, which is in every batch; a type that cannot be named has none."""
    write = batch.layout.write
    given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
    if not given:
        return dict(ranges)
    ends = {name: [end for end in parts[0] if end is not None] for name, parts in ranges.items() if parts}
    kinds = {name: type(known[0]) for name, known in ends.items()}
    points = {name: kind(given[name]) for name, kind in kinds.items() if kind in (int, str)}
    return {name: [*ranges[name], (point, point)] for name, point in points.items()}


def observe(spark: SparkSession, batch: Batch) -> Observed:
    """All observations of the batch's keys."""
    from pyspark.sql import functions as sf

    own = _batch_rows(spark, batch)
    keys = list(batch.layout.write.keys)
    concerned = own.groupBy(*[quoted(key) for key in keys]).agg(sf.min(AT).alias(SINCE))
    if sum(file.rows for file in batch.files) <= _BROADCAST_ROWS:
        concerned = sf.broadcast(concerned)
    parts = [own.withColumn(SINCE, sf.lit(None).cast(own.schema[AT].dataType))]
    stored = None
    if batch.table is not None:
        stored = _store_rows(spark, batch)
    if batch.table is not None and batch.sources != ():
        found = _table_rows(spark, batch).join(concerned, on=keys, how="inner")
        parts.append(found.withColumn(OLD_FILE, file_mark(sf.col(OLD_FILE))))
    if stored is not None:
        parts.append(stored.join(concerned, on=keys, how="inner").where(sf.col(AT) >= sf.col(SINCE)))
    rows = reduce(lambda left, right: left.unionByName(right), parts)
    return Observed(rows, has_store=stored is not None)


def _batch_rows(spark: SparkSession, batch: Batch) -> DataFrame:
    from pyspark.sql import functions as sf

    write = batch.layout.write
    staged = read_staged(spark, batch.path, batch.files, batch.staged_shape)
    gone = sf.coalesce(sf.col(DELETE_COLUMN), sf.lit(False)) if write.deletes else sf.lit(False)
    rows = staged.withColumns({AT: sf.col(quoted(write.timestamp)), GONE: gone})
    if write.deletes and write.ignore_deletes:
        rows = rows.where(~sf.col(GONE))
    zeros = {name: _one_zero(name) for name in batch.layout.source if _is_float(staged, name)}
    rows = _observed(rows.withColumns(zeros) if zeros else rows, batch, FROM_BATCH)
    return rows.unionByName(_unknown_member(spark, batch)) if write.unknown_names else rows


def _unknown_member(spark: SparkSession, batch: Batch) -> DataFrame:
    """The row that stands for what is not known, observed in every batch: it is there whenever it was declared."""
    from pyspark.sql import functions as sf

    write, schema = batch.layout.write, spark_schema(batch.staged_shape.columns)
    given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
    values = {field.name: sf.lit(given.get(field.name)).cast(field.dataType) for field in schema.fields}
    row = spark.range(1).select(*[values[name].alias(name) for name in values if name != DELETE_COLUMN])
    start = unknown_start(write, schema[write.timestamp].dataType)
    return _observed(row.withColumns({AT: start, GONE: sf.lit(False)}), batch, FROM_BATCH)


def _table_rows(spark: SparkSession, batch: Batch) -> DataFrame:
    """The versions that a batch may concern, each with the path of its file."""
    from pyspark.sql import functions as sf

    write = batch.layout.write
    if batch.sources is None:
        rows = spark.read.format("delta").load(batch.path).withColumn(FILE_PATH, sf.lit(""))
    else:
        rows = read_files(spark, batch.path, batch.sources, batch.shape, with_path=True)
    made = {
        AT: sf.col(quoted(write.valid_from)),
        GONE: sf.lit(False),
        OLD_TO: sf.col(quoted(write.valid_to)),
        OLD_VERSION: sf.col(quoted(write.version)),
        OLD_FILE: sf.col(FILE_PATH),
    }
    return _observed(rows.alias("t").where(batch.concerned).withColumns(made), batch, FROM_TABLE)


def _store_rows(spark: SparkSession, batch: Batch) -> DataFrame | None:
    write = batch.layout.write
    moment = next(c for c in batch.shape.columns if c.name == write.timestamp)
    since = first_value(batch.path, batch.files, moment)
    condition = f"{AT} >= {render_literal(since, moment.type)}" if since is not None else EVERYTHING
    if unknown := batch.unknown_member:
        # It is observed at the beginning of time, so everything remembered of it counts.
        condition = f"({condition} OR {unknown})"
    known = None if since is None or write.unknown_names else str(since)
    stored = read_store(spark, batch.path, condition, batch.layout, before=batch.number, since=known)
    return None if stored is None else _observed(stored, batch, FROM_STORE)


def _observed(rows: DataFrame, batch: Batch, origin: int) -> DataFrame:
    """The same columns for observations of every origin."""
    from pyspark.sql import functions as sf

    schema = spark_schema(batch.shape.columns)
    at = schema[batch.layout.write.valid_from].dataType.simpleString()
    types = {OLD_TO: at, OLD_VERSION: "int", OLD_FILE: "bigint", BATCH: "bigint", COVERED: "array<string>"}
    types |= {name: schema[name].dataType.simpleString() for name in batch.layout.carried}
    there = set(rows.columns)

    def value(name: str) -> SparkColumn:
        column = sf.col(quoted(name)) if name in there else sf.lit(None).cast(types[name])
        return column.alias(name)

    return rows.select(
        *[sf.col(quoted(key)) for key in batch.layout.write.keys],
        sf.col(AT),
        sf.col(GONE),
        sf.lit(origin).alias(ORIGIN),
        *[value(name) for name in types],
    )


def _is_float(frame: DataFrame, name: str) -> bool:
    return frame.schema[name].dataType.typeName() in {"float", "double"}


def _one_zero(name: str) -> SparkColumn:
    """Zero has one sign: -0.0 equals 0.0, so both must read the same as text."""
    from pyspark.sql import functions as sf

    column = sf.col(quoted(name))
    return sf.when(column == 0, sf.abs(column)).otherwise(column)
