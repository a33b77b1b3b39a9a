"""Text files give the rows, reasons and records that the Spark engine gives."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.core.errors import CapabilityError, LakeLogicError, PlanError, RunError
from lakelogic.core.keys import derive_keys
from lakelogic.core.slices import FileSlice, SourceFile
from lakelogic.engine.duckdb.engine import DuckDbEngine
from lakelogic.engine.local.lines import read_blocks
from lakelogic.engine.local.options import parse_csv_options
from lakelogic.engine.local.text_source import TextSource, text_names
from lakelogic.engine.protocol import ReadSpec

# A base install has no Polars.
ENGINES = ["duckdb", *(["polars"] if find_spec("polars") else [])]


def read(path: Path, content: bytes, format_: str = "csv", **options: str) -> list[dict[str, Any]]:
    path.write_bytes(content)
    spec = ReadSpec(format_, options)
    names = text_names(spec, (str(path),))
    rows: list[dict[str, Any]] = TextSource(spec, (str(path),), names).open().read_all().to_pylist()
    return rows


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("a,b", ("a", "b")),
        (",", (None, None)),
        ('"",b', ("", "b")),
        ('"""a""",b', ('"a"', "b")),
        ('a,"b""c"', ("a", 'b"c')),
        ('"x,y",b', ("x,y", "b")),
        ('"a" ,b', ("a", "b")),
        (' a , "b" ', (" a ", ' "b" ')),
        ('say "a",b', ('say "a"', "b")),
    ],
)
def test_a_csv_line_is_split_as_spark_splits_it(tmp_path: Path, line: str, fields: tuple[str | None, ...]) -> None:
    (row,) = read(tmp_path / "f.csv", f"x,y\n{line}\n".encode())
    assert (row["x"], row["y"]) == fields
    assert row["_lakelogic_malformed"] is None and row["_lakelogic_record"] is None


@pytest.mark.parametrize(
    ("line", "reason", "record"),
    [
        (b"a", "too few fields", "a"),
        (b"a,b,c", "too many fields", "a,b,c"),
        (b'a,"b', "unclosed quote", 'a,"b'),
        (b'"a, b" x,c', "misplaced quote", '"a, b" x,c'),
        (b'"a" "b",c', "misplaced quote", '"a" "b",c'),
        (b'"a",b,"c"', "too many fields", '"a",b,"c"'),
        (b"\xc3\xa9\xff,b", "not UTF-8", "\\xC3\\xA9\\xFF,b"),
    ],
)
def test_a_malformed_line_is_kept_whole(tmp_path: Path, line: bytes, reason: str, record: str) -> None:
    (row,) = read(tmp_path / "f.csv", b"x,y\n" + line + b"\n")
    assert (row["x"], row["y"]) == (None, None)
    assert (row["_lakelogic_malformed"], row["_lakelogic_record"]) == (reason, record)


def test_blank_lines_headers_and_marks_are_no_rows(tmp_path: Path) -> None:
    rows = read(tmp_path / "f.csv", b"\xef\xbb\xbfx,y\r\n1,2\r\r\nx,y\n\n3,4")
    assert [(row["x"], row["y"]) for row in rows] == [("1", "2"), ("3", "4")]


def test_lines_keep_their_order_whichever_way_they_are_cut(tmp_path: Path) -> None:
    lines = [b"1,a", b'2,"b"', b"3", b"4,\xff", b"", b"5,e", b'6,"f', b"x,y", b"7,"]
    rows = read(tmp_path / "f.csv", b"x,y\n" + b"\n".join(lines) + b"\n")
    told = [(row["x"], row["y"], row["_lakelogic_malformed"], row["_lakelogic_record"]) for row in rows]
    assert told == [
        ("1", "a", None, None),
        ("2", "b", None, None),
        (None, None, "too few fields", "3"),
        (None, None, "not UTF-8", "4,\\xFF"),
        ("5", "e", None, None),
        (None, None, "unclosed quote", '6,"f'),
        ("7", None, None, None),
    ]


def test_lines_are_whole_where_blocks_of_a_file_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"\xef\xbb\xbfx,y\r\n" + b"".join(b'%d,"a\xc3\xa9"\r\n%d,b\r' % (n, -n) for n in range(40)) + b"9,last"
    expected = [(str(m), v) for n in range(40) for m, v in ((n, "a\u00e9"), (-n, "b"))] + [("9", "last")]
    for size in (5, 7, 64, 1000):
        monkeypatch.setattr("lakelogic.engine.local.lines._CHUNK", size)
        rows = read(tmp_path / "f.csv", content)
        assert [(row["x"], row["y"]) for row in rows] == expected


def test_a_line_that_only_looks_like_the_header_is_a_record(tmp_path: Path) -> None:
    rows = read(tmp_path / "f.csv", b"a\\xFF,b\n1,2\na\xff,b\n")
    assert [(row["b"], row["_lakelogic_malformed"]) for row in rows] == [("2", None), (None, "not UTF-8")]


def test_short_lines_under_a_wide_header_come_in_small_batches(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b",".join(b"c%d" % n for n in range(2000)) + b"\n" + b"a\n" * 20_000)
    spec, paths = ReadSpec("csv"), (str(tmp_path / "f.csv"),)
    batches = [batch.num_rows for batch in TextSource(spec, paths, text_names(spec, paths)).open()]
    assert sum(batches) == 20_000 and max(batches) <= 501


def test_a_file_whose_lines_end_with_cr_is_not_one_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakelogic.engine.local.lines._CHUNK", 1000)
    (tmp_path / "f.csv").write_bytes(b"x\r" + b"12345678\r" * 5000)
    blocks = list(read_blocks(str(tmp_path / "f.csv")))
    assert max(map(len, blocks)) <= 2000
    assert b"".join(blocks) == b"x\n" + b"12345678\n" * 5000


@pytest.mark.parametrize(
    "options",
    [{"escape": "\\\\"}, {"quote": "''"}, {"quote": " "}, {"sep": ""}, {"sep": ",", "quote": ","}, {"sep": "\n"}],
)
def test_a_style_that_readers_would_take_differently_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(PlanError, match="option"):
        parse_csv_options(options)


def test_a_first_line_that_is_no_header_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be split"):
        read(tmp_path / "f.csv", b"x" * 200_000 + b",y\n1,2\n")


def test_json_keeps_the_digits_as_written(tmp_path: Path) -> None:
    (row,) = read(
        tmp_path / "f.jsonl",
        b'{"a": 1.50, "b": 1e400, "c": {"x": 1.0, "y": [1, "\\u00e9"]}, "d": null}\n',
        "jsonl",
    )
    assert (row["a"], row["b"], row["c"], row["d"]) == ("1.50", "1e400", '{"x":1.0,"y":[1,"\u00e9"]}', None)


@pytest.mark.parametrize("line", ['{"a":1', '{"a":1} x', "[1]", "5", "{'a':1}", '{"a":NaN}', '{"a":1}{"a":2}'])
def test_what_is_not_one_object_is_not_valid_json(tmp_path: Path, line: str) -> None:
    (row,) = read(tmp_path / "f.jsonl", line.encode(), "jsonl")
    assert (row["_lakelogic_malformed"], row["_lakelogic_record"]) == ("not valid JSON", line)


def test_a_json_document_is_an_array_of_records(tmp_path: Path) -> None:
    rows = read(tmp_path / "f.json", b'[\n {"a": 1},\n {"a": "x"}\n]', "json")
    assert [row["a"] for row in rows] == ["1", "x"]


@pytest.mark.parametrize("format_", ["avro", "xml"])
def test_formats_that_need_more_are_refused(tmp_path: Path, format_: str) -> None:
    engine = DuckDbEngine(derive_keys(None))
    file = SourceFile(str(tmp_path / "f"), 1, 0)
    with pytest.raises(CapabilityError, match=f"cannot read format `{format_}`"):
        engine.inspect(ReadSpec(format_), FileSlice((file,)))
    engine.close()


CONTRACT = """
dataset: rows
source: {path: in.csv.gz, format: csv, options: {multiLine: true}}
materialization: {target_path: out/rows}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (gzip.compress(b'x,y\n1,"2\n3,4\n', mtime=0), "has a quote out of place"),
        (gzip.compress(b"x,y\n1,\xff\n", mtime=0), "is not UTF-8"),
        (gzip.compress(b"x,y\n1,2\n" * 9999, mtime=0)[:-9], "cannot read"),
    ],
)
def test_why_a_file_cannot_be_read_is_told_and_nothing_is_written(
    tmp_path: Path, engine: str, content: bytes, told: str
) -> None:
    (tmp_path / "in.csv.gz").write_bytes(content)
    (tmp_path / "contract.yaml").write_text(CONTRACT)
    with DataProcessor(tmp_path / "contract.yaml", engine=engine) as processor, pytest.raises(LakeLogicError) as error:
        processor.run()
    assert told in str(error.value) and "in.csv.gz" in str(error.value)
    assert not (tmp_path / "out" / "rows" / "_delta_log").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_a_text_file_are_counted_however_often_they_are_read(tmp_path: Path, engine: str) -> None:
    (tmp_path / "in.csv").write_bytes(b"x,y\n" + b"1,2\n" * 70_000 + b"\n\n3\n")
    (tmp_path / "contract.yaml").write_text(
        "dataset: rows\nsource: {path: in.csv}\nquality: {row_rules: [{sql: x > 0}]}\n"
        "model: {fields: [{name: x, type: int}, {name: y}]}\nmaterialization: {target_path: out/rows}\n"
    )
    with DataProcessor(tmp_path / "contract.yaml", engine=engine) as processor:
        counts = processor.run().counts
    assert (counts.read, counts.accepted, counts.quarantined) == (70_001, 70_000, 1)
