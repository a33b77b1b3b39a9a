"""Many new files are read in batches that add up to what one batch would have left."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.faults.support import killed_in_process

from lakelogic import DataProcessor
from lakelogic.record.run_log import read_runs

CONTRACT = """\
dataset: orders
source: {{ path: landing, pattern: "*.csv", load_mode: {mode} }}
model: {{ fields: [{{ name: order_id, type: long, required: true }}] }}
quality: {{ max_quarantine_ratio: 0.9 }}
materialization: {{ strategy: {strategy}, target_path: lake/orders }}
"""
LIMIT = {"LAKELOGIC_MAX_FILES_PER_BATCH": "3"}


def estate(folder: Path, *, strategy: str = "append", mode: str = "incremental", files: int = 8) -> Path:
    (folder / "landing").mkdir(parents=True)
    for number in range(files):
        path = folder / "landing" / f"{number:02}.csv"
        path.write_text(f"order_id\n{number}\nx\n")
        os.utime(path, (1_700_000_000 - number,) * 2)
    contract = folder / "contract.yaml"
    contract.write_text(CONTRACT.format(strategy=strategy, mode=mode))
    return contract


def processor(contract: Path) -> DataProcessor:
    return DataProcessor(contract, engine="duckdb", environ={**os.environ, **LIMIT})


def ids(contract: Path) -> Counter[int]:
    table = DeltaTable(str(contract.parent / "lake/orders")).to_pyarrow_table()
    return Counter(table["order_id"].to_pylist())


def test_batches_add_up(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    with processor(contract) as running:
        results = list(running.run_all())
        assert [(r.counts.read, r.waiting) for r in results] == [(6, 5), (6, 2), (4, 0)]
        assert [r.status for r in running.run_all()] == ["no_new_data"]
    assert ids(contract) == Counter(range(8))
    assert DeltaTable(str(tmp_path / "lake/orders_quarantine")).to_pyarrow_table().num_rows == 8
    runs = read_runs(str(tmp_path / "lake/_lakelogic"), status="succeeded")
    assert [(run.batch, run.source_files) for run in reversed(runs)] == [(1, 3), (2, 3), (3, 2)]


def test_one_batch_at_a_time(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    with processor(contract) as running:
        result = running.run()
        assert "the 3 oldest of them in this batch, 5 wait" in (result.reason or "")
        assert result.to_dict()["waiting"] == 5
        # The oldest three: later names have earlier times here.
        assert ids(contract) == Counter([5, 6, 7])
        running.run()
    assert ids(contract) == Counter([2, 3, 4, 5, 6, 7])


@pytest.mark.parametrize("point", ["after_prepare", "after_mark_staged", "after_target_commit", "after_run_log"])
def test_a_batch_that_was_killed_is_finished_before_the_next(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = estate(tmp_path)
    with processor(contract) as running:
        running.run()
        with killed_in_process(point, monkeypatch):
            running.run()
        for _ in running.run_all():
            pass
    assert ids(contract) == Counter(range(8))


@pytest.mark.parametrize(("strategy", "mode"), [("overwrite", "incremental"), ("append", "full")])
def test_what_makes_sense_only_as_a_whole_is_not_cut(strategy: str, mode: str, tmp_path: Path) -> None:
    contract = estate(tmp_path, strategy=strategy, mode=mode)
    with processor(contract) as running:
        [result] = running.run_all()
    assert (result.waiting, ids(contract)) == (0, Counter(range(8)))


def test_a_gate_ends_it(tmp_path: Path) -> None:
    contract = estate(tmp_path)
    contract.write_text(contract.read_text().replace("0.9", "0.1"))
    with processor(contract) as running:
        assert [(r.status, r.waiting) for r in running.run_all()] == [("gate_failed", 5)]


def test_the_command_goes_on_until_nothing_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    import sys

    from lakelogic.cli.main import main

    contract = estate(tmp_path)

    def call(*arguments: str) -> Any:
        command = ["lakelogic", "run", str(contract), "--engine", "duckdb", "--output", "json", *arguments]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return json.loads(capsys.readouterr().out)

    assert call("--max-files-per-batch", "2", "--once")["waiting"] == 6
    assert [told["counts"]["accepted"] for told in call("--max-files-per-batch", "4")] == [4, 2]
    assert call()["status"] == "no_new_data"
