from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import sqlglot
from pyspark.errors import PySparkException
from pyspark.sql import Observation as Observation_
from sqlglot import exp

from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice, FrameSlice
from lakelogic.engine.protocol import ReadSpec, StageInput
from lakelogic.engine.spark import attempts
from lakelogic.engine.spark.conf import CALL_SETTINGS
from lakelogic.plan.files import Staged
from lakelogic.plan.model import Column, LinkRead, Observation, Segment, Stage
from lakelogic.table.stats import read_stats

pytestmark = pytest.mark.spark
Slices = Callable[..., FileSlice]

OUTPUT = (
    Column("id", exp.DataType.build("int", dialect="databricks")),
    Column("day", exp.DataType.build("date", dialect="databricks")),
    Column("kind", exp.DataType.build("string", dialect="databricks")),
)
REJECTED = Column(
    "_lakelogic_rejected",
    exp.DataType.build(
        "struct<raw: struct<id: string, day: string, kind: string>, record: string, malformed: string, "
        "source: string, failed_0: bigint>",
        dialect="databricks",
    ),
)
CHECKED = """
SELECT *, TRY_CAST(id AS INT) AS id_, TRY_CAST(day AS DATE) AS day_,
  CASE WHEN _lakelogic_malformed IS NOT NULL THEN 1 ELSE 0 END
  | CASE WHEN NOT id IS NULL AND TRY_CAST(id AS INT) IS NULL THEN 2 ELSE 0 END
  | CASE WHEN NOT kind IN (SELECT code FROM kinds) THEN 4 ELSE 0 END AS failed
FROM kept
"""
JUDGED = """
SELECT id_ AS id, day_ AS day, kind,
  CASE WHEN failed = 0 THEN 'accepted' ELSE 'rejected' END AS lakelogic_verdict,
  CASE WHEN failed <> 0 THEN STRUCT(STRUCT(id, day, kind) AS raw, _lakelogic_record AS record,
    _lakelogic_malformed AS malformed, _lakelogic_source AS source, CAST(failed AS BIGINT) AS failed_0)
  END AS _lakelogic_rejected
FROM checked
"""
UNFOLD = """
SELECT _lakelogic_rejected, _lakelogic_rejected.record AS _lakelogic_kept_record,
  _lakelogic_rejected.failed_0 AS _lakelogic_failed_0
FROM rejected
"""
QUARANTINE = """
SELECT _lakelogic_rejected.raw.id AS id, _lakelogic_kept_record AS _lakelogic_record,
  ARRAY_COMPACT(ARRAY(
    CASE WHEN _lakelogic_failed_0 & 1 <> 0 THEN 'malformed' END,
    CASE WHEN _lakelogic_failed_0 & 2 <> 0 THEN 'id is an int' END,
    CASE WHEN _lakelogic_failed_0 & 4 <> 0 THEN 'known kind' END
    )) AS _lakelogic_rules
FROM unfolded
"""


def parse(sql: str) -> Any:
    return sqlglot.parse_one(sql, dialect="databricks")


def segment(name: str, sql: str, *, counted: bool = False, effect: Any = "same") -> Segment:
    return Segment(name, parse(sql), (), name, effect, counted)


def build_stage(*, partition_by: tuple[str, ...] = ()) -> Stage:
    return Stage(
        input="source",
        segments=(
            segment("kept", "SELECT * FROM source WHERE id IS DISTINCT FROM '0'", counted=True, effect="removes"),
            segment("checked", CHECKED, counted=True),
            segment("judged", JUDGED),
        ),
        output=OUTPUT,
        partition_by=partition_by,
        observed_at="judged",
        observations=(Observation("failed:known kind", parse("SUM(CASE WHEN kind = 'z' THEN 1 ELSE 0 END)")),),
    )


@pytest.fixture
def kinds(spark_session: Any, tmp_path: Path) -> LinkRead:
    path = tmp_path / "kinds.csv"
    path.write_text("code,name\na,A\nb c/%,B\n")
    return LinkRead("kinds", str(path), None, columns=("code",), broadcast=True)


def run(engine: Any, tmp_path: Path, slice_of: Slices, kinds: LinkRead, stage: Stage) -> tuple[Staged, Path]:
    path = tmp_path / "in.csv"
    path.write_bytes(
        b"id,day,kind\n0,,a\n1,2026-01-02,a\n2,,b c/%\nx,2026-02-30,a\n4,,z\n5\n\xe9,\xff,a\n6,2026-01-02,\n"
    )
    root = tmp_path / "target [1]"
    root.mkdir()
    source = StageInput(spec=ReadSpec("csv"), slice=slice_of(path))
    return engine.stage(stage, source, [kinds], root=str(root), folder="batch-1"), root


def test_a_stage_splits_rows_by_verdict_and_counts_them(
    spark_engine: Any, tmp_path: Path, slice_of: Slices, kinds: LinkRead
) -> None:
    staged, root = run(spark_engine, tmp_path, slice_of, kinds, build_stage())
    assert staged.counts == {"source": 8, "kept": 7, "checked": 7, "skipped": 1}
    assert (staged.accepted_rows, staged.rejected_rows) == (3, 4)
    assert staged.observations == {"failed:known kind": 1}
    for file in (*staged.accepted, *staged.rejected):
        assert (root / file.path).stat().st_size == file.size and file.partition == {}
    frame = spark_engine.frame(StageInput(staged_root=str(root), staged=staged.accepted, columns=OUTPUT))
    assert sorted((row.id, str(row.day), row.kind) for row in frame.collect()) == [
        (1, "2026-01-02", "a"),
        (2, "None", "b c/%"),
        (6, "2026-01-02", None),
    ]


def test_numbers_are_taken_again_where_tasks_failed(
    spark_engine: Any, tmp_path: Path, slice_of: Slices, kinds: LinkRead, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What rows counted as they passed is not to be believed then: here nothing of it is true.
    monkeypatch.setattr(attempts, "_has_failures", lambda *_: True)
    monkeypatch.setattr(Observation_, "get", property(lambda _: dict.fromkeys(("lines", "skipped", "rows", "o0"), 99)))
    staged, _ = run(spark_engine, tmp_path, slice_of, kinds, build_stage())
    assert staged.counts == {"source": 8, "kept": 7, "checked": 7, "skipped": 1}
    assert staged.observations == {"failed:known kind": 1}


def test_jobs_that_went_well_and_jobs_that_did_not_are_told_apart(spark_session: Any) -> None:
    with attempts.watch_attempts(spark_session) as well:
        spark_session.range(4).write.format("noop").mode("overwrite").save()
    context = spark_session.sparkContext
    group = context.getLocalProperty("spark.jobGroup.id")
    with pytest.raises(PySparkException), attempts.watch_attempts(spark_session):
        failing = context.getLocalProperty("spark.jobGroup.id")
        spark_session.sql("SELECT raise_error('no') FROM range(4)").collect()
    assert not well.repeated
    assert attempts._has_failures(spark_session, failing)
    assert context.getLocalProperty("spark.jobGroup.id") == group


def test_partition_values_are_those_of_the_rows(
    spark_engine: Any, tmp_path: Path, slice_of: Slices, kinds: LinkRead
) -> None:
    staged, root = run(spark_engine, tmp_path, slice_of, kinds, build_stage(partition_by=("kind", "day")))
    assert sorted((f.partition["kind"], f.partition["day"]) for f in staged.accepted if f.partition["kind"]) == [
        ("a", "2026-01-02"),
        ("b c/%", None),
    ]
    frame = spark_engine.frame(StageInput(staged_root=str(root), staged=staged.accepted, columns=OUTPUT))
    assert sorted((row.id, str(row.day), row.kind) for row in frame.collect()) == [
        (1, "2026-01-02", "a"),
        (2, "None", "b c/%"),
        (6, "2026-01-02", None),
    ]


def test_the_quarantine_keeps_records_and_counts_each_check(
    spark_engine: Any, tmp_path: Path, slice_of: Slices, kinds: LinkRead
) -> None:
    staged, root = run(spark_engine, tmp_path, slice_of, kinds, build_stage())
    text = exp.DataType.build("string", dialect="databricks")
    columns = (
        Column("id", text),
        Column("_lakelogic_record", text),
        Column("_lakelogic_rules", exp.DataType.build("array<string>", dialect="databricks")),
    )
    rejected = StageInput(staged_root=str(root), staged=staged.rejected, columns=(*OUTPUT, REJECTED))
    place = tmp_path / "quarantine"
    counts = [
        Observation(name, parse(f"SUM(CASE WHEN _lakelogic_failed_0 & {bit} <> 0 THEN 1 ELSE 0 END)"))
        for name, bit in (("malformed", 1), ("id is an int", 2), ("known kind", 4))
    ]
    stage = replace(
        build_stage(),
        unfold=parse(UNFOLD),
        quarantine=parse(QUARANTINE),
        quarantine_columns=columns,
        rejected_counts=tuple(counts),
    )
    files, failed = spark_engine.write_quarantine(stage, rejected, root=str(place), folder="b")
    assert failed == {"malformed": 2, "id is an int": 1, "known kind": 1}
    assert sum(file.rows for file in files) == 4
    frame = spark_engine.frame(StageInput(staged_root=str(place), staged=files, columns=columns))
    said = [(row.id or "", row._lakelogic_record or "", row._lakelogic_rules) for row in frame.collect()]
    assert sorted(said) == [
        ("", "5", ["malformed"]),
        ("", r"\xE9,\xFF,a", ["malformed"]),
        ("4", "", ["known kind"]),
        ("x", "", ["id is an int"]),
    ]


def test_dataset_checks_are_one_row(spark_engine: Any, tmp_path: Path, slice_of: Slices, kinds: LinkRead) -> None:
    staged, root = run(spark_engine, tmp_path, slice_of, kinds, build_stage())
    accepted = StageInput(staged_root=str(root), staged=staged.accepted, columns=OUTPUT)
    values = {
        "rows": parse("COUNT(*)"),
        "unique id": parse("(SELECT COUNT(*) FROM (SELECT id FROM accepted GROUP BY id HAVING COUNT(*) > 1))"),
        "top": parse("SELECT MAX(id) FROM accepted"),
    }
    assert spark_engine.evaluate(values, accepted) == {"rows": 3.0, "unique id": 0.0, "top": 6.0}
    only_query = {"top": parse("SELECT MAX(id) FROM accepted WHERE id > 100")}
    assert spark_engine.evaluate(only_query, accepted) == {"top": None}


def test_a_stage_leaves_no_view_and_no_setting_behind(
    spark_session: Any, spark_engine: Any, tmp_path: Path, slice_of: Slices, kinds: LinkRead
) -> None:
    spark_session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        before = [table.name for table in spark_session.catalog.listTables()]
        run(spark_engine, tmp_path, slice_of, kinds, build_stage())
        assert [table.name for table in spark_session.catalog.listTables()] == before
        assert spark_session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark_session.conf.set("spark.sql.session.timeZone", CALL_SETTINGS["spark.sql.session.timeZone"])


def test_a_session_that_passes_over_broken_files_does_not_do_so_for_us(
    spark_session: Any, spark_engine: Any, tmp_path: Path, slice_of: Slices
) -> None:
    packed = gzip.compress(b"id\n" + b"".join(b"%d\n" % (n * 7919) for n in range(50_000)))
    (tmp_path / "in.csv.gz").write_bytes(packed[: len(packed) // 2])
    stage = Stage("source", (segment("all", "SELECT id, 'accepted' AS lakelogic_verdict FROM source"),), ())
    spark_session.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        source = StageInput(ReadSpec("csv"), slice_of(tmp_path / "in.csv.gz"))
        with pytest.raises(RunError):
            spark_engine.stage(stage, source, [], root=str(tmp_path), folder="b")
        assert spark_session.conf.get("spark.sql.files.ignoreCorruptFiles") == "true"
    finally:
        spark_session.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_a_session_with_other_timestamps_reads_the_same_moments(
    spark_session: Any, spark_engine: Any, tmp_path: Path, slice_of: Slices
) -> None:
    (tmp_path / "in.csv").write_text("at\n2024-01-01 00:00:00+02:00\n")
    moment = "SELECT CAST(TRY_CAST(at AS TIMESTAMP) AS STRING) AS id, 'accepted' AS lakelogic_verdict FROM source"
    output = (Column("id", exp.DataType.build("string", dialect="databricks")),)
    stage = Stage("source", (segment("all", moment),), output)
    spark_session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        source = StageInput(ReadSpec("csv"), slice_of(tmp_path / "in.csv"))
        staged = spark_engine.stage(stage, source, [], root=str(tmp_path), folder="b")
    finally:
        spark_session.conf.unset("spark.sql.timestampType")
    (file,) = staged.accepted
    assert pq.read_table(tmp_path / file.path).column("id").to_pylist() == ["2023-12-31 22:00:00"]


@pytest.mark.parametrize("content", [b"\x1f\x8bnot really", gzip.compress(b"id\n1\n", mtime=0)[:12]])
def test_a_packed_file_that_cannot_be_read_is_named(
    spark_engine: Any, tmp_path: Path, slice_of: Slices, content: bytes
) -> None:
    (tmp_path / "in.csv.gz").write_bytes(content)
    with pytest.raises(RunError, match="cannot read"):
        spark_engine.inspect(ReadSpec("csv"), slice_of(tmp_path / "in.csv.gz"))


def test_a_relation_that_the_optimizer_cuts_out_is_still_counted(
    spark_session: Any, spark_engine: Any, tmp_path: Path
) -> None:
    frame = spark_session.sql("SELECT id FROM range(5)")
    sql = "SELECT id, 'accepted' AS lakelogic_verdict FROM source WHERE false"
    stage = Stage("source", (segment("none", sql, counted=True, effect="removes"),), ())
    staged = spark_engine.stage(
        stage, StageInput(ReadSpec("frame"), FrameSlice(frame)), [], root=str(tmp_path), folder="b"
    )
    assert staged.counts == {"source": 5, "none": 0, "skipped": 0} and staged.accepted == ()


def test_an_error_of_spark_is_one_sentence_without_values(
    spark_session: Any, spark_engine: Any, tmp_path: Path
) -> None:
    frame = spark_session.sql("SELECT 'secret value' AS id")
    sql = "SELECT CAST(id AS INT) AS id, 'accepted' AS lakelogic_verdict FROM source"
    source = StageInput(ReadSpec("frame"), FrameSlice(frame))
    with pytest.raises(RunError) as error:
        spark_engine.stage(Stage("source", (segment("s", sql),), ()), source, [], root=str(tmp_path), folder="b")
    assert "secret value" not in str(error.value) and len(str(error.value).splitlines()) == 1
    assert error.value.__cause__ is not None
    with pytest.raises(RunError, match="nope"):
        spark_engine.stage(
            Stage("source", (segment("s", "SELECT nope FROM source"),), ()),
            source,
            [],
            root=str(tmp_path),
            folder="c",
        )


def test_a_batch_without_rejected_rows_has_no_rejected_files(
    spark_session: Any, spark_engine: Any, tmp_path: Path
) -> None:
    sql = "SELECT id, 'accepted' AS lakelogic_verdict FROM source"
    source = StageInput(ReadSpec("frame"), FrameSlice(spark_session.sql("SELECT 1 AS id")))
    stage = Stage("source", (segment("s", sql),), ())
    staged = spark_engine.stage(stage, source, [], root=str(tmp_path), folder="b")
    assert (staged.accepted_rows, staged.rejected) == (1, ())


def test_columns_with_one_value_are_bounded_without_statistics_of_the_writer(
    spark_engine: Any, tmp_path: Path, slice_of: Slices, kinds: LinkRead
) -> None:
    stage = build_stage()
    split = stage.segments[-1]
    query = split.query.copy().select(
        parse("'r1' AS run"), parse("CAST('2026-01-02 03:04:05.678901+00:00' AS TIMESTAMP) AS at")
    )
    output = (*OUTPUT, Column("run", parse("CAST(1 AS STRING)").to), Column("at", parse("CAST(1 AS TIMESTAMP)").to))
    stamped = replace(stage, segments=(*stage.segments[:-1], replace(split, query=query)), output=output)
    staged, root = run(spark_engine, tmp_path, slice_of, kinds, stamped)
    for file in staged.accepted:
        assert file.constants == {"run": "r1", "at": "2026-01-02 03:04:05.678901+00:00"}
        stats = read_stats(str(root / file.path), file.constants)
        assert (stats.minimum["run"], stats.maximum["run"], stats.nulls["run"]) == ("r1", "r1", 0)
        assert (stats.minimum["at"], stats.maximum["at"]) == ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.679Z")
        assert "run" not in read_stats(str(root / file.path)).minimum
