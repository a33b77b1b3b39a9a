"""What a run that ended in the middle leaves to the next one, when the source or the contract is another by then."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lakelogic.core import faults
from lakelogic.core.errors import LakeLogicError
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor

CONTRACT = """
version: "1.0.0"
dataset: rows
source: {{ path: {path} }}
model: {{ fields: [{{ name: id, type: int }}] }}
materialization: {{ strategy: append, target_path: out }}
"""


def _run(folder: Path, path: str) -> None:
    (folder / "contract.yaml").write_text(CONTRACT.format(path=path), encoding="utf-8")
    with DataProcessor(folder / "contract.yaml", "duckdb", settings=Settings()) as processor:
        processor.run()


def _break(monkeypatch: pytest.MonkeyPatch, point: str = "after_prepare") -> None:
    monkeypatch.setattr(faults, "_reached", Counter())
    monkeypatch.setenv("LAKELOGIC_FAULT", point)
    monkeypatch.setenv("LAKELOGIC_FAULT_MODE", "raise")


def _fail(folder: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends when its batch was begun, as one would on a file of another format."""
    _break(monkeypatch)
    with pytest.raises((LakeLogicError, OSError)):
        _run(folder, path)
    monkeypatch.delenv("LAKELOGIC_FAULT")


def _ids(folder: Path) -> list[int]:
    return sorted(DeltaTable(folder / "out").to_pyarrow_table().column("id").to_pylist())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.csv").write_text("id\n1\n", encoding="utf-8")
    (tmp_path / "two.csv").write_text("id\n2\n", encoding="utf-8")
    return tmp_path


def test_a_mended_path_reads_what_it_names_and_nothing_of_the_wrong_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fail(folder, "one.csv", monkeypatch)
    _run(folder, "two.csv")
    assert _ids(folder) == [2]


def test_the_same_path_is_finished_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fail(folder, "one.csv", monkeypatch)
    _run(folder, "one.csv")
    assert _ids(folder) == [1]


def test_a_file_of_an_event_is_finished_whatever_the_contract_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "contract.yaml").write_text(CONTRACT.format(path="two.csv"), encoding="utf-8")
    _break(monkeypatch)
    with DataProcessor(folder / "contract.yaml", "duckdb", settings=Settings()) as processor:
        with pytest.raises((LakeLogicError, OSError)):
            processor.run_source(folder / "one.csv")
        monkeypatch.delenv("LAKELOGIC_FAULT")
        processor.run()
    assert _ids(folder) == [1, 2]


@pytest.mark.parametrize(
    "point", ["after_prepare", "after_stage", "after_mark_staged", "after_target_commit", "after_run_log"]
)
def test_a_full_load_that_was_killed_and_started_again_has_run_once(
    point: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(monkeypatch, point)
    with pytest.raises((LakeLogicError, OSError)):
        _run(folder, "one.csv")
    monkeypatch.delenv("LAKELOGIC_FAULT")
    _run(folder, "one.csv")
    assert _ids(folder) == [1]
    _run(folder, "one.csv")
    assert _ids(folder) == [1, 1]  # a full load that appends, asked for twice
