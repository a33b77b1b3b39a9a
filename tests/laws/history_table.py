"""A history that is fed with observations, at the level of its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from sqlglot import exp
from tests.laws.histories import Seen, Version

from lakelogic.plan.files import StagedFile
from lakelogic.plan.history import history_columns
from lakelogic.plan.model import DELETE_COLUMN, Column
from lakelogic.plan.writes import WriteScd2
from lakelogic.table.delta_rs import DeltaRsTable
from lakelogic.table.delta_spark import SparkDeltaTable
from lakelogic.table.local_rows import RowWriter
from lakelogic.table.protocol import Commit, CommitId, TableLocation, TableShape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITE = WriteScd2(
    keys=("key",),
    timestamp="at",
    tracked=("tier", "code", "score"),
    untracked=("note",),
    opaque=(),
    valid_from="valid_from",
    valid_to="valid_to",
    current="is_current",
    version="version",
    end="9999-12-31",
    deletes=True,
)
_TYPES = {
    "key": pa.int64(), "tier": pa.string(), "code": pa.string(), "score": pa.float64(), "note": pa.string(),
    "at": pa.timestamp("us", "UTC"), DELETE_COLUMN: pa.bool_(), "_lakelogic_run_id": pa.string(),
}  # fmt: skip
_SPARK = {
    "key": "bigint", "tier": "string", "code": "string", "score": "double", "note": "string", "at": "timestamp",
    DELETE_COLUMN: "boolean", "_lakelogic_run_id": "string",
}  # fmt: skip


class History:
    """A table that is fed with batches of observations."""

    def __init__(
        self, engine: SparkSession | RowWriter, folder: Path, partition_by: tuple[str, ...] = (), **write: Any
    ) -> None:
        self.write = replace(WRITE, **write)
        staged = [Column(name, exp.DataType.build(type_, dialect="spark")) for name, type_ in _SPARK.items()]
        self.folder = folder
        self.table = _table(engine, folder)
        self.shape = TableShape(history_columns(self.write, staged), partition_by)
        self.batch = 0

    def feed(self, observations: Sequence[Seen]) -> None:
        """The next batch."""
        self.batch += 1
        rows = [
            {"key": s.key, "at": s.at, "tier": s.tier, "code": s.code, "score": s.score, "note": s.note,
             DELETE_COLUMN: s.gone or None, "_lakelogic_run_id": f"run {self.batch}"}
            for s in observations
        ]  # fmt: skip
        path = f"merge-{self.batch:08d}-x/part-0.parquet"
        (self.folder / path).parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(_TYPES.items())), self.folder / path)
        self.files = (StagedFile(path, (self.folder / path).stat().st_size, len(rows)),)

    def commit(self) -> Commit:
        return self.table.commit(self.write, self.files, self.shape, CommitId("t", self.batch, f"run {self.batch}"))

    def versions(self) -> list[Version]:
        rows = DeltaTable(str(self.folder)).to_pyarrow_table().to_pylist()
        return sorted((_version(row) for row in rows), key=lambda v: (v.key, v.valid_from))


def _table(engine: SparkSession | RowWriter, folder: Path) -> DeltaRsTable | SparkDeltaTable:
    place = TableLocation("t", str(folder))
    return DeltaRsTable(place, engine) if isinstance(engine, RowWriter) else SparkDeltaTable(place, engine)


def _version(row: dict[str, object]) -> Version:
    seen = Seen(**{name: row[name] for name in ("key", "at", "tier", "code", "score", "note")})  # type: ignore[arg-type]
    start, end = (row[name].astimezone(UTC) for name in ("valid_from", "valid_to"))  # type: ignore[attr-defined]
    assert start == seen.at
    return Version(seen.key, seen.state, seen.note, start, end, bool(row["is_current"]), int(row["version"]))  # type: ignore[call-overload]
