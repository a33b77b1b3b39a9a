"""The law of histories: what a table shows depends on what was observed, never on when it arrived.

LAKELOGIC_LAW_EXAMPLES asks for more histories than the default.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from sqlglot import exp
from tests.laws.histories import END, START, Seen, Version, alive, broken_laws, histories, oracle

from lakelogic.plan.files import StagedFile
from lakelogic.plan.history import history_columns
from lakelogic.plan.model import DELETE_COLUMN, Column
from lakelogic.plan.writes import WriteScd2
from lakelogic.table.delta_spark import SparkDeltaTable
from lakelogic.table.protocol import Commit, CommitId, TableLocation, TableShape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXAMPLES = max(500, 5 * int(os.environ.get("LAKELOGIC_LAW_EXAMPLES", "40")))
BATCHES = 4
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

    def __init__(self, spark: SparkSession, folder: Path, partition_by: tuple[str, ...] = ()) -> None:
        staged = [Column(name, exp.DataType.build(type_, dialect="spark")) for name, type_ in _SPARK.items()]
        self.folder = folder
        self.table = SparkDeltaTable(TableLocation("t", str(folder)), spark)
        self.shape = TableShape(history_columns(WRITE, staged), partition_by)
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
        return self.table.commit(WRITE, self.files, self.shape, CommitId("t", self.batch, f"run {self.batch}"))

    def versions(self) -> list[Version]:
        rows = DeltaTable(str(self.folder)).to_pyarrow_table().to_pylist()
        return sorted((_version(row) for row in rows), key=lambda v: (v.key, v.valid_from))


def _version(row: dict[str, object]) -> Version:
    seen = Seen(**{name: row[name] for name in ("key", "at", "tier", "code", "score", "note")})  # type: ignore[arg-type]
    start, end = (row[name].astimezone(UTC) for name in ("valid_from", "valid_to"))  # type: ignore[attr-defined]
    assert start == seen.at
    return Version(seen.key, seen.state, seen.note, start, end, bool(row["is_current"]), int(row["version"]))  # type: ignore[call-overload]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[random.Random]:
    """Commits fail where LAKELOGIC_FAULT says, as on a failing disk."""
    monkeypatch.setenv("LAKELOGIC_FAULT_MODE", "raise")
    yield random.Random(3)


def test_a_history_does_not_depend_on_the_order_of_arrival(
    spark_session: SparkSession, tmp_path: Path, faults: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed = histories(EXAMPLES, seed=11)
    expected = oracle(observed)
    assert broken_laws(expected) == []

    at_once = History(spark_session, tmp_path / "at_once")
    at_once.feed(sorted(observed, key=lambda seen: seen.at))
    at_once.commit()
    assert at_once.versions() == expected

    shuffled = History(spark_session, tmp_path / "shuffled")
    faults.shuffle(observed)
    for number in range(BATCHES):
        # What was delivered once may come again.
        again = faults.sample(observed, len(observed) // 20)
        shuffled.feed([*observed[number::BATCHES], *again])
        _commit_with_trouble(shuffled, number, monkeypatch)
    assert shuffled.versions() == expected


def _commit_with_trouble(history: History, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop between the commits in some batches, start again, and start once more when all is done."""
    point = (None, "after_store_commit", "after_history_scratch", None)[number]
    if point is not None:
        monkeypatch.setattr("lakelogic.core.faults._reached", Counter())
        monkeypatch.setenv("LAKELOGIC_FAULT", point)
        with pytest.raises(OSError, match=point):
            history.commit()
        monkeypatch.delenv("LAKELOGIC_FAULT")
    done = history.commit()
    again = history.commit()
    assert (again.skipped, again.version) == (True, done.version)


def test_at_any_instant_a_living_key_has_one_version() -> None:
    observed = histories(EXAMPLES, seed=12)
    versions = oracle(observed)
    for hours in range(-1, 14):
        instant = START + timedelta(hours=hours)
        shown = [v.key for v in versions if v.valid_from <= instant < v.valid_to]
        assert len(shown) == len(set(shown))
        assert set(shown) == alive(observed, instant)
    assert {v.key for v in versions if v.current} == alive(observed, END)
