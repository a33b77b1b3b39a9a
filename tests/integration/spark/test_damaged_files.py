"""A file that Spark cannot read is named, whatever Java class Spark tells of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from lakelogic import DataProcessor, LakeLogicError

pytestmark = pytest.mark.spark
_ROWS = pa.table({"id": range(5000), "v": [f"a secret {n * 7919 % 5000}" for n in range(5000)]})


def _damage(path: Path, *, cut: bool) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    if cut:
        content = content[:middle]
    else:
        content[middle : middle + 200] = bytes(each ^ 0x5A for each in content[middle : middle + 200])
    path.write_bytes(content)


@pytest.mark.parametrize(("kind", "cut"), [("a Parquet", False), ("an ORC", False), ("an ORC", True)])
def test_a_damaged_file_is_named(tmp_path: Path, spark_session: Any, kind: str, cut: bool) -> None:
    format_ = kind.split()[1].lower()
    (tmp_path / "in put").mkdir()
    for name in ("good", "half"):
        path = tmp_path / "in put" / f"{name}.{format_}"
        pq.write_table(_ROWS, path) if format_ == "parquet" else orc.write_table(_ROWS, path, compression="zlib")
    _damage(path, cut=cut)
    (tmp_path / "c.yaml").write_text(
        f"dataset: rows\nsource: {{ path: in put, format: {format_} }}\nmaterialization: {{ target_path: out }}\n"
    )
    with (
        DataProcessor(tmp_path / "c.yaml", "spark", spark_session) as processor,
        pytest.raises(LakeLogicError, match=rf"LL423 .*in put/half\.{format_}` is not {kind} file, or a") as caught,
    ):
        processor.run()
    assert "secret" not in str(caught.value)
