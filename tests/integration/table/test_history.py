"""Histories as tables: what they read and rewrite, what they remember, and what they forget."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable
from tests.laws.histories import START, Seen, oracle
from tests.laws.history_table import History

from lakelogic.table.history_store import store_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def seen(key: int, at: int, tier: str | None, note: str | None = None, *, gone: bool = False) -> Seen:
    return Seen(key, START + timedelta(days=at), gone, tier, note=note)


def stored(history: History) -> list[tuple[int, bool]]:
    path = store_path(str(history.folder))
    rows = DeltaTable(path).to_pyarrow_table().to_pylist() if DeltaTable.is_deltatable(path) else []
    return sorted((row["key"], row["_lakelogic_gone"]) for row in rows)


def fed(history: History, *observations: Seen) -> dict[str, int]:
    history.feed(observations)
    return dict(history.commit().metrics)


def test_only_partitions_with_changed_versions_are_rewritten_and_a_new_beginning_forgets(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    history = History(spark_session, tmp_path / "t", ("key",))
    first = [seen(1, 1, "a"), seen(2, 1, "a"), seen(3, 1, "a")]
    fed(history, *first)
    second = [seen(1, 2, "a", "same"), seen(2, 2, "b"), seen(9, 1, None, gone=True)]
    metrics = fed(history, *second)
    assert (metrics["numTargetFilesRemoved"], metrics["numTargetRowsCopied"]) == (1, 0)
    assert (metrics["numTargetRowsUpdated"], metrics["numTargetRowsInserted"]) == (1, 1)
    assert stored(history) == [(1, False), (9, True)]
    version = DeltaTable(str(history.folder)).version()
    fed(history, *second)  # nothing new: the batch is recorded, no file is touched
    assert DeltaTable(str(history.folder)).version() == version + 1
    assert history.table.find_committed("t") == 3
    assert history.versions() == oracle([*first, *second])
    assert stored(history) == [(1, False), (9, True)]

    DeltaTable(str(history.folder)).delete()  # as `lakelogic reset` does
    anew = [seen(9, 0, "a"), seen(1, 1, "a"), seen(1, 3, "b")]
    fed(history, *anew)
    late = [seen(9, 2, "b"), seen(1, 2, "b")]
    fed(history, *late)
    assert history.versions() == oracle([*anew, *late])


def test_another_list_of_tracked_columns_keeps_what_was_remembered(spark_session: SparkSession, tmp_path: Path) -> None:
    history = History(spark_session, tmp_path / "t", tracked=("tier",), untracked=("code", "score", "note"))
    # Delta itself must write what a change feed shows, so this history is changed by a MERGE.
    history.shape = replace(history.shape, properties={"delta.enableChangeDataFeed": "true"})
    rows = [replace(seen(1, 1, "a"), code="x"), replace(seen(1, 5, "a"), code="y")]
    fed(history, *rows)
    history.write = replace(history.write, tracked=("tier", "code", "score"), untracked=("note",))
    late = replace(seen(1, 3, "b"), code="z")
    fed(history, late)
    assert history.versions() == oracle([*rows, late])
    assert DeltaTable(str(history.folder)).history(1)[0]["operation"] == "MERGE"
