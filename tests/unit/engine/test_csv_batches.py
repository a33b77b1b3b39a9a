"""Lines of CSV that are cut many at a time give what the splitter gives for each of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from lakelogic.engine.local.csv_batches import CsvFile
from lakelogic.engine.local.csv_lines import CsvSplitter
from lakelogic.engine.local.lines import NOT_UTF8, decode
from lakelogic.engine.local.options import parse_csv_options

STYLES: dict[str, dict[str, str]] = {
    "usual": {},
    "tabs": {"sep": "\t"},
    "two letters": {"sep": "::"},
    "the same twice": {"sep": "||", "quote": "'"},
    "backslashes": {"escape": "\\"},
    "no quotes": {"quote": ""},
    "quotes beyond ASCII": {"quote": "«", "sep": "é"},
    "named null": {"nullValue": "NA"},
    "nothing is null": {"nullValue": ""},
    "clefs": {"sep": "\U0001d11e"},
    "latin": {"encoding": "latin1", "sep": "é"},
}
_PIECES = (
    "",
    "x",
    " ",
    "NA",
    "1.5",
    "é",
    "\\",
    "\x00",
    ":",
    "::",
    "|",
    "||",
    "|||",
    "'",
    '"',
    '""',
    ",",
    "\t",
    "\U0001d11e",
    "«",
)


def make_line(dice: random.Random, sep: str, encoding: str) -> bytes:
    def field() -> str:
        text = "".join(dice.choices(_PIECES, k=dice.randint(0, 2)))
        return f'"{text}"' if dice.random() < 0.1 else text

    line = sep.join(field() for _ in range(dice.choice((3, 3, 3, 3, 2, 4)))).encode(encoding, "replace")
    return line + b"\xff" if dice.random() < 0.002 else line


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("style", STYLES)
def test_lines(style: str, header: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakelogic.engine.local.lines._CHUNK", 10_000)
    options = parse_csv_options(STYLES[style])
    dice = random.Random(style)
    lines = [make_line(dice, options.sep, options.encoding) for _ in range(3000)]
    first = options.sep.join("abc")
    lines[700], lines[1500:1500] = first.encode(options.encoding), [b"", b""]
    path = tmp_path / "in.csv"
    path.write_bytes(b"\n".join(lines))
    splitter = CsvSplitter(options, 3)

    expected: list[tuple[Any, ...]] = []
    for line in (decode(raw, options.encoding) for raw in lines):
        fields = splitter.split(line.text) if line.valid else NOT_UTF8
        if line.text in ("", first if header else ""):
            continue
        expected.append(
            (None, None, None, line.text, fields) if isinstance(fields, str) else (*fields, line.text, None)
        )

    cuts = list(CsvFile(str(path), options, ("a", "b", "c"), first if header else None, ("c", "z", "a"), True).blocks())
    found = [tuple(row.values()) for cut in cuts for row in cut.batch.to_pylist()]
    wanted = [(c, None, a, record, reason) for a, _, c, record, reason in expected]
    assert [case for case in zip(found, wanted, strict=True) if case[0] != case[1]] == []
    assert sum(cut.skipped for cut in cuts) == len(lines) - len(expected)
