# ruff: noqa: E501 - queries stand on one line
"""A stage on DuckDB: files split by verdict, numbers from the same rows, types that Delta adopts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from deltalake import DeltaTable, write_deltalake
from sqlglot import exp

from lakelogic.core.keys import derive_keys
from lakelogic.core.slices import FileSlice, FrameSlice, SourceFile, TableSlice
from lakelogic.engine.duckdb.engine import DuckDbEngine
from lakelogic.engine.protocol import ReadSpec, StageInput
from lakelogic.plan.model import Column, Observation, Segment, Stage


@pytest.fixture
def engine() -> Iterator[DuckDbEngine]:
    engine = DuckDbEngine(derive_keys("secret"))
    yield engine
    engine.close()


def column(name: str, type_: str) -> Column:
    return Column(name, exp.DataType.build(type_, dialect="databricks"))


def query(sql: str) -> exp.Query:
    tree = sqlglot.parse_one(sql, dialect="databricks")
    assert isinstance(tree, exp.Query)
    return tree


OUTPUT = (
    column("id", "int"),
    column("at", "timestamp"),
    column("price", "decimal(10,2)"),
    column("day", "date"),
)
TYPED = "SELECT TRY_CAST(id AS INT) AS id, TRY_CAST(at AS TIMESTAMP) AS at, TRY_CAST(price AS DECIMAL(10,2)) AS price, TRY_CAST(day AS DATE) AS day, _lakelogic_record FROM source"
SPLIT = "SELECT id, at, price, day, CASE WHEN id IS NULL THEN 'rejected' ELSE 'accepted' END AS lakelogic_verdict, CASE WHEN id IS NULL THEN STRUCT(_lakelogic_record AS record, 1 AS failed_0) END AS _lakelogic_rejected FROM typed"
STAGE = Stage(
    input="source",
    segments=(
        Segment("typed", query(TYPED), OUTPUT, "cast", counted=True),
        Segment("verdict", query(SPLIT), OUTPUT, "split"),
    ),
    output=OUTPUT,
    partition_by=("day",),
)


def csv(path: Path, text: str) -> StageInput:
    path.write_text(text)
    return StageInput(ReadSpec("csv"), FileSlice((SourceFile(str(path), len(text), 0),)))


def test_rows_are_split_counted_and_read_back(engine: DuckDbEngine, tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "id,at,price,day\n1,2026-01-02T03:04:05+02:00,1.005,2026-01-02\n2,,3,\nx\n")
    staged = engine.stage(STAGE, source, [], root=str(tmp_path / "t"), folder="batch")
    assert (staged.accepted_rows, staged.rejected_rows) == (2, 1)
    assert staged.counts == {"source": 3, "typed": 3, "skipped": 1}
    assert {file.partition["day"] for file in staged.accepted} == {"2026-01-02", None}
    good = engine.frame(StageInput(staged_root=str(tmp_path / "t"), staged=staged.accepted, columns=OUTPUT))
    rows = pa.table(good)  # a frame of polars where that is installed
    assert sorted(rows["id"].to_pylist()) == [1, 2] and len(good) == 2
    assert [str(price) for price in rows.sort_by("id")["price"].to_pylist()] == ["1.01", "3.00"]

    rejected = StageInput(staged_root=str(tmp_path / "t"), staged=staged.rejected, columns=OUTPUT)
    count = Observation("failed:malformed", sqlglot.parse_one("SUM(failed)"))
    stage = replace(
        STAGE,
        unfold=query(
            "SELECT _lakelogic_rejected.record AS record, _lakelogic_rejected.failed_0 AS failed FROM rejected"
        ),
        quarantine=query("SELECT record AS _lakelogic_record FROM unfolded"),
        quarantine_columns=(column("_lakelogic_record", "string"),),
        rejected_counts=(count,),
    )
    files, counts = engine.write_quarantine(stage, rejected, root=str(tmp_path / "q"), folder="batch")
    assert counts == {"failed:malformed": 1} and [file.rows for file in files] == [1]
    assert pq.read_table(tmp_path / "q" / files[0].path).to_pylist() == [{"_lakelogic_record": "x"}]


def test_files_have_the_types_that_delta_adopts(engine: DuckDbEngine, tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "id,at,price,day\n1,2026-01-02T03:04:05Z,1,2026-01-02\n")
    staged = engine.stage(STAGE, source, [], root=str(tmp_path / "t"), folder="batch")
    schema = pq.ParquetFile(tmp_path / "t" / staged.accepted[0].path).schema_arrow
    assert schema.names == ["id", "at", "price"]
    assert schema.field("id").type == pa.int32() and schema.field("price").type == pa.decimal128(10, 2)
    assert schema.field("at").type == pa.timestamp("us", "UTC")


def test_dataset_checks_are_numbers_over_the_accepted_rows(engine: DuckDbEngine, tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "id,at,price,day\n1,,1,2026-01-02\n2,,2,2026-01-02\n")
    staged = engine.stage(STAGE, source, [], root=str(tmp_path / "t"), folder="batch")
    accepted = StageInput(staged_root=str(tmp_path / "t"), staged=staged.accepted, columns=OUTPUT)
    values = {"mean": sqlglot.parse_one("AVG(price)"), "many": query("SELECT COUNT(*) FROM accepted")}
    assert engine.evaluate(values, accepted) == {"mean": 1.5, "many": 2.0}
    empty = StageInput(staged_root=str(tmp_path / "t"), columns=OUTPUT)
    assert engine.evaluate(values, empty) == {"mean": None, "many": 0.0}


def test_nothing_of_a_call_is_left(engine: DuckDbEngine, tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "id,at,price,day\n1,,1,2026-01-02\n")
    for folder in ("one", "two"):
        engine.stage(STAGE, source, [], root=str(tmp_path / "t"), folder=folder)
    assert engine._session.run("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


def test_only_rows_of_files_added_since_a_version_are_read(engine: DuckDbEngine, tmp_path: Path) -> None:
    table = str(tmp_path / "delta")
    for number in range(3):
        write_deltalake(table, pa.table({"id": [number]}), mode="append")
    assert DeltaTable(table).version() == 2
    facts = engine.inspect(ReadSpec("delta"), TableSlice(table, 2))
    assert [c.name for c in facts.columns] == ["id"] and not facts.text
    keep = Segment(
        "v",
        query("SELECT id, 'accepted' AS lakelogic_verdict, NULL AS _lakelogic_rejected FROM source"),
        (),
        "",
    )
    stage = Stage("source", (keep,), (column("id", "bigint"),))
    for slice_, wanted in (
        (TableSlice(table, 2, 0), 2),
        (TableSlice(table, 1), 2),
        (TableSlice(table, 2, 2), 0),
    ):
        staged = engine.stage(
            stage,
            StageInput(ReadSpec("delta"), slice_),
            [],
            root=str(tmp_path / "t"),
            folder=f"b{slice_.version}{slice_.after_version}",
        )
        assert staged.accepted_rows == wanted


def test_a_frame_is_a_source(engine: DuckDbEngine) -> None:
    frame = pa.table({"id": pa.array([1], pa.int32()), "_lakelogic_run_id": ["r"]})
    facts = engine.inspect(ReadSpec("frame"), FrameSlice(frame))
    assert [(c.name, c.type.sql("databricks")) for c in facts.columns] == [("id", "INT")]
