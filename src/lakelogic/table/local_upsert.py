"""Strategy `merge` without a JVM: upsert by key from staged files, exactly once."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lakelogic.plan.expressions import alias, column, number
from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.model import DELETE_COLUMN
from lakelogic.plan.ordering import row_number
from lakelogic.plan.writes import WriteMerge
from lakelogic.table.adopt import adopt_files, create_empty, evolve, find_commit, find_table
from lakelogic.table.facts import columns_of
from lakelogic.table.local_files import find_files, refuse_new, refuse_rewrite, scratch_folder
from lakelogic.table.local_merge import batch_rows, files_with_keys, run_merge
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.merge_checks import check_keys, judge_missing, refuse_repeated
from lakelogic.table.merge_rows import BATCH, KNOWN, missing_query, parse_merge, repeated_query
from lakelogic.table.merge_sql import latest_order, render_merge
from lakelogic.table.protocol import Commit, CommitId, TableShape
from lakelogic.table.pruning import count_repeated
from lakelogic.table.spark_staged import has_deletes, helper_columns

_RANK = "_lakelogic_rank"


def check_merge(rows: RowWriter, path: str, write: WriteMerge, files: Sequence[StagedFile], shape: TableShape) -> None:
    """Raise where a merge of these files would be refused; the one place where repeated keys are counted."""
    check_keys(write, shape)
    table = find_table(path)
    if table is not None:
        refuse_rewrite(table, why="strategy `merge`", appends=write.insert_only)
    elif not write.insert_only:
        refuse_new(path, shape, why="strategy `merge`")
    if write.on_duplicate_key == "fail" and files:
        refuse_repeated(write, count_repeated_keys(rows, path, files, shape, write.keys))
    if write.delete_missing and write.max_delete_ratio is not None and table is not None:
        known = RowInput(path, find_files(table, {}), columns_of(table))
        inputs = {KNOWN: known, BATCH: batch_rows(table, path, files, shape)}
        found, missing = rows.read_rows(missing_query(write.keys), inputs)[0]
        judge_missing(int(found), int(missing), write.max_delete_ratio)


def commit_merge(
    rows: RowWriter,
    path: str,
    write: WriteMerge,
    files: Sequence[StagedFile],
    shape: TableShape,
    commit_id: CommitId,
) -> Commit:
    """Upsert the rows of staged files by key; a table that is missing is created."""
    check_keys(write, shape)
    table = find_table(path)
    if done := find_commit(table, commit_id):
        return done
    repeats = write.on_duplicate_key == "latest" and count_repeated_keys(rows, path, files, shape, write.keys)
    if table is None and not repeats and not (write.deletes and has_deletes(path, files)):
        return adopt_files(path, "append", files, shape, commit_id)
    table = create_empty(path, shape) if table is None else table
    refuse_rewrite(table, why="strategy `merge`", appends=write.insert_only)
    table = evolve(path, table, shape)
    batch = batch_rows(table, path, files, shape, helper_columns([DELETE_COLUMN] if write.deletes else []))
    if repeats:
        batch = _latest(rows, batch, write, shape)
    # Where missing keys are deleted, every row of the table is looked at.
    known = find_files(table, {}) if write.delete_missing else files_with_keys(table, path, files, shape, write.keys)
    statement = render_merge(path, BATCH, write, [column.name for column in shape.columns])
    return run_merge(rows, table, path, parse_merge(statement, write.keys), batch, known, commit_id, files)


def count_repeated_keys(
    rows: RowWriter, path: str, files: Sequence[StagedFile], shape: TableShape, keys: Sequence[str]
) -> int:
    """How many keys stand in the batch more than once."""
    counted = count_repeated(path, files, shape, keys) if files else 0
    if counted is not None:
        return counted
    batch = RowInput(path, tuple(files), shape.columns)
    return int(rows.read_rows(repeated_query(keys), {BATCH: batch})[0][0])


def _latest(rows: RowWriter, batch: RowInput, write: WriteMerge, shape: TableShape) -> RowInput:
    """One row per key, in scratch files beside the staged ones."""
    folder = scratch_folder(batch.files, "latest")
    files = rows.write_rows(_latest_query(batch, write, shape), {BATCH: batch}, batch.columns,
                            root=batch.root, folder=folder)  # fmt: skip
    return RowInput(batch.root, files, batch.columns)


def _latest_query(batch: RowInput, write: WriteMerge, shape: TableShape) -> exp.Query:
    order = [
        exp.Ordered(this=column(name), desc=greatest, nulls_first=False)
        for name, greatest in latest_order(write, shape.columns)
    ]
    rank = row_number([column(key) for key in write.keys], order)
    ranked = exp.select(exp.Star(), alias(rank, _RANK)).from_(exp.Table(this=exp.to_identifier(BATCH)))
    chosen = exp.select(*[column(c.name) for c in batch.columns]).from_(ranked.subquery("ranked"))
    return chosen.where(exp.EQ(this=column(_RANK), expression=number(1)))
