"""Adoption: staged files become rows of a Delta table, once, and only if they fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.integration.table.conftest import SHAPE, StageRows, batch, column

from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.plan.writes import WriteAppend, WriteMerge, WriteOverwrite
from lakelogic.table.adopt import replace_files
from lakelogic.table.obstacles import adoption_obstacle, property_obstacle
from lakelogic.table.protocol import Table, TableLocation, TableShape
from lakelogic.table.registry import open_table

APPEND, OVERWRITE = WriteAppend(), WriteOverwrite()


@pytest.fixture
def table(target: Path) -> Table:
    return open_table("delta", TableLocation("t", str(target)))


def rows(target: Path) -> list[dict[str, Any]]:
    return sorted(DeltaTable(str(target)).to_pyarrow_table().to_pylist(), key=str)


def test_the_first_batch_creates_the_table_as_declared(target: Path, table: Table, stage_rows: StageRows) -> None:
    shape = TableShape(
        (
            column("id", "bigint", nullable=False, comment="the key"),
            column("name", "string", masking="hash"),
            column("amount", "decimal(12,2)"),
            column("tags", "array<struct<k: string, v: int>>"),
        ),
        properties={"delta.enableChangeDataFeed": "true", "owner": "me"},
        description="customers",
    )
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("amount", pa.decimal128(12, 2)),
            ("tags", pa.list_(pa.struct([("k", pa.string()), ("v", pa.int32())]))),
        ]
    )
    files = stage_rows([{"id": 1, "name": "a", "tags": [{"k": "x", "v": 1}]}], schema)
    commit = table.commit(APPEND, files, shape, batch(1))
    made = DeltaTable(str(target))
    fields = {field.name: field for field in made.schema().fields}
    assert made.version() == commit.version
    assert (fields["id"].nullable, fields["id"].metadata) == (False, {"comment": "the key"})
    assert (fields["name"].nullable, fields["name"].metadata) == (True, {"lakelogic.masking": "hash"})
    assert str(fields["amount"].type) == 'PrimitiveType("decimal(12,2)")'
    assert made.metadata().configuration == {"delta.enableChangeDataFeed": "true", "owner": "me"}
    assert made.metadata().description == "customers"
    assert rows(target) == [{"id": 1, "name": "a", "amount": None, "tags": [{"k": "x", "v": 1}]}]


def test_append_adds_and_overwrite_replaces(target: Path, table: Table, stage_rows: StageRows) -> None:
    table.commit(APPEND, stage_rows([{"id": 1, "name": "a"}]), SHAPE, batch(1))
    second = table.commit(APPEND, stage_rows([{"id": 2, "name": "b"}]), SHAPE, batch(2))
    assert [row["id"] for row in rows(target)] == [1, 2]
    assert (second.version, second.metrics) == (1, {"numFiles": 1, "numOutputRows": 1})
    table.commit(OVERWRITE, stage_rows([{"id": 3, "name": "c"}]), SHAPE, batch(3))
    assert rows(target) == [{"id": 3, "name": "c"}]
    table.commit(OVERWRITE, (), SHAPE, batch(4))
    assert rows(target) == []


@pytest.mark.parametrize("write", [APPEND, OVERWRITE])
def test_a_batch_is_committed_once(
    target: Path, table: Table, stage_rows: StageRows, write: WriteAppend | WriteOverwrite
) -> None:
    assert table.find_committed("dataset") is None
    files = stage_rows([{"id": 1, "name": "a"}])
    first = table.commit(write, files, SHAPE, batch(1))
    again = table.commit(write, files, SHAPE, batch(1))
    assert (first.skipped, again.skipped, again.version) == (False, True, first.version)
    assert table.find_committed("dataset") == 1
    assert table.find_committed("other") is None
    other = table.commit(APPEND, stage_rows([{"id": 2, "name": "b"}]), SHAPE, batch(1, "other"))
    assert table.commit(write, files, SHAPE, batch(1)).version == first.version != other.version
    assert len(rows(target)) == 2


def test_the_commit_names_its_run(target: Path, table: Table, stage_rows: StageRows) -> None:
    table.commit(APPEND, stage_rows([{"id": 1, "name": "a"}]), SHAPE, batch(7))
    (entry,) = DeltaTable(str(target)).history(1)
    assert entry["userMetadata"] == '{"app_id": "dataset", "batch": 7, "run_id": "run-7"}'


def test_an_empty_batch_still_carries_its_number(table: Table, stage_rows: StageRows) -> None:
    assert table.commit(APPEND, (), SHAPE, batch(1)).version == 0
    table.commit(APPEND, (), SHAPE, batch(2))
    assert table.find_committed("dataset") == 2


def test_a_new_nullable_column_is_added(target: Path, table: Table, stage_rows: StageRows) -> None:
    table.commit(APPEND, stage_rows([{"id": 1, "name": "a"}]), SHAPE, batch(1))
    wider = replace(SHAPE, columns=(*SHAPE.columns, column("tier", "string", nullable=False, comment="new")))
    table.commit(APPEND, stage_rows([{"id": 2, "name": "b", "tier": "gold"}]), wider, batch(2))
    assert rows(target) == [
        {"id": 1, "name": "a", "tier": None},
        {"id": 2, "name": "b", "tier": "gold"},
    ]
    field = DeltaTable(str(target)).schema().fields[2]
    assert (field.nullable, field.metadata) == (True, {"comment": "new"})
    table.commit(APPEND, stage_rows([{"id": 3, "name": "c"}]), SHAPE, batch(3))
    assert rows(target)[2] == {"id": 3, "name": "c", "tier": None}


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (TableShape((column("id", "int"),)), "column `id` is long in the table, integer in the batch"),
        (TableShape((column("ID", "bigint"),)), "column `ID` stands in the table as `id`"),
        (TableShape((column("name", "string"),)), "column `id` of the table is NOT NULL"),
        (replace(SHAPE, partition_by=("name",)), "partitioned by nothing, the contract says `name`"),
    ],
)
def test_a_batch_that_contradicts_the_table_is_refused(
    target: Path, table: Table, stage_rows: StageRows, shape: TableShape, message: str
) -> None:
    table.commit(APPEND, stage_rows([{"id": 1, "name": "a"}]), SHAPE, batch(1))
    with pytest.raises(PlanError) as caught:
        table.commit(APPEND, (), shape, batch(2))
    assert message in caught.value.problem.message
    assert DeltaTable(str(target)).version() == 0


def test_null_in_a_not_null_column_is_refused_before_the_commit(
    target: Path, table: Table, stage_rows: StageRows
) -> None:
    files = stage_rows([{"id": None, "name": "a"}, {"id": 1, "name": None}])
    with pytest.raises(RunError, match="column `id` of the table is NOT NULL, and 1 accepted rows"):
        table.commit(APPEND, files, SHAPE, batch(1))
    assert not (target / "_delta_log").exists()


def test_a_file_that_is_not_what_was_staged_is_refused(table: Table, stage_rows: StageRows) -> None:
    (file,) = stage_rows([{"id": 1, "name": "a"}])
    with pytest.raises(RunError, match="has 1 rows, 2 were counted"):
        table.commit(APPEND, (replace(file, rows=2),), SHAPE, batch(1))
    with pytest.raises(RunError, match="lacks column `tier`"):
        wider = replace(SHAPE, columns=(*SHAPE.columns, column("tier", "string")))
        table.commit(APPEND, (file,), wider, batch(1))


def test_overwrite_of_an_append_only_table_is_refused(table: Table, stage_rows: StageRows) -> None:
    shape = replace(SHAPE, properties={"delta.appendOnly": "true"})
    table.commit(APPEND, stage_rows([{"id": 1, "name": "a"}]), shape, batch(1))
    with pytest.raises(PlanError, match="only takes appends"):
        table.commit(OVERWRITE, (), shape, batch(2))


def test_a_table_with_a_constraint_does_not_adopt(target: Path, table: Table, stage_rows: StageRows) -> None:
    table.commit(APPEND, stage_rows([{"id": 1, "name": "a"}]), SHAPE, batch(1))
    made = DeltaTable(str(target))
    assert adoption_obstacle(made) is None
    made.alter.add_constraint({"positive": "id > 0"})
    assert adoption_obstacle(DeltaTable(str(target))) == "CHECK constraint `positive`"
    with pytest.raises(CapabilityError, match="CHECK constraint `positive`"):
        table.commit(APPEND, stage_rows([{"id": -1, "name": "a"}]), SHAPE, batch(2))


@pytest.mark.parametrize(
    ("properties", "obstacle"),
    [
        ({"delta.columnMapping.mode": "name"}, "column mapping"),
        ({"delta.columnMapping.mode": "none"}, None),
        ({"delta.enableRowTracking": "true"}, "row tracking"),
        ({"delta.enableRowTracking": "false"}, None),
        ({"delta.constraints.c": "a > 0"}, "CHECK constraint `c`"),
        ({"delta.feature.somethingNew": "supported"}, "table feature `somethingNew`"),
        ({"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}, None),
    ],
)
def test_properties_that_adoption_cannot_honour(properties: dict[str, str], obstacle: str | None) -> None:
    assert property_obstacle(properties) == obstacle


def test_what_is_not_built_is_refused(table: Table, target: Path) -> None:
    with pytest.raises(CapabilityError, match="need an engine"):
        table.commit(WriteMerge(("id",)), (), SHAPE, batch(1))
    with pytest.raises(CapabilityError, match="iceberg"):
        open_table("iceberg", TableLocation("t", str(target)))
    with pytest.raises(CapabilityError, match="row tracking"):
        table.commit(APPEND, (), replace(SHAPE, properties={"delta.enableRowTracking": "true"}), batch(1))


def test_files_are_replaced_in_one_commit(target: Path, table: Table, stage_rows: StageRows) -> None:
    first = stage_rows([{"id": 1, "name": "a"}])
    table.commit(APPEND, first, SHAPE, batch(1))
    table.commit(APPEND, stage_rows([{"id": 2, "name": "b"}]), SHAPE, batch(2))
    seen = DeltaTable(str(target))
    commit = replace_files(
        seen, str(target), stage_rows([{"id": 1, "name": "z"}]), first, SHAPE, batch(3), {"numTargetRowsUpdated": 1}
    )
    assert commit.version == 2
    assert rows(target) == [{"id": 1, "name": "z"}, {"id": 2, "name": "b"}]


def test_files_that_somebody_else_replaced_are_not_replaced_again(
    target: Path, table: Table, stage_rows: StageRows
) -> None:
    first = stage_rows([{"id": 1, "name": "a"}])
    table.commit(APPEND, first, SHAPE, batch(1))
    seen = DeltaTable(str(target))
    table.commit(OVERWRITE, stage_rows([{"id": 1, "name": "theirs"}]), SHAPE, batch(2))
    with pytest.raises(RunError, match="LL441") as caught:
        replace_files(seen, str(target), stage_rows([{"id": 1, "name": "ours"}]), first, SHAPE, batch(3), {})
    assert caught.value.retryable
    assert rows(target) == [{"id": 1, "name": "theirs"}]
