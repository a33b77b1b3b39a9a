"""Records that span lines: Spark and the engines without a JVM find the same ones, or the latter refuse the file."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core.errors import CapabilityError
from lakelogic.core.slices import FileSlice
from lakelogic.engine.local.text_source import TextSource, text_names
from lakelogic.engine.protocol import ReadSpec
from lakelogic.engine.spark.reader import read_source

pytestmark = pytest.mark.spark
NAMES = ("a", "b", "c")
STYLES: dict[str, dict[str, str]] = {
    "usual": {},
    "piped": {"sep": "|", "nullValue": "NA"},
    "tabs": {"sep": "\t"},
    "backslashes": {"escape": "\\"},
    "apostrophes": {"quote": "'", "sep": ";", "nullValue": ""},
    "latin": {"encoding": "latin1"},
    "no header": {"header": "false"},
}
_PIECES = ("x", " ", "NA", "1.5", "é", "\\", "#", "%", "\x00", ".", "\x0c", "\x0b", "\x85", "")
_ENDS = ("\n", "\r\n", "\r", "\n\n", "\r\r\n", "\n\r")


def make_file(dice: random.Random, options: dict[str, str], end: str, count: int) -> str:
    """Records of about three fields whose quotes are in place, with ends of lines of every kind within quotes."""
    sep, quote = options.get("sep", ","), options.get("quote", '"')
    escape = options.get("escape", quote)

    def field() -> str:
        quoted = dice.random() < 0.4
        more = (sep, quote, *_ENDS) if quoted else ("'",)
        text = "".join(dice.choices((*_PIECES, *more), k=dice.randint(0, 4)))
        if not quoted:
            return text.lstrip(quote) + dice.choice(("", "", "", f"z{quote}", f"z{quote}{quote}"))
        inner = text.replace(escape, escape * 2)
        inner = inner if escape == quote else inner.replace(quote, escape + quote)
        return f"{quote}{inner}{quote}" + dice.choice(("", "", "", " ", " \t".replace(sep, " ")))

    records = [sep.join(NAMES)]
    for _ in range(count):
        width = dice.choice((3, 3, 3, 3, 3, 2, 4, 1))
        records.append(sep.join(field() for _ in range(width)))
    return "".join(record + dice.choice((end, end, end, end + end)) for record in records) + dice.choice(("", "1"))


def read_locally(path: Path, options: dict[str, str]) -> list[tuple[Any, ...]]:
    spec = ReadSpec("csv", options, declared=NAMES)
    source = TextSource(spec, (str(path),), text_names(spec, (str(path),)))
    return [tuple(row.values())[:-1] for row in source.open().read_all().to_pylist()]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_records(
    spark_session: Any, tmp_path: Path, slice_of: Callable[..., FileSlice], style: str, end: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = {**STYLES[style], "multiLine": "true"}
    path = tmp_path / "in.csv"
    encoding = options.get("encoding", "utf-8")
    path.write_bytes(make_file(random.Random(style + end), options, end, 600).encode(encoding))
    expected = read_locally(path, options)
    monkeypatch.setattr("lakelogic.engine.local.lines._CHUNK", 1000)
    monkeypatch.setattr("lakelogic.engine.local.csv_records._LOOKED_AT", 100)
    assert read_locally(path, options) == expected

    frame = read_source(spark_session, ReadSpec("csv", options, declared=NAMES), slice_of(path)).frame
    rows = frame.select(*NAMES, "_lakelogic_record", "_lakelogic_malformed").collect()

    assert len(rows) == len(expected)
    assert [case for case in zip(map(tuple, rows), expected, strict=True) if case[0] != case[1]] == []
    assert {row[-1] for row in expected} == {None, "too few fields", "too many fields"}


def test_marks_blank_lines_and_other_ends_of_lines(
    spark_session: Any, tmp_path: Path, slice_of: Callable[..., FileSlice]
) -> None:
    path = tmp_path / "in.csv"
    for content in (
        b"\xef\xbb\xbfa,b,c\n1,2,3\n",
        b"a,b,c",
        b"\n\na,b,c\n\n1,,\n\n",
        b'a,b,c\r\n1,"2\n",3\r\n4,5,6\r\n7,8\r,9',
        b"a,b,c\n1,\r2,3\n4,\r,\r\r,\n7,8\r,9",
        b"a,b,c\n1,2\n4,5\x0c",
        b"a,b,c\n1,2\n4\x0c\n5\n",
        b"a,b,c\r1,2\r4,5\x0c\r",
    ):
        path.write_bytes(content)
        spec = ReadSpec("csv", {"multiLine": "true"})
        frame = read_source(spark_session, spec, slice_of(path)).frame
        rows = frame.select(*NAMES, "_lakelogic_record", "_lakelogic_malformed").collect()
        assert list(map(tuple, rows)) == read_locally(path, {"multiLine": "true"})


@pytest.mark.parametrize(
    "content",
    [
        b'1,2,"3\n4,5,6\n',
        b'"1" x,2,3\n',
        b'"1""2,3\n',
        b'1,"2\n"x\n,3\n',
        b"1,\xff,3\n",
        b'"1"\r,2,3\n',
        b'1,2,"',
        b"1,2,3\r\n4,5,6\n",
    ],
)
def test_a_file_that_parsers_may_take_differently_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes((b"a,b,c\r\n" if b"\r\n" in content else b"a,b,c\n") + content)
    with pytest.raises(CapabilityError, match="without Spark") as refused:
        read_locally(path, {"multiLine": "true"})
    assert "in.csv" in str(refused.value)
