"""ORC files on the engines without a JVM: as Spark reads them, or refused with their names."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow import orc

from lakelogic import DataProcessor, LakeLogicError

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901)


@pytest.fixture(params=["duckdb", "polars"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(folder: Path, engine: str, *tables: pa.Table) -> None:
    (folder / "in").mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        orc.write_table(table, folder / "in" / f"{number}.orc")
    (folder / "c.yaml").write_text(
        "dataset: rows\nsource: { path: in, format: orc }\nmaterialization: { target_path: out }\n"
    )
    with DataProcessor(folder / "c.yaml", engine=engine) as processor:
        processor.run()


def values(folder: Path) -> list[object]:
    return list(DeltaTable(folder / "out").to_pyarrow_table().sort_by("id")["v"].to_pylist())


def test_a_timestamp_is_a_moment(tmp_path: Path, engine: str) -> None:
    run(tmp_path, engine, pa.table({"id": [1, 2], "v": pa.array([MOMENT, None], pa.timestamp("us"))}))
    assert values(tmp_path) == [MOMENT.replace(tzinfo=UTC), None]


def test_files_with_narrower_types_are_read_with_the_wider_one(tmp_path: Path, engine: str) -> None:
    # The narrower one last: its type must not stand for all.
    wide, narrow = pa.table({"id": [1], "v": [2**40]}), pa.table({"id": [2], "v": pa.array([1], pa.int32())})
    run(tmp_path, engine, wide, narrow)
    assert values(tmp_path) == [2**40, 1]


def test_files_whose_types_do_not_go_together_are_refused(tmp_path: Path, engine: str) -> None:
    with pytest.raises(LakeLogicError, match=r"LL424 column `v` is `long` in .*0\.orc` and `string` in .*1\.orc`"):
        run(tmp_path, engine, pa.table({"id": [1], "v": [1]}), pa.table({"id": [2], "v": ["a secret"]}))


@pytest.mark.parametrize("content", [b"", b"ORC a secret"])
def test_a_file_that_is_no_orc_is_named(tmp_path: Path, engine: str, content: bytes) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "half.orc").write_bytes(content)
    with pytest.raises(LakeLogicError, match=r"LL423 .*half\.orc` is not an ORC file, or a damaged one") as caught:
        run(tmp_path, engine)
    assert "secret" not in str(caught.value)


def test_a_file_with_damaged_pages_is_named(tmp_path: Path, engine: str) -> None:
    rows = pa.table({"id": range(5000), "v": [f"a secret {n * 7919 % 5000}" for n in range(5000)]})
    (tmp_path / "in").mkdir()
    for name in ("good", "half"):
        orc.write_table(rows, tmp_path / "in" / f"{name}.orc", compression="zlib")
    content = bytearray((tmp_path / "in" / "half.orc").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 200] = bytes(each ^ 0x5A for each in content[middle : middle + 200])
    (tmp_path / "in" / "half.orc").write_bytes(content)
    with pytest.raises(LakeLogicError, match=r"LL423 .*half\.orc` is not an ORC file, or a damaged one") as caught:
        run(tmp_path, engine)
    assert "secret" not in str(caught.value)
