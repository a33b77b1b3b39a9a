"""Wider types: the table is written again, keeps all that it said of itself, and every reader can read it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.integration.table.conftest import StageRows, batch, column

from lakelogic.core.errors import PlanError
from lakelogic.plan.writes import WriteAppend
from lakelogic.table.protocol import Table, TableLocation, TableShape
from lakelogic.table.registry import open_table

ENGINES = ("delta-rs", pytest.param("spark", marks=pytest.mark.spark))
APPEND = WriteAppend()
NARROW = TableShape(
    (column("id", "int", nullable=False, comment="the key"), column("m", "decimal(5,2)"), column("d", "date")),
    properties={"delta.logRetentionDuration": "interval 9 days"},
    description="numbers",
)
WIDE = replace(
    NARROW,
    columns=(
        column("id", "bigint", nullable=False, comment="the key"),
        column("m", "decimal(12,4)"),
        column("d", "timestamp_ntz"),
    ),
)
NARROW_ROWS = pa.schema([("id", pa.int32()), ("m", pa.decimal128(5, 2)), ("d", pa.date32())])
WIDE_ROWS = pa.schema([("id", pa.int64()), ("m", pa.decimal128(12, 4)), ("d", pa.timestamp("us"))])


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "a target"


@pytest.fixture(params=ENGINES)
def table(request: pytest.FixtureRequest, target: Path) -> Table:
    spark = request.getfixturevalue("spark_session") if request.param == "spark" else None
    return open_table("delta", TableLocation("t", str(target)), spark=spark)


def test_a_widened_table_keeps_rows_comments_and_properties(target: Path, table: Table, stage_rows: StageRows) -> None:
    table.commit(APPEND, stage_rows([{"id": 1, "m": Decimal("1.25")}], NARROW_ROWS), NARROW, batch(1))
    files = stage_rows([{"id": 5_000_000_000, "m": Decimal("3.1415")}], WIDE_ROWS)
    events = table.check(APPEND, files, WIDE, policy="compatible")
    assert [(event.kind, event.detail["column"]) for event in events] == [
        ("widened_column", n) for n in ("id", "m", "d")
    ]
    assert DeltaTable(str(target)).version() == 0
    done = table.commit(APPEND, files, WIDE, batch(2))
    repeated = table.commit(APPEND, files, WIDE, batch(2))
    assert (repeated.skipped, repeated.version, table.find_committed("dataset")) == (True, done.version, 2)
    made = DeltaTable(str(target))
    fields = {field.name: field for field in made.schema().fields}
    assert [str(field.type) for field in fields.values()] == [
        'PrimitiveType("long")', 'PrimitiveType("decimal(12,4)")', 'PrimitiveType("timestamp_ntz")',
    ]  # fmt: skip
    assert (fields["id"].nullable, fields["id"].metadata) == (False, {"comment": "the key"})
    assert made.metadata().configuration["delta.logRetentionDuration"] == "interval 9 days"
    assert made.metadata().description == "numbers"
    rows: list[dict[str, Any]] = sorted(made.to_pyarrow_table().to_pylist(), key=lambda row: row["id"])
    assert [(row["id"], str(row["m"])) for row in rows] == [(1, "1.2500"), (5_000_000_000, "3.1415")]
    assert "typeWidening" not in (made.protocol().reader_features or ())


@pytest.mark.spark
def test_spark_reads_a_required_column_beside_a_timestamp_without_zone(
    target: Path, stage_rows: StageRows, spark_session: Any
) -> None:
    table = open_table("delta", TableLocation("t", str(target)))
    table.commit(APPEND, stage_rows([{"id": 1}], WIDE_ROWS), WIDE, batch(1))
    assert spark_session.read.format("delta").load(str(target)).count() == 1


@pytest.mark.spark
def test_spark_reads_a_timestamp_without_zone_that_came_later(
    target: Path, stage_rows: StageRows, spark_session: Any
) -> None:
    table = open_table("delta", TableLocation("t", str(target)))
    narrow = TableShape((column("id", "bigint", nullable=False),))
    table.commit(APPEND, stage_rows([{"id": 1}], WIDE_ROWS), narrow, batch(1))
    table.commit(APPEND, stage_rows([{"id": 2}], WIDE_ROWS), WIDE, batch(2))
    assert spark_session.read.format("delta").load(str(target)).count() == 2


@pytest.mark.spark
def test_spark_reads_what_delta_rs_widened(target: Path, stage_rows: StageRows, spark_session: Any) -> None:
    table = open_table("delta", TableLocation("t", str(target)))
    table.commit(APPEND, stage_rows([{"id": 1}], NARROW_ROWS), NARROW, batch(1))
    table.commit(APPEND, stage_rows([{"id": 2}], WIDE_ROWS), WIDE, batch(2))
    frame = spark_session.read.format("delta").load(str(target))
    assert dict(frame.dtypes) == {"id": "bigint", "m": "decimal(12,4)", "d": "timestamp_ntz"}
    assert sorted(row["id"] for row in frame.collect()) == [1, 2]


def test_a_table_that_takes_appends_only_is_not_widened(table: Table, stage_rows: StageRows) -> None:
    only = replace(NARROW, properties={"delta.appendOnly": "true"})
    table.commit(APPEND, stage_rows([{"id": 1}], NARROW_ROWS), only, batch(1))
    with pytest.raises(PlanError, match="only takes appends"):
        table.check(APPEND, (), replace(WIDE, properties=only.properties), policy="allow")
