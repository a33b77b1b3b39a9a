"""Rows of local tables reach Arrow without Python in between, whatever their folders are called."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pytest
from deltalake import write_deltalake

from lakelogic.storage.tables import arrow_rows, open_delta

ROWS = pa.table({"id": [1, 2], "part": ["a", "b"]})


@pytest.mark.parametrize("name", ["plain", "with blanks", "ü#&+=,'"])
def test_files_are_read_by_arrow_itself(tmp_path: Path, name: str) -> None:
    write_deltalake(tmp_path / name, ROWS, partition_by=["part"])
    found = arrow_rows(open_delta(str(tmp_path / name)))
    # Threads of Arrow that come back to Python may bring the process down at its end.
    assert not isinstance(found.filesystem.base_fs, pyarrow.fs.PyFileSystem)
    assert found.to_table().sort_by("id").select(["id", "part"]).to_pydict() == ROWS.to_pydict()


def test_values_of_partitions_may_be_anything(tmp_path: Path) -> None:
    odd = pa.table({"id": [1, 2, 3, 4, 5], "part": ["a b", "10:11", "50%", "x/y", "é?#"]})
    write_deltalake(tmp_path / "odd", odd, partition_by=["part"])
    found = arrow_rows(open_delta(str(tmp_path / "odd"))).to_table().sort_by("id")
    assert found.select(["id", "part"]).to_pydict() == odd.to_pydict()
