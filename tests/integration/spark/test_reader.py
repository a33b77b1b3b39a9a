from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.core.slices import RUN_ID_COLUMN, FileSlice, FrameSlice, TableSlice
from lakelogic.engine.protocol import ReadSpec
from lakelogic.engine.spark.reader import inspect_source, read_source
from lakelogic.engine.spark.tally import Delivered
from lakelogic.source.table_news import find_news

pytestmark = pytest.mark.spark
Slices = Callable[..., FileSlice]


def rows_of(spark: Any, spec: ReadSpec, slice_: Any) -> tuple[list[dict[str, Any]], int]:
    source = read_source(spark, spec, slice_)
    rows = [row.asDict() for row in source.frame.collect()]
    return rows, source.count(Delivered())[0]


def hidden(row: dict[str, Any]) -> tuple[str | None, bytes | None]:
    return row["_lakelogic_malformed"], row["_lakelogic_record"]


HOSTILE = [
    b"id,name,qty",
    b"1,ann,5",
    b"2,bob",
    b"3,cid,7,8",
    b'4,"dan,9',
    b"5,\xffeve,1",
    b"",
    b'6,"fay ""f"", x",',
    b'7,"",abc',
    b'8,gus,"oops',
]


def test_a_csv_line_that_cannot_be_split_keeps_its_text_and_reason(
    spark_session: Any, tmp_path: Path, slice_of: Slices
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(HOSTILE) + b"\r\n")
    empty = tmp_path / "empty.csv"
    empty.touch()
    source = read_source(spark_session, ReadSpec("csv"), slice_of(path, empty))
    shown = source.frame.selectExpr("id", "name", "qty", "_lakelogic_malformed AS why", "hex(_lakelogic_record) AS hex")
    rows = [tuple(row) for row in shown.collect()]
    assert rows == [
        ("1", "ann", "5", None, None),
        (None, None, None, "too few fields", HOSTILE[2].hex().upper()),
        (None, None, None, "too many fields", HOSTILE[3].hex().upper()),
        (None, None, None, "unclosed quote", HOSTILE[4].hex().upper()),
        (None, None, None, "not UTF-8", HOSTILE[5].hex().upper()),
        ("6", 'fay "f", x', None, None, None),
        ("7", "", "abc", None, None),
        (None, None, None, "unclosed quote", HOSTILE[9].hex().upper()),
    ]
    assert source.count(Delivered()) == (8, 2)


def test_csv_files_are_read_by_the_names_in_their_own_headers(
    spark_session: Any, tmp_path: Path, slice_of: Slices
) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,ann\n")
    (tmp_path / "b c+%.csv").write_text("name,id,more\nbob,2,x\n")
    slice_ = slice_of(tmp_path / "a.csv", tmp_path / "b c+%.csv")
    facts = inspect_source(spark_session, ReadSpec("csv"), slice_)
    assert [column.name for column in facts.columns] == ["id", "name", "more"] and facts.text
    rows, count = rows_of(spark_session, ReadSpec("csv"), slice_)
    assert sorted((r["id"], r["name"], r["more"], r["_lakelogic_source"]) for r in rows) == [
        ("1", "ann", None, str(tmp_path / "a.csv")),
        ("2", "bob", "x", str(tmp_path / "b c+%.csv")),
    ]
    assert count == 2


def test_paths_of_many_files_are_spelled_as_given(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    folder = tmp_path / "odd [x]{y} *"
    folder.mkdir()
    names = ["a b.csv", "c+d.csv", "é%20.csv"]
    for name in names:
        (folder / name).write_text("id\n1\n")
    rows, _ = rows_of(spark_session, ReadSpec("csv"), slice_of(*(folder / name for name in names)))
    assert sorted(row["_lakelogic_source"] for row in rows) == sorted(str(folder / name) for name in names)


def test_csv_without_header_takes_declared_names(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    path = tmp_path / "x.csv"
    path.write_text("1;'a;b';NA\n2;c\n")
    options = {"header": "false", "delimiter": ";", "quote": "'", "null_value": "NA"}
    spec = ReadSpec("csv", options, declared=("id", "name", "qty"))
    rows, _ = rows_of(spark_session, spec, slice_of(path))
    assert [(r["id"], r["name"], r["qty"], hidden(r)) for r in rows] == [
        ("1", "a;b", None, (None, None)),
        (None, None, None, ("too few fields", "2;c")),
    ]


def test_csv_in_latin1_is_decoded(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("naïve\nçé\n".encode("latin1"))
    rows, _ = rows_of(spark_session, ReadSpec("csv", {"encoding": "latin1"}), slice_of(path))
    assert [row["naïve"] for row in rows] == ["çé"]


def test_csv_records_may_span_lines_when_asked(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    path = tmp_path / "x.csv"
    path.write_text('id,name\n1,"a\nb"\n2\n')
    rows, count = rows_of(spark_session, ReadSpec("csv", {"multiLine": "true"}), slice_of(path))
    assert [(r["id"], r["name"], hidden(r)) for r in rows] == [
        ("1", "a\nb", (None, None)),
        (None, None, ("too few fields", "2")),
    ]
    assert count == 2


def test_a_line_with_endless_fields_is_a_malformed_row(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "," * 200_000 + "\n1,2\n")
    rows, _ = rows_of(spark_session, ReadSpec("csv"), slice_of(path))
    assert [row["_lakelogic_malformed"] for row in rows] == ["too many fields", None]


@pytest.mark.parametrize(
    ("options", "hint"), [({"delimeter": ";"}, "did you mean"), ({"inferSchema": "true"}, "known")]
)
def test_an_unknown_option_is_refused_by_name(spark_session: Any, options: dict[str, str], hint: str) -> None:
    with pytest.raises(PlanError, match=next(iter(options))) as error:
        read_source(spark_session, ReadSpec("csv", options), FileSlice(()))
    assert hint in str(error.value)


JSON_LINES = [
    '{"a":1.50,"b":1e400,"c":123456789012345678901234567890}',
    '{"a":{"x": 1.50, "y":[1,2.0],"z":"s 1.50, \\" 2.5"},"b":true,"c":-0.10,"d":"new"}',
    "[1]",
    '{"a":1} x',
    '{"a":1}{"a":2}',
    '{"a":1},{"a":2}',
    '{"a":01.5}',
    '{"a":NaN}',
    "null",
    '{"a":"1.50","b":""}',
    "",
]


def test_jsonl_values_keep_the_characters_they_were_written_with(
    spark_session: Any, tmp_path: Path, slice_of: Slices
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(JSON_LINES) + "\n")
    spec = ReadSpec("jsonl", declared=("a", "z"))
    facts = inspect_source(spark_session, spec, slice_of(path))
    assert [column.name for column in facts.columns] == ["a", "z", "b", "c", "d"]
    rows, count = rows_of(spark_session, spec, slice_of(path))
    assert [(r["a"], r["b"], r["c"], r["d"]) for r in rows if r["_lakelogic_malformed"] is None] == [
        ("1.50", "1e400", "123456789012345678901234567890", None),
        ('{"x":1.50,"y":[1,2.0],"z":"s 1.50, \\" 2.5"}', "true", "-0.10", "new"),
        ("1.50", "", None, None),
    ]
    assert [hidden(r) for r in rows if r["_lakelogic_malformed"]] == [
        ("not valid JSON", line) for line in JSON_LINES[2:9]
    ]
    assert count == 10


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1.50}, {"a": "} {"}, 3]',
        '{"a": 1.50}\n{"a": "} {"}\n3\n',
        '{\n"a": 1.50\n}\n{"a":\n"} {"}\n',
    ],
)
def test_json_documents_give_one_row_per_object(
    spark_session: Any, tmp_path: Path, slice_of: Slices, text: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    rows, count = rows_of(spark_session, ReadSpec("json"), slice_of(path))
    assert [r["a"] for r in rows if r["_lakelogic_malformed"] is None] == ["1.50", "} {"]
    assert [r["_lakelogic_record"] for r in rows if r["_lakelogic_malformed"]] == (["3"] if "3" in text else [])
    assert count == len(rows)


def test_a_broken_json_document_is_one_malformed_record(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1},\n{"a": ]')
    rows, _ = rows_of(spark_session, ReadSpec("json", declared=("a",)), slice_of(path))
    assert [hidden(row) for row in rows] == [("not valid JSON", '[{"a": 1},\n{"a": ]')]


def test_text_has_one_column(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"one\n\xff\n")
    rows, _ = rows_of(spark_session, ReadSpec("text"), slice_of(path))
    assert [(row["value"], row["_lakelogic_malformed"]) for row in rows] == [
        ("one", None),
        (None, "not UTF-8"),
    ]


def test_xml_gives_one_row_per_row_tag(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    path = tmp_path / "x.xml"
    path.write_text("<r><p><id>01</id><n>1.50</n></p><p><id>2</id></p></r>")
    spec = ReadSpec("xml", {"rowTag": "p"}, declared=("id",))
    facts = inspect_source(spark_session, spec, slice_of(path))
    assert [column.name for column in facts.columns] == ["id", "n"]
    rows, count = rows_of(spark_session, spec, slice_of(path))
    assert [(row["id"], row["n"], row["_lakelogic_malformed"]) for row in rows] == [
        ("01", "1.50", None),
        ("2", None, None),
    ]
    assert count == 2


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_typed_files_keep_types_and_hide_our_columns(
    spark_session: Any, tmp_path: Path, slice_of: Slices, format_: str
) -> None:
    frame = spark_session.sql("SELECT 1 AS id, DATE '2026-01-02' AS day, 'r1' AS _lakelogic_run_id")
    frame.coalesce(1).write.format(format_).save(str(tmp_path / "t"))
    (file,) = (tmp_path / "t").glob(f"*.{format_}")
    facts = inspect_source(spark_session, ReadSpec(format_), slice_of(file))
    assert [(c.name, c.type.sql("spark")) for c in facts.columns] == [
        ("id", "INT"),
        ("day", "DATE"),
    ] and not facts.text
    rows, count = rows_of(spark_session, ReadSpec(format_), slice_of(file))
    assert [set(row) for row in rows] == [{"id", "day", "_lakelogic_source"}] and count == 1
    kept, _ = rows_of(spark_session, ReadSpec(format_, columns=("id", "_lakelogic_run_id")), slice_of(file))
    assert kept[0]["_lakelogic_run_id"] == "r1"


def test_avro_without_its_package_names_the_package(spark_engine: Any, tmp_path: Path, slice_of: Slices) -> None:
    path = tmp_path / "x.avro"
    path.write_bytes(b"Obj\x01")
    with pytest.raises(CapabilityError, match="Avro") as error:
        spark_engine.inspect(ReadSpec("avro"), slice_of(path))
    assert "spark-avro" in str(error.value)


def test_a_delta_slice_reads_a_version_or_only_what_came_after(spark_session: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for number in range(4):
        spark_session.sql(f"SELECT {number} AS id").write.format("delta").mode("append").save(path)
    spark_session.sql(f"OPTIMIZE delta.`{path}`").collect()
    spec = ReadSpec("delta")
    assert sorted(row["id"] for row in rows_of(spark_session, spec, TableSlice(path, 1))[0]) == [0, 1]
    rows, count = rows_of(spark_session, spec, TableSlice(path, 4, after_version=1))
    assert sorted(row["id"] for row in rows) == [2, 3] and count == 2
    assert {row["_lakelogic_source"] for row in rows} == {path}


def test_a_delta_slice_with_a_change_feed_gives_inserts_and_new_values(spark_session: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    writer = spark_session.sql("SELECT id FROM range(3)").write.format("delta")
    writer.option("delta.enableChangeDataFeed", "true").save(path)
    spark_session.sql(f"UPDATE delta.`{path}` SET id = 10 WHERE id = 1")
    spark_session.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")
    rows, count = rows_of(spark_session, ReadSpec("delta"), TableSlice(path, 2, after_version=0))
    assert [row["id"] for row in rows] == [10] and count == 1


def test_rows_of_a_replaced_day_that_came_back_are_not_new(spark_session: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    made = "SELECT inline(array({}))"
    row = "struct({} AS day, {} AS n, map('a', 1) AS m, '{}' AS _lakelogic_run_id)"
    first = made.format(", ".join(row.format(day, n, "x") for day, n in ((1, 1), (1, 1), (2, 2))))
    again = made.format(", ".join(row.format(1, n, "y") for n in (1, 1, 1, 4)))
    spark_session.sql(first).write.format("delta").option("delta.enableChangeDataFeed", "true").save(path)
    replacing = spark_session.sql(again).write.format("delta").mode("overwrite").option("replaceWhere", "day = 1")
    replacing.save(path)
    rows, count = rows_of(spark_session, ReadSpec("delta"), TableSlice(path, 1, after_version=0))
    assert sorted(row["n"] for row in rows) == [1, 4] and count == 2


def test_masking_of_an_upstream_column_is_a_fact(spark_session: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    from pyspark.sql import functions as sf

    frame = spark_session.range(1).select(sf.col("id").alias("id", metadata={"lakelogic.masking": "hash"}))
    frame.write.format("delta").save(path)
    (column,) = inspect_source(spark_session, ReadSpec("delta"), TableSlice(path, 0)).columns
    assert column.masking == "hash"


def test_a_frame_is_read_as_it_is(spark_session: Any) -> None:
    frame = spark_session.sql("SELECT 1 AS id, 'x' AS _lakelogic_source")
    rows, count = rows_of(spark_session, ReadSpec("frame"), FrameSlice(frame))
    assert rows == [{"id": 1, "_lakelogic_source": "dataframe"}] and count == 1
    assert json.dumps(rows)


def test_a_column_called_value_keeps_its_values(spark_session: Any, tmp_path: Path, slice_of: Slices) -> None:
    csv_path, xml_path, json_path = tmp_path / "x.csv", tmp_path / "x.xml", tmp_path / "x.jsonl"
    csv_path.write_text("value,r\n1,2\n")
    xml_path.write_text("<a><p><value>1</value><r>2</r></p></a>")
    json_path.write_text('{"value":1,"r":2}\n')
    for spec, path in (
        (ReadSpec("csv"), csv_path),
        (ReadSpec("csv", {"multiLine": "true"}), csv_path),
        (ReadSpec("xml", {"rowTag": "p"}), xml_path),
        (ReadSpec("jsonl"), json_path),
    ):
        rows, _ = rows_of(spark_session, spec, slice_of(path))
        assert [(row["value"], row["r"]) for row in rows] == [("1", "2")]


def test_new_rows_behind_a_deletion_vector_are_refused_not_lost(spark_session: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for start in (0, 10):
        frame = spark_session.range(start, start + 3, 1, 1)
        frame.write.format("delta").option("delta.enableDeletionVectors", "true").mode("append").save(path)
    spark_session.sql(f"DELETE FROM delta.`{path}` WHERE id = 11")
    with pytest.raises(CapabilityError, match="deletion vectors"):
        read_source(spark_session, ReadSpec("delta"), TableSlice(path, 2, after_version=0))


def test_new_rows_of_a_table_are_found_after_compaction_and_vacuum(spark_session: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "bronze")
    for number in range(3):
        told = json.dumps({"app_id": "lakelogic:bronze", "batch": number, "run_id": f"run-{number}"})
        properties = CommitProperties(custom_metadata={"userMetadata": told})
        rows = pa.table({"id": [number, 10 + number], RUN_ID_COLUMN: [f"run-{number}"] * 2})
        write_deltalake(path, rows, mode="append", commit_properties=properties)
    DeltaTable(path).optimize.compact()
    by_files = find_news(TableSlice(path, 3, 0), repeatable=False)
    assert by_files == TableSlice(path, 3, 0)
    assert _ids(spark_session, by_files) == [1, 2, 11, 12]
    DeltaTable(path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    by_runs = find_news(TableSlice(path, 3, 0), repeatable=False)
    assert by_runs == TableSlice(path, 3, 0, run_ids=("run-1", "run-2"))
    assert _ids(spark_session, by_runs) == [1, 2, 11, 12]


def _ids(spark: Any, slice_: TableSlice) -> list[int]:
    rows, count = rows_of(spark, ReadSpec("delta", columns=("id",)), slice_)
    assert count == len(rows)
    return sorted(row["id"] for row in rows)


def test_parquet_files_that_do_not_go_together_or_are_damaged_are_named(
    spark_session: Any, tmp_path: Path, slice_of: Slices
) -> None:
    for name, value in (("a", 1), ("b", "a secret")):
        pq.write_table(pa.table({"v": [value]}), tmp_path / f"{name}.parquet")
    with pytest.raises(RunError, match=r"column `v` is `long` in .*a\.parquet` and `string` in .*b\.parquet"):
        inspect_source(spark_session, ReadSpec("parquet"), slice_of(tmp_path / "a.parquet", tmp_path / "b.parquet"))
    (tmp_path / "half.parquet").write_bytes(b"PAR1 a secret")
    with pytest.raises(RunError, match=r"half\.parquet` is not a Parquet file, or a damaged one"):
        inspect_source(spark_session, ReadSpec("parquet"), slice_of(tmp_path / "half.parquet"))
