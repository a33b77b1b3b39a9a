"""A reset takes everything from sight, forgets what was read, and can be taken back; a kill changes none of that."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.faults.support import FIRST, SECOND, Estate, make_estate

from lakelogic.core.errors import RunError
from lakelogic.core.settings import Settings
from lakelogic.record.journal import open_journal
from lakelogic.run.reset import preview_reset, reset, undo_reset
from lakelogic.run.validate import load_checked


def loaded(folder: Path) -> Estate:
    estate = make_estate(folder, "duckdb", "append")
    estate.drop("first.csv", FIRST)
    estate.run()
    estate.drop("second.csv", SECOND)
    estate.run()
    return estate


def call(what: Any, estate: Estate, **more: Any) -> Any:
    return what(load_checked(estate.contract), Settings(), **more)


def counts(estate: Estate) -> tuple[int, int]:
    lake = estate.folder / "lake"
    return tuple(DeltaTable(str(lake / name)).count() for name in ("orders", "orders_quarantine"))  # type: ignore[return-value]


def carried(estate: Estate) -> int | None:
    return DeltaTable(str(estate.folder / "lake/orders")).transaction_version("lakelogic:orders")


def test_a_preview_changes_nothing(tmp_path: Path) -> None:
    estate = loaded(tmp_path)
    report = call(preview_reset, estate)
    assert [(t.table, t.rows, t.version) for t in report.tables] == [("target", 4, 1), ("quarantine", 3, 1)]
    assert (report.batches, report.done) == (2, False)
    assert counts(estate) == (4, 3)
    assert estate.run().status == "no_new_data"


def test_after_a_reset_everything_is_loaded_again(tmp_path: Path) -> None:
    estate = loaded(tmp_path)
    assert call(reset, estate).done
    assert (counts(estate), carried(estate)) == ((0, 0), 3)
    assert call(preview_reset, estate).batches == 0
    result = estate.run()
    assert (result.counts.read, result.reason) == (7, "full load of 2 files: no batch was committed before")
    assert (counts(estate), carried(estate)) == ((4, 3), 4)
    assert estate.run().status == "no_new_data"
    with pytest.raises(RunError, match="rows were loaded since"):
        call(undo_reset, estate)


def test_a_reset_is_taken_back_with_what_was_read(tmp_path: Path) -> None:
    estate = loaded(tmp_path)
    call(reset, estate)
    call(undo_reset, estate)
    assert (counts(estate), carried(estate)) == ((4, 3), 4)
    assert estate.run().status == "no_new_data"
    with pytest.raises(RunError, match="was not reset"):
        call(undo_reset, estate)
    call(reset, estate)
    assert (counts(estate), estate.run().counts.read) == ((0, 0), 7)


def test_what_a_strategy_remembers_goes_and_comes_back_with_the_target(tmp_path: Path) -> None:
    estate = loaded(tmp_path)
    store = str(tmp_path / "lake/orders/_lakelogic/observations")
    write_deltalake(store, pa.table({"id": [1, 2]}))
    report = call(reset, estate)
    assert [(t.table, t.rows) for t in report.tables] == [("target", 4), ("target/observations", 2), ("quarantine", 3)]
    assert DeltaTable(store).count() == 0
    assert call(reset, estate, only=("quarantine",)).tables[0].rows == 0
    call(undo_reset, estate)
    assert (DeltaTable(store).count(), counts(estate)) == (2, (4, 3))


def test_the_quarantine_alone_keeps_the_position(tmp_path: Path) -> None:
    estate = loaded(tmp_path)
    call(reset, estate, only=("quarantine",))
    assert counts(estate) == (4, 0)
    assert estate.run().status == "no_new_data"


@pytest.mark.parametrize(
    "point", ["after_prepare", "after_quarantine_commit", "after_target_commit", "after_mark_committed"]
)
def test_a_reset_that_was_stopped_is_finished_by_the_next_run(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate = loaded(tmp_path)
    with monkeypatch.context() as faulty:
        faulty.setattr("lakelogic.core.faults._reached", Counter())
        faulty.setenv("LAKELOGIC_FAULT", point)
        faulty.setenv("LAKELOGIC_FAULT_MODE", "raise")
        with pytest.raises(OSError, match="fault injected"):
            call(reset, estate)
    assert estate.run().counts.read == 7
    assert counts(estate) == (4, 3)
    assert estate.run().status == "no_new_data"


def test_a_load_that_is_stuck_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    estate = make_estate(tmp_path, "duckdb", "append")
    estate.drop("first.csv", FIRST)
    with monkeypatch.context() as faulty:
        faulty.setattr("lakelogic.core.faults._reached", Counter())
        faulty.setenv("LAKELOGIC_FAULT", "before_target_commit")
        faulty.setenv("LAKELOGIC_FAULT_MODE", "raise")
        with pytest.raises(OSError, match="fault injected"):
            estate.run()
    call(reset, estate)
    assert open_journal(str(tmp_path / "lake/_lakelogic/orders")).pending() is None
    estate.run()
    assert counts(estate) == (2, 1)
