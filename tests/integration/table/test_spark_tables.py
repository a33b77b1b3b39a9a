"""Delta tables on Spark: MERGE exactly once, tables that cannot adopt, and catalog names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable
from tests.integration.table.conftest import SHAPE, StageRows, batch, column

from lakelogic.core.errors import PlanError, RunError
from lakelogic.plan.writes import WriteAppend, WriteMerge, WriteOverwrite
from lakelogic.table.delta_spark import SparkDeltaTable, session_catalogs
from lakelogic.table.location import resolve_location
from lakelogic.table.merge_sql import render_merge
from lakelogic.table.protocol import TableLocation, TableShape
from lakelogic.table.spark_staged import read_staged
from lakelogic.table.spark_statement import run_merge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FAIL = WriteMerge(("id",))
LATEST = WriteMerge(("id",), ("name",), "latest")


@pytest.fixture
def table(spark_session: SparkSession, target: Path) -> SparkDeltaTable:
    return SparkDeltaTable(TableLocation("t", str(target)), spark_session)


def people(**names: str) -> list[dict[str, Any]]:
    return [{"id": int(key.removeprefix("_")), "name": name} for key, name in names.items()]


def rows(spark: SparkSession, path: Path) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.format("delta").load(str(path)).collect())


def test_merge_updates_and_inserts_exactly_once(
    spark_session: SparkSession, target: Path, table: SparkDeltaTable, stage_rows: StageRows
) -> None:
    first = table.commit(FAIL, stage_rows(people(_1="a", _2="b")), SHAPE, batch(1))
    assert (first.version, first.metrics["numOutputRows"]) == (0, 2)
    files = stage_rows(people(_2="B", _3="C"))
    second = table.commit(FAIL, files, SHAPE, batch(2))
    assert rows(spark_session, target) == [(1, "a"), (2, "B"), (3, "C")]
    assert (second.metrics["numTargetRowsUpdated"], second.metrics["numTargetRowsInserted"]) == (1, 1)
    again = table.commit(FAIL, files, SHAPE, batch(2))
    assert (again.skipped, again.version) == (True, second.version)
    assert table.find_committed("dataset") == 2

    # Even if our own look at the table were passed over, Delta itself turns the repeated batch into nothing.
    other = read_staged(spark_session, str(target), stage_rows(people(_2="again")), SHAPE)
    run_merge(
        spark_session, str(target), other, lambda view: render_merge(str(target), view, FAIL, ["id", "name"]), batch(2)
    )
    assert DeltaTable(str(target)).version() == second.version
    assert rows(spark_session, target)[1] == (2, "B")
    assert spark_session.conf.get("spark.databricks.delta.write.txnAppId", None) is None
    assert spark_session.catalog.listTables() == []


def test_duplicate_keys_fail_the_batch_or_the_latest_wins(
    spark_session: SparkSession, target: Path, table: SparkDeltaTable, stage_rows: StageRows
) -> None:
    double = [{"id": 1, "name": "a"}, {"id": 1, "name": "c"}, {"id": 1, "name": None}, {"id": 2, "name": "b"}]
    with pytest.raises(RunError, match=r"1 keys of \(id\) stand more than once") as caught:
        table.check(FAIL, stage_rows(double), SHAPE, policy="allow")
    assert caught.value.problem.code == "LL450"
    assert not (target / "_delta_log").exists()

    table.commit(LATEST, stage_rows(double), SHAPE, batch(1))
    assert rows(spark_session, target) == [(1, "c"), (2, "b")]
    # Across batches too: `B` is older than `b`, and of the batch's own rows the smallest comes first here.
    oldest = replace(LATEST, order_by=("name asc",))
    table.commit(oldest, stage_rows([{"id": 2, "name": "z"}, {"id": 2, "name": "B"}]), SHAPE, batch(2))
    assert rows(spark_session, target) == [(1, "c"), (2, "B")]
    with pytest.raises(PlanError, match="random"):
        table.commit(replace(LATEST, order_by=()), (), SHAPE, batch(3))


def test_a_tie_is_broken_alike_however_the_rows_are_ordered(
    spark_session: SparkSession, tmp_path: Path, target: Path, stage_rows: StageRows
) -> None:
    shape = replace(SHAPE, columns=(*SHAPE.columns, column("rank", "bigint")))
    write = WriteMerge(("id",), ("rank desc",), "latest")
    tied = [{"id": 1, "name": name, "rank": 7} for name in ("a", "b", "c", "d")]
    table = SparkDeltaTable(TableLocation("t", str(target)), spark_session)
    found = []
    for number, order in enumerate((tied, tied[::-1]), start=1):
        table.commit(write, stage_rows(order), shape, batch(number))
        found.append(rows(spark_session, target))
    assert found[0] == found[1]
    assert len(found[0]) == 1


def test_merge_adds_new_columns_and_keeps_those_it_lacks(
    spark_session: SparkSession, target: Path, table: SparkDeltaTable, stage_rows: StageRows
) -> None:
    table.commit(FAIL, stage_rows(people(_1="a", _2="b")), SHAPE, batch(1))
    wider = TableShape((SHAPE.columns[0], column("tier", "string", comment="new")))
    table.commit(FAIL, stage_rows([{"id": 2, "tier": "gold"}, {"id": 3, "tier": "new"}]), wider, batch(2))
    assert rows(spark_session, target) == [(1, "a", None), (2, "b", "gold"), (3, None, "new")]


def test_a_table_of_keys_only_has_nothing_to_update() -> None:
    statement = render_merge("/t`x", "s", WriteMerge(("a", "b")), ["a", "b"])
    assert "UPDATE" not in statement
    assert "delta.`/t``x`" in statement


@pytest.mark.parametrize(
    ("ddl", "obstacle"),
    [
        ("'delta.columnMapping.mode' = 'name'", "column mapping"),
        ("'delta.enableRowTracking' = 'true'", "table feature `rowTracking`"),
        ("'delta.constraints.positive' = 'id > 0'", "CHECK constraint `positive`"),
    ],
)
def test_a_table_that_cannot_adopt_is_written_by_spark(
    spark_session: SparkSession,
    tmp_path: Path,
    target: Path,
    stage_rows: StageRows,
    ddl: str,
    obstacle: str,
) -> None:
    create = f"CREATE TABLE delta.`{target}` (id BIGINT NOT NULL, name STRING) USING DELTA"
    if "constraints" in ddl:
        spark_session.sql(create)
        spark_session.sql(f"ALTER TABLE delta.`{target}` ADD CONSTRAINT positive CHECK (id > 0)")
    else:
        spark_session.sql(f"{create} TBLPROPERTIES ({ddl})")
    table = SparkDeltaTable(TableLocation("t", str(target)), spark_session)
    assert table.write_path(WriteAppend()) == f"rewrite: the table has {obstacle}"
    files = stage_rows(people(_1="a"))
    done = table.commit(WriteAppend(), files, SHAPE, batch(1))
    assert table.commit(WriteAppend(), files, SHAPE, batch(1)).version == done.version
    wider = replace(SHAPE, columns=(*SHAPE.columns, column("tier", "string")))
    table.commit(FAIL, stage_rows([{"id": 1, "name": "A", "tier": "x"}]), wider, batch(2))
    assert rows(spark_session, target) == [(1, "A", "x")]
    table.commit(WriteOverwrite(), stage_rows(people(_2="b")), SHAPE, batch(3))
    assert rows(spark_session, target) == [(2, "b", None)]
    if "constraints" in ddl:
        with pytest.raises(RunError) as caught:
            table.commit(WriteAppend(), stage_rows([{"id": -77, "name": "secret"}]), SHAPE, batch(4))
        assert "secret" not in str(caught.value) and "-77" not in str(caught.value)


def test_overwrite_of_a_table_with_deletion_vectors_shows_only_the_new_rows(
    spark_session: SparkSession, target: Path, stage_rows: StageRows
) -> None:
    properties = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    spark_session.sql(f"CREATE TABLE delta.`{target}` (id BIGINT, name STRING) USING DELTA {properties}")
    spark_session.sql(f"INSERT INTO delta.`{target}` VALUES (1, 'a'), (2, 'b')")
    spark_session.sql(f"DELETE FROM delta.`{target}` WHERE id = 1")
    table = SparkDeltaTable(TableLocation("t", str(target)), spark_session)
    assert table.write_path(WriteAppend()) == "adopt"
    table.commit(WriteAppend(), stage_rows(people(_3="c")), SHAPE, batch(1))
    assert rows(spark_session, target) == [(2, "b"), (3, "c")]
    table.commit(WriteOverwrite(), stage_rows(people(_4="d")), SHAPE, batch(2))
    assert rows(spark_session, target) == [(4, "d")]


def test_a_catalog_name_is_registered_and_found_again(
    spark_session: SparkSession, tmp_path: Path, target: Path, stage_rows: StageRows
) -> None:
    catalogs = session_catalogs(spark_session)
    name = "lakelogic_test_schema.people"
    location = resolve_location(name, base=str(tmp_path), warehouse="wh", catalogs=catalogs)
    assert location.catalog_name == f"spark_catalog.{name}"
    try:
        first = SparkDeltaTable(replace(location, path=str(target)), spark_session)
        first.commit(WriteAppend(), stage_rows(people(_1="a")), SHAPE, batch(1))
        assert [tuple(row) for row in spark_session.table(name).collect()] == [(1, "a")]
        # The catalog knows where the table lies, whatever the warehouse setting says by now.
        again = SparkDeltaTable(location, spark_session)
        assert again.location.path == str(target)
        again.commit(FAIL, stage_rows(people(_1="A")), SHAPE, batch(2))
        assert [tuple(row) for row in spark_session.table(name).collect()] == [(1, "A")]
    finally:
        spark_session.sql("DROP SCHEMA IF EXISTS lakelogic_test_schema CASCADE")
