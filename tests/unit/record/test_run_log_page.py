"""The page about the run log names every column that its tables have, with its type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lakelogic.record.control_table import open_control_table
from lakelogic.record.run_schema import LOG_TABLES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "run_log.md"
COLUMN = re.compile(r"^\| `(\w+)` \| ([A-Z]+) \| (.+) \|$", re.MULTILINE)


@pytest.mark.parametrize("name", LOG_TABLES)
def test_every_column_is_described_with_its_type(name: str, tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    described = [(column, kind.lower()) for column, kind, _ in COLUMN.findall(section)]
    open_control_table(str(tmp_path / name), LOG_TABLES[name])
    fields = DeltaTable(str(tmp_path / name)).schema().fields
    assert described == [(field.name, field.type.type) for field in fields]
