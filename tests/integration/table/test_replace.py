"""Partial overwrites: exactly the named rows go, in one commit, and other files stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.integration.table.conftest import batch, column

from lakelogic.core.errors import CapabilityError
from lakelogic.plan.files import StagedFile
from lakelogic.plan.writes import Write, WriteAppend, WriteOverwritePartitions, WriteReplace
from lakelogic.table.protocol import Table, TableLocation, TableShape
from lakelogic.table.registry import open_table
from lakelogic.table.replaced import find_replaced

COLUMNS = (column("id", "bigint"), column("day", "date"))
BY_DAY, FLAT = TableShape(COLUMNS, ("day",)), TableShape(COLUMNS)
SECOND_DAY = WriteReplace("day", "2026-03-02", "2026-03-03")
PARTITIONS = WriteOverwritePartitions()
ENGINES = ("delta-rs", pytest.param("spark", marks=pytest.mark.spark))


@pytest.fixture(params=ENGINES)
def table(request: pytest.FixtureRequest, target: Path) -> Table:
    spark = request.getfixturevalue("spark_session") if request.param == "spark" else None
    return open_table("delta", TableLocation("t", str(target)), spark=spark)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "a target"


def stage(target: Path, name: str, day: int | None, ids: Sequence[int], *, flat: bool = False) -> StagedFile:
    """One staged file with rows of one day."""
    value = f"2026-03-{day:02d}" if day else None
    folder = name if flat else f"{name}/day={value or '__HIVE_DEFAULT_PARTITION__'}"
    path = target / folder / "part-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {"id": pa.array(ids, pa.int64())}
    if flat:
        data["day"] = pa.array([date(2026, 3, day) if day else None for _ in ids], pa.date32())
    pq.write_table(pa.table(data), path)
    partition = {} if flat else {"day": value}
    return StagedFile(f"{folder}/part-0.parquet", path.stat().st_size, len(ids), partition)


def seen(target: Path) -> list[tuple[int, str | None]]:
    rows = DeltaTable(str(target)).to_pyarrow_table().to_pylist()
    return sorted((row["id"], str(row["day"]) if row["day"] else None) for row in rows)


def files_of_other_days(target: Path) -> set[str]:
    return {path for path in DeltaTable(str(target)).file_uris() if "2026-03-02" not in path}


@pytest.mark.parametrize("write", [SECOND_DAY, PARTITIONS])
def test_a_day_is_replaced_and_files_of_other_days_are_not_touched(target: Path, table: Table, write: Write) -> None:
    first = [stage(target, "a", 1, [1]), stage(target, "a", 2, [2]), stage(target, "a", None, [9])]
    table.commit(WriteAppend(), first, BY_DAY, batch(1))
    others = files_of_other_days(target)
    again = [stage(target, "b", 2, [20, 21])]
    done = table.commit(write, again, BY_DAY, batch(2))
    expected = [(1, "2026-03-01"), (9, None), (20, "2026-03-02"), (21, "2026-03-02")]
    assert (seen(target), files_of_other_days(target)) == (expected, others)
    repeated = table.commit(write, again, BY_DAY, batch(2))
    assert (repeated.skipped, repeated.version) == (True, done.version)
    # The same day once more gives the same rows, whatever stood there.
    table.commit(write, [stage(target, "c", 2, [20, 21])], BY_DAY, batch(3))
    assert (seen(target), files_of_other_days(target)) == (expected, others)
    table.commit(write, (), BY_DAY, batch(4))
    assert (seen(target), table.find_committed("dataset")) == (expected, 4)


def test_days_of_a_table_without_partitions_are_replaced_once(target: Path, table: Table) -> None:
    first = [stage(target, name, day, [day or 9], flat=True) for name, day in (("a", 1), ("b", 2), ("n", None))]
    table.commit(WriteAppend(), first, FLAT, batch(1))
    again = [stage(target, "c", 2, [20], flat=True)]
    done = table.commit(SECOND_DAY, again, FLAT, batch(2))
    repeated = table.commit(SECOND_DAY, again, FLAT, batch(2))
    assert (repeated.skipped, repeated.version) == (True, done.version)
    assert seen(target) == [(1, "2026-03-01"), (9, None), (20, "2026-03-02")]


def test_a_folder_that_delta_rs_cannot_name_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "a[1]"
    table = open_table("delta", TableLocation("t", str(target)))
    table.commit(WriteAppend(), [stage(target, "a", 2, [2], flat=True)], FLAT, batch(1))
    more = [stage(target, "b", 2, [20], flat=True)]
    with pytest.raises(CapabilityError, match=r"folder with `\[`"):
        table.check(SECOND_DAY, more, FLAT, policy="allow")
    with pytest.raises(CapabilityError, match=r"folder with `\[`"):
        table.commit(SECOND_DAY, more, FLAT, batch(2))


@pytest.mark.parametrize(
    ("held", "filters"),
    [
        ([("1", "a"), ("1", "b")], (("x", "in", ["1"]), ("y", "in", ["a", "b"]))),
        ([("1", None)], (("x", "in", ["1"]), ("y", "=", ""))),
        ([("1", "a"), ("2", "b")], None),
        ([("1", "a"), ("1", None)], None),
    ],
)
def test_partitions_that_no_filter_can_name_are_named_by_a_condition(held: list[Any], filters: Any) -> None:
    shape = TableShape((column("x", "int"), column("y", "string")), ("x", "y"))
    files = [StagedFile(f"{n}", 1, 1, {"x": x, "y": y}) for n, (x, y) in enumerate(held)]
    replaced = find_replaced(PARTITIONS, files, shape)
    assert replaced.filters == filters
    assert replaced.sql("spark").count("`x` = ") == len(held)
