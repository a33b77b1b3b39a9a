"""Change events on Spark: the newest state of each key of a batch, merged in one commit, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lakelogic.core.faults import fault_point
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import (
    DELETE_COLUMN,
    EVENT_TIME_COLUMN,
    HELPER_COLUMNS,
    HIDDEN_PREFIX,
    POSITION_COLUMN,
    UNCHANGED_COLUMN,
)
from lakelogic.plan.writes import WriteCdc, visible_keys
from lakelogic.table.adopt import adopt_files, find_commit, find_table
from lakelogic.table.cdc_events import has_truncates, has_values, known_columns, text_literal
from lakelogic.table.cdc_sql import GONE, GONE_AT, GONE_WHY, render_cdc
from lakelogic.table.deletes import BATCH, DELETED_AT, REASON, deletes_path, remember_deletes
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.pruning import EVERYTHING, target_predicate
from lakelogic.table.spark_merge import count_repeated_keys, ready_table
from lakelogic.table.spark_staged import has_deletes, quoted, read_staged, spark_errors, with_helpers
from lakelogic.table.spark_statement import run_merge

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

_DELETE = quoted(DELETE_COLUMN)
_POSITION = quoted(POSITION_COLUMN)
# Columns on the way, under names that no column of an author has.
_IMAGE, _LAST = f"{HIDDEN_PREFIX}image", f"{HIDDEN_PREFIX}last"
_GONE_NOW, _GONE_BEFORE, _CUT_BEFORE = (f"{HIDDEN_PREFIX}{name}" for name in ("gone_now", "gone_before", "cut_before"))


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch of staged events, and what its footers tell of it."""

    path: str
    write: WriteCdc
    files: Sequence[StagedFile]
    shape: TableShape
    commit_id: CommitId
    known: dict[str, str] = field(default_factory=dict)  # columns whose value some event does not tell

    @property
    def keys(self) -> list[str]:
        return [quoted(key) for key in self.write.keys]

    @property
    def columns(self) -> list[str]:
        return [column.name for column in self.shape.columns]


def commit_cdc(
    spark: SparkSession, path: str, write: WriteCdc, files: Sequence[StagedFile], shape: TableShape, commit_id: CommitId
) -> Commit:
    """Apply the events of staged files; a table that is missing is created."""
    table = find_table(path)
    if done := find_commit(table, commit_id):
        return done
    deletes, gaps = has_deletes(path, files), has_values(path, files, UNCHANGED_COLUMN)
    batch = _Batch(path, write, files, shape, commit_id, known_columns(shape, write) if gaps else {})
    events = read_staged(spark, path, files, with_helpers(shape, HELPER_COLUMNS))
    remembered = find_table(deletes_path(path)) is not None
    if (
        table is None
        and not (deletes or remembered or gaps)
        and not count_repeated_keys(spark, path, files, shape, write.keys)
    ):
        return adopt_files(path, "append", files, shape, commit_id)
    if deletes:
        remember_deletes(path, files, shape, write.keys, commit_id)
        fault_point("after_deletes_commit")
    table = ready_table(spark, path, table, shape)
    truncate = _newest_truncate(events, batch) if deletes and has_truncates(path, files, write.keys[0]) else None
    predicate = EVERYTHING if truncate else target_predicate(table, path, files, shape, visible_keys(write), alias="t")
    states = _states(spark, events, batch, remembered=remembered, truncate=truncate)
    render = partial(_render, batch, predicate, truncate)
    return run_merge(spark, path, states, render, commit_id)


def _render(batch: _Batch, predicate: str, truncate: tuple[str, str] | None, view: str) -> str:
    return render_cdc(
        batch.path, view, batch.write, batch.columns, predicate=predicate, truncate=truncate, known=batch.known
    )


def _newest_truncate(events: DataFrame, batch: _Batch) -> tuple[str, str] | None:
    """Position and time of the batch's newest truncate, as literals: rows that the batch does not name go by it."""
    keyless = f"{_DELETE} AND {batch.keys[0]} IS NULL"
    with spark_errors("the look for truncates"):
        row = (
            events.where(keyless)
            .selectExpr(
                f"max(struct({_POSITION}, CAST(unix_micros({quoted(EVENT_TIME_COLUMN)}) AS BIGINT) AS at)) AS last"
            )
            .first()
        )
    if row is None or row["last"] is None:
        return None
    position, micros = row["last"]
    return text_literal(position), f"timestamp_micros({micros})"


def _states(
    spark: SparkSession, events: DataFrame, batch: _Batch, *, remembered: bool, truncate: tuple[str, str] | None
) -> DataFrame:
    """One row per key: its newest image in the batch, and the newest delete of it that is known."""
    states = _newest(events, batch)
    gone = [_GONE_NOW]
    if remembered:
        before = spark.read.format("delta").load(deletes_path(batch.path)).where(f"{BATCH} < {batch.commit_id.batch}")
        newest = f"max({_struct(_POSITION, DELETED_AT, REASON)})"
        keyed = before.where(f"{batch.keys[0]} IS NOT NULL").groupBy(*batch.keys)
        states = states.join(keyed.agg(_expr(newest, _GONE_BEFORE)), list(batch.write.keys), "left")
        # One row, also where there was no truncate.
        states = states.crossJoin(before.where(f"{batch.keys[0]} IS NULL").agg(_expr(newest, _CUT_BEFORE)))
        gone += [_GONE_BEFORE, _CUT_BEFORE]
    if truncate is not None:
        gone.append(_struct(truncate[0], truncate[1], "'truncate'"))
    last = gone[0] if len(gone) == 1 else f"greatest({', '.join(gone)})"
    return states.selectExpr("*", f"{last} AS {_LAST}").selectExpr(
        *batch.keys,
        *[f"{_IMAGE}.{quoted(name)} AS {quoted(name)}" for name in batch.columns if name not in batch.write.keys],
        *batch.known.values(),
        f"{_LAST}.position AS {GONE}",
        f"{_LAST}.at AS {GONE_AT}",
        f"{_LAST}.why AS {GONE_WHY}",
    )


def _newest(events: DataFrame, batch: _Batch) -> DataFrame:
    columns = [name for name in batch.columns if name not in batch.write.keys]
    values = [f"{_last_value(name, batch)} AS {quoted(name)}" for name in columns]
    whole = f"struct({', '.join(quoted(name) for name in columns)})"
    image = f"max_by({whole}, {_POSITION}) FILTER (WHERE NOT {_DELETE})"
    deleted = _struct(_POSITION, quoted(EVENT_TIME_COLUMN), "'delete'")
    gone = f"max({deleted}) FILTER (WHERE {_DELETE})"
    told = [_expr(f"max({_POSITION}) FILTER (WHERE {_is_told(name)})", known) for name, known in batch.known.items()]
    keyed = events.where(f"{batch.keys[0]} IS NOT NULL").groupBy(*batch.keys)
    if not batch.known:
        return keyed.agg(_expr(image, _IMAGE), _expr(gone, _GONE_NOW))
    return keyed.agg(_expr(f"struct({', '.join(values)})", _IMAGE), _expr(gone, _GONE_NOW), *told)


def _last_value(name: str, batch: _Batch) -> str:
    condition = _is_told(name) if name in batch.known else f"NOT {_DELETE}"
    return f"max_by({quoted(name)}, {_POSITION}) FILTER (WHERE {condition})"


def _is_told(name: str) -> str:
    literal = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"NOT {_DELETE} AND NOT contains(coalesce({quoted(UNCHANGED_COLUMN)}, ''), ',{literal},')"


def _struct(position: str, at: str, why: str) -> str:
    return f"struct({position} AS position, {at} AS at, {why} AS why)"


def _expr(sql: str, name: str) -> SparkColumn:
    from pyspark.sql import functions

    return functions.expr(sql).alias(name)
