"""Lines that are taken apart many at a time give what the parser gives for each of them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from lakelogic.engine.local.flat_objects import find_flat_objects
from lakelogic.engine.local.json_lines import NOT_JSON, split_object
from lakelogic.engine.local.line_batches import LineFile
from lakelogic.engine.local.lines import NOT_UTF8, read_lines
from lakelogic.engine.local.spans import find_lines

NAMES = ("a", "b", "é", "")
_SCALARS = (
    "1", "0", "-1", "-0", "00", "01", "1.0", "1.50", "1.", ".5", "1e5", "1E+05", "1e", "-", "+1", "0x1", "1_0", "٣",
    "12345678901234567890123", "1e400", "-0.0", "0.1e-7", "true", "false", "null", "True", "nul", "NaN", "Infinity",
    "-Infinity", "undefined", "", " 1", "1 ", "\t1", "[]", "{}", "[1,2]", '{"b":1}', "'x'", "nullx", "tru", "1,2", "1}",
)  # fmt: skip
_LETTERS = (
    "x",
    "1",
    " ",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "é",
    "\U0001d11e",
    "\u2028",
    "\x7f",
    "\x85",
    "'",
    "/",
    "b",
    "-0",
)
_ESCAPES = (
    "\\n",
    "\\\\",
    '\\"',
    "\\/",
    "\\u00e9",
    "\\ud800",
    "\\ud834\\udd1e",
    "\\x",
    "\\",
    "\\u12",
    "\t",
    "\x00",
    "\x1f",
)
_BREAKS = ("", " ", "  ", "\t", "\r", "x", ",", ":", "{", "}", '"', "\\", "\x0b", "\xa0", "null")
_NOT_UTF8 = (b"\xff", b"\xed\xa0\x80", b"\xc3", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf")


class Writer:
    """Makes lines: most of them flat objects, the others with something out of the ordinary, or broken."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def text(self) -> str:
        letters = _LETTERS + (_ESCAPES if self.dice.random() < 0.1 else ())
        return "".join(self.dice.choices(letters, k=self.dice.randint(0, 4)))

    def value(self) -> str:
        return f'"{self.text()}"' if self.dice.random() < 0.5 else self.scalar()

    def scalar(self) -> str:
        return self.dice.choice(_SCALARS if self.dice.random() < 0.3 else ("1", "20", "1.50", "null", "true"))

    def key(self) -> str:
        return self.dice.choice((*NAMES, "a", "b", "c", self.text()))

    def line(self) -> bytes:
        colon, comma = self.dice.choice(((":", ","), (": ", ", "), (":", ", "), (" : ", ","), (":", " ,")))
        members = [f'"{self.key()}"{colon}{self.value()}' for _ in range(self.dice.randint(0, 5))]
        line = "{" + comma.join(members) + "}"
        while self.dice.random() < 0.15:
            place = self.dice.randint(0, len(line))
            line = line[:place] + self.dice.choice(_BREAKS) + line[place + self.dice.randint(0, 1) :]
        raw = line.encode()
        if self.dice.random() < 0.002:
            place = self.dice.randint(0, len(raw))
            raw = raw[:place] + self.dice.choice(_NOT_UTF8) + raw[place:]
        return raw


def expected(path: Path) -> list[tuple[Any, ...]]:
    """What each line gives when it is parsed alone."""
    rows: list[tuple[Any, ...]] = []
    for line in read_lines(str(path)):
        found = split_object(line.text) if line.valid else None
        if found is not None:
            rows.append((*[found.get(name) for name in NAMES], line.text, None))
        elif line.text:
            rows.append((*[None] * len(NAMES), line.text, NOT_JSON if line.valid else NOT_UTF8))
    return rows


def found(path: Path, raw: bool = True) -> list[tuple[Any, ...]]:
    cuts = LineFile(str(path), "UTF-8", NAMES, raw).objects()
    return [tuple(row.values()) for cut in cuts for row in cut.batch.to_pylist()]


@pytest.mark.parametrize("seed", range(8))
def test_lines_give_what_the_parser_gives(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakelogic.engine.local.lines._CHUNK", 20_000)
    writer = Writer(seed)
    path = tmp_path / "in.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + b"\n".join(writer.line() for _ in range(3000)) + writer.dice.choice((b"", b"\r\n"))
    )
    whole = expected(path)
    assert [case for case in zip(found(path), whole, strict=True) if case[0] != case[1]] == []
    kept = [row if row[-1] else (*row[:-2], None, None) for row in whole]
    assert found(path, raw=False) == kept
    assert {row[-1] for row in whole} == {None, NOT_JSON, NOT_UTF8}


@pytest.mark.parametrize("seed", range(2))
def test_most_flat_objects_do_not_meet_the_parser(seed: int) -> None:
    writer = Writer(seed)
    rows = [{"a": writer.dice.randint(-9, 9) or 1, "b": f"x {n}", "é": None, "": 1.5, "c": True} for n in range(500)]
    for separators in ((",", ":"), (", ", ": ")):
        block = "\n".join(json.dumps(row, separators=separators, ensure_ascii=False) for row in rows).encode()
        flat = find_flat_objects(find_lines(block, "UTF-8", "in.jsonl"), NAMES)
        assert flat.lines.all()
        told = zip(*[column.to_pylist() for column in flat.columns], strict=True)
        assert list(told) == [(str(row["a"]), row["b"], None, "1.5") for row in rows]


@pytest.mark.parametrize(
    "line",
    ['{"a":"1","a":"2"}', '{"a":-0}', '{"a":"\\n"}', '{"a":[1]}', "{}", '{"a":1}x', ' {"a":1}', '{"a" :1}', '{"a":01}',
     '{"a":1,}', '{"a":1,"b"}', '{"a":"b":"c"}', '{"a":NaN}', '{"a":"1""b":"2"}', '{"a":1 }', '{"a":"\t"}', '{"a"}',
     '{"a":1}{"b":2}', '{"a","b"}', '{"a":1,"b":}', '{"a": }', '{"a":}', '{"a":,"b":1}', '{"a":1"b":2}', "", "{", '{"'],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_the_parser(line: str) -> None:
    flat = find_flat_objects(find_lines(f'{{"a":1}}\n{line}\n{{"a":2}}\n'.encode(), "UTF-8", "in.jsonl"), ("a",))
    assert flat.lines.tolist() == [True, False, True]
    assert [column.to_pylist() for column in flat.columns] == [["1", "2"]]
