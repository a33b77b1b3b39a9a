"""Staged files and shapes for the tests of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.table.protocol import CommitId, TableShape

Rows = Sequence[Mapping[str, Any]]
StageRows = Callable[..., tuple[StagedFile, ...]]


def column(name: str, type_: str, **options: Any) -> Column:
    return Column(name, exp.DataType.build(type_, dialect="spark"), **options)


def batch(number: int, app_id: str = "dataset") -> CommitId:
    return CommitId(app_id, number, f"run-{number}")


SHAPE = TableShape((column("id", "bigint", nullable=False), column("name", "string")))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "a target [1]{x}"


@pytest.fixture
def stage_rows(target: Path) -> StageRows:
    """Write rows to a new staged file of the target, with the extra column that accepted files have."""
    counter = iter(range(1000))

    def stage(rows: Rows, schema: pa.Schema | None = None) -> tuple[StagedFile, ...]:
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
        table = table.append_column("_lakelogic_rejected", pa.nulls(len(rows), pa.struct([("raw", pa.string())])))
        path = f"stage-{next(counter)}/part-0.parquet"
        (target / path).parent.mkdir(parents=True)
        pq.write_table(table, target / path)
        return (StagedFile(path, (target / path).stat().st_size, len(rows)),)

    return stage
