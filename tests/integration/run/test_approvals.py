"""Batches behind a closed gate: held, released by the one approval that is meant for them, or discarded."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import ContractError, RunError
from lakelogic.core.events import Event
from lakelogic.core.settings import Settings
from lakelogic.core.window import window_of_days
from lakelogic.record.approval_file import Approval, add_approval, parse_approvals, read_approvals
from lakelogic.record.run_log import read_events, read_rules, read_runs, read_steps
from lakelogic.run.approvals import new_drift
from lakelogic.run.held_batches import discard_held, find_held
from lakelogic.run.maintain import maintain
from lakelogic.run.reset import reset
from lakelogic.run.validate import load_checked

CONTRACT = """\
dataset: orders
info: { target_layer: gold }
source: { path: landing, pattern: "*.csv", load_mode: incremental }
model: { fields: [{ name: id, type: long, required: true }, { name: amount, type: int }] }
quality:
  max_quarantine_ratio: 0.4
  row_rules: [{ name: positive, sql: "amount > 0" }]
materialization: { target_path: lake/orders }
"""
GOOD, BAD = "id,amount\n1,10\n2,20\n", "id,amount\n3,30\n4,-1\n5,-2\n"


class Dataset:
    """One dataset whose gates need approvals."""

    def __init__(self, folder: Path, contract: str = CONTRACT, engine: str = "duckdb", spark: Any = None) -> None:
        self.folder, self.contract, self.file = folder, folder / "contract.yaml", folder / "approvals.yaml"
        self.contract.write_text(contract)
        self._engine, self._spark = engine, spark
        (folder / "landing").mkdir()

    def land(self, name: str, text: str) -> None:
        (self.folder / "landing" / name).write_text(text)

    def run(self, *, required: bool = True, after: timedelta | None = None, **how: Any) -> Any:
        clock = FixedClock(datetime.now(UTC) + after) if after else None
        processor = DataProcessor(
            self.contract, self._engine, self._spark, clock=clock,
            approval_required=required, approval_file=self.file,
        )  # fmt: skip
        with processor:
            return processor.run(**how)

    def approve(self, held: Any, **other: Any) -> None:
        entry = {
            "dataset": held.dataset, "run_id": held.run_id, "digest": held.digest, "approver": "ann",
            "expires": datetime.now(UTC) + timedelta(hours=1), **other,
        }  # fmt: skip
        add_approval(self.file, Approval(**entry))

    def discard(self, held: Any) -> None:
        discard_held(load_checked(self.contract), Settings(), held.run_id, by="bob", reason="cut off")

    @property
    def log(self) -> str:
        return str(self.folder / "lake" / "_lakelogic")

    @property
    def statuses(self) -> list[str]:
        return [run.status for run in reversed(read_runs(self.log, limit=None))]

    def ids(self, name: str = "orders", column: str = "id") -> list[Any]:
        path = str(self.folder / "lake" / name)
        there = DeltaTable.is_deltatable(path)
        return sorted(DeltaTable(path).to_pyarrow_table()[column].to_pylist()) if there else []

    def staged(self) -> list[str]:
        """Data files that no table shows."""
        found = []
        for root in (self.folder / "lake" / "orders", self.folder / "lake" / "orders_quarantine"):
            shown = set(DeltaTable(str(root)).file_uris()) if DeltaTable.is_deltatable(str(root)) else set()
            names = {Path(uri).name for uri in shown}
            found += [str(f.relative_to(root)) for f in root.rglob("batch-*/**/*.parquet") if f.name not in names]
        return found


@pytest.fixture
def orders(tmp_path: Path) -> Dataset:
    """One good batch is published, one is over the threshold and held."""
    dataset = Dataset(tmp_path)
    dataset.land("1.csv", GOOD)
    assert dataset.run().status == "succeeded"
    dataset.land("2.csv", BAD)
    return dataset


def test_a_batch_over_the_threshold_is_held_until_its_own_approval_comes(orders: Dataset) -> None:
    # Without being asked for approvals a gate is a gate.
    assert (orders.run(required=False).status, orders.staged()) == ("gate_failed", [])
    result = orders.run()
    held = result.held
    assert (result.status, result.stopped, held.run_id) == ("held", True, result.run_id)
    assert held.reasons == ("quarantine ratio 66.7% is above 40.0%",)
    assert (result.counts.read, result.counts.accepted, result.counts.quarantined) == (3, 1, 2)
    assert (orders.ids(), orders.ids("orders_quarantine")) == ([1, 2], [])
    run = read_runs(orders.log, status="held")[0]
    assert (run.run_id, run.digest, run.reason) == (held.run_id, held.digest, held.reasons[0])
    assert (run.error_code, run.rows_accepted, run.target_version) == ("LL501", 1, None)

    # New rows do not overtake it, whatever the run asks for.
    orders.land("3.csv", "id,amount\n6,60\n")
    assert orders.run(required=False).held.run_id == held.run_id
    orders.approve(held, run_id="20200101T000000-00000000")
    orders.approve(held, digest="sha256:" + "0" * 64)
    orders.approve(held, approver="bea", expires=datetime.now(UTC) - timedelta(minutes=1))
    orders.approve(held, dataset="customers")
    refused = orders.run()
    assert refused.status == "held" and orders.ids() == [1, 2]
    assert [refusal.split(",")[0].split(" at ")[0] for refusal in refused.held.refusals] == [
        "the approval of ann is for another run", "the approval of ann is for another digest",
        "the approval of bea expired",
    ]  # fmt: skip

    orders.approve(held)
    (orders.folder / "landing" / "2.csv").unlink()  # nothing of it is read again
    released = orders.run(required=False)
    assert (released.status, released.run_id, released.approved_by) == ("succeeded", held.run_id, "ann")
    assert (orders.ids(), orders.ids("orders_quarantine")) == ([1, 2, 3], ["4", "5"])
    run = read_runs(orders.log, run_id=held.run_id, status="succeeded")[0]
    assert (run.approved_by, run.digest, run.rows_quarantined) == ("ann", held.digest, 2)
    assert len(read_steps(orders.log, run_id=held.run_id)) == len(released.ledger)
    names = [rule.name for rule in read_rules(orders.log, run_id=held.run_id)]
    assert names.count("quality.max_quarantine_ratio") == 1
    assert orders.run().status == "succeeded" and orders.ids() == [1, 2, 3, 6]
    assert orders.run().status == "no_new_data"
    assert orders.statuses == ["succeeded", "gate_failed", "held", "succeeded", "succeeded", "no_new_data"]


def test_a_discarded_batch_leaves_no_file_and_its_rows_are_read_again(orders: Dataset) -> None:
    held = orders.run().held
    assert len(orders.staged()) == 2
    orders.discard(held)
    assert (orders.staged(), orders.ids(), orders.statuses[-1]) == ([], [1, 2], "discarded")
    run = read_runs(orders.log, status="discarded")[0]
    assert (run.run_id, run.digest, run.reason) == (held.run_id, held.digest, "discarded by bob: cut off")
    orders.approve(held)  # too late: it is of a run that is over
    again = orders.run().held
    assert again.run_id != held.run_id
    assert "is for another run" in orders.run().held.refusals[0]
    with pytest.raises(RunError, match="not held any more"):
        orders.discard(held)
    orders.discard(again)
    orders.land("2.csv", BAD.replace("-", ""))
    assert orders.run().status == "succeeded" and orders.ids() == [1, 2, 3, 4, 5]


def test_drift_needs_an_approval_once(tmp_path: Path) -> None:
    orders = Dataset(tmp_path)
    orders.land("1.csv", GOOD)
    orders.run()
    orders.land("2.csv", "id,amount,colour\n3,30,red\n")
    result = orders.run()
    assert result.held.reasons[0].startswith("schema drift: The source has columns that the contract does not declare")
    orders.approve(result.held)
    assert orders.run().status == "succeeded"
    orders.land("3.csv", "id,amount,colour\n4,40,red\n")
    assert orders.run().status == "succeeded"  # as the last published one had it
    orders.land("4.csv", "id\n5\n")
    missing = orders.run()
    assert "Column `amount` is not in the source" in missing.held.reason
    assert [event.kind for event in read_events(orders.log, run_id=missing.run_id)] == ["missing_column"]
    orders.discard(missing.held)
    # A column that the contract has and the target has not.
    orders.land("4.csv", "id,amount,colour\n5,50,red\n")
    orders.contract.write_text(CONTRACT.replace("{ name: amount,", "{ name: colour, type: string }, { name: amount,"))
    new = orders.run()
    assert new.held.reasons == (
        "schema drift: Column `colour` is new in the target; rows that are there have NULL in it",
    )
    assert orders.run(required=False).status == "held"


def test_before_the_first_load_columns_that_are_left_out_are_no_drift() -> None:
    left_out, missing = (
        Event("unknown_columns", "more", "info", {"columns": ["a"]}),
        Event("missing_column", "less", "warning"),
    )
    assert new_drift([left_out, missing], None) == ("schema drift: less",)
    assert new_drift([left_out, missing], [missing]) == ("schema drift: more",)
    assert new_drift([left_out, Event("stale_upstream", "old")], [left_out]) == ()


def test_gates_that_say_never_are_not_opened_by_anybody(tmp_path: Path) -> None:
    orders = Dataset(tmp_path, CONTRACT + "quarantine: { fail_on_quarantine: true }\n")
    orders.land("1.csv", BAD)
    assert (orders.run().status, orders.staged()) == ("gate_failed", [])


def test_a_full_load_is_published_as_it_was_approved_and_not_held_again(tmp_path: Path) -> None:
    rules = "dataset_rules: [{ name: many, row_count_between: { min: 5 } }]\n  row_rules"
    text = CONTRACT.replace(", load_mode: incremental", "").replace("row_rules", rules).replace("0.4", "1.0")
    orders = Dataset(
        tmp_path, text.replace("target_path: lake/orders", "strategy: overwrite, target_path: lake/orders")
    )
    orders.land("1.csv", GOOD)
    held = orders.run().held
    assert held.reasons == ("dataset rule `many` failed (value 2)",)
    orders.approve(held)
    assert (orders.run().approved_by, orders.ids(), orders.statuses) == ("ann", [1, 2], ["held", "succeeded"])
    assert orders.run().held.run_id != held.run_id


def test_a_run_for_another_window_publishes_what_is_approved_and_then_does_its_own(tmp_path: Path) -> None:
    text = CONTRACT.replace("{ name: amount,", "{ name: day, type: date }, { name: amount,")
    text = text.replace(", load_mode: incremental", "")
    how = "strategy: overwrite, reprocess: { date_column: day }, target_path: lake/orders"
    orders = Dataset(tmp_path, text.replace("target_path: lake/orders", how))
    orders.land("1.csv", "id,day,amount\n1,2026-03-01,-1\n2,2026-03-01,20\n3,2026-03-02,30\n")
    first, second = window_of_days(date(2026, 3, 1)), window_of_days(date(2026, 3, 2))
    held = orders.run(window=first).held
    assert orders.run(window=second).held.run_id == held.run_id and orders.ids() == []
    orders.approve(held)
    result = orders.run(window=second)
    assert (result.status, result.approved_by, orders.ids()) == ("succeeded", None, [2, 3])
    assert orders.statuses == ["held", "succeeded", "succeeded"]


def test_upkeep_leaves_a_held_batch_alone_and_a_reset_discards_it(orders: Dataset) -> None:
    held = orders.run().held
    old = (datetime.now(UTC) - timedelta(days=30)).timestamp()
    for file in orders.staged():
        for name in ("orders", "orders_quarantine"):
            path = orders.folder / "lake" / name / file
            if path.exists():
                os.utime(path, (old, old))
    contract = load_checked(orders.contract)
    steps = maintain(contract, Settings(), clock=FixedClock(datetime.now(UTC) + timedelta(days=20)))
    assert {step.action for step in steps if step.table == "target"} >= {"vacuum", "orphans"}
    assert len(orders.staged()) == 2
    with pytest.raises(RunError, match="held for an approval"):
        reset(contract, Settings(), only=("target",))
    orders.approve(held)
    assert orders.run().status == "succeeded" and orders.ids() == [1, 2, 3]

    orders.land("3.csv", BAD)
    again = orders.run().held
    reset(contract, Settings())
    assert (orders.ids(), find_held([contract], Settings())) == ([], ())
    assert not any(file.startswith("batch-00000003") for file in orders.staged())
    run = read_runs(orders.log, status="discarded")[0]
    assert (run.run_id, run.reason) == (again.run_id, "discarded by lakelogic reset")


def test_the_file_may_be_written_by_hand_and_mistakes_in_it_have_a_place(tmp_path: Path) -> None:
    entry = {"dataset": "a", "run_id": "r", "digest": "d", "approver": "x", "expires": "2026-02-07"}
    for text in (json.dumps(entry), json.dumps([entry]), json.dumps({"approvals": [entry]})):
        (approval,) = parse_approvals(text, "f")
        assert (approval.approver, approval.expires) == ("x", datetime(2026, 2, 8, tzinfo=UTC))
    assert parse_approvals("", "f") == parse_approvals("approvals:\n", "f") == read_approvals(tmp_path / "none") == ()
    with pytest.raises(ContractError) as error:
        parse_approvals("approvals:\n  - { dataset: a, run: r, approver: <who>, digest: d, expires: soon }\n", "f.yaml")
    assert [str(problem).splitlines()[0] for problem in error.value.problems] == [
        "f.yaml:2:19: LL502 an approval has no key `run`",
        "f.yaml:2:5: LL502 an approval must say its `run_id`",
        "f.yaml:2:37: LL502 an approval must say its `approver`",
    ]

    file = tmp_path / "approvals" / "2026-02-06.ok"
    first = Approval("a", "r", "d", "x", datetime(2026, 2, 7, tzinfo=UTC), "looked at: fine")
    add_approval(file, first)
    file.write_text("# of February\n" + file.read_text())
    add_approval(file, Approval("b", "r", "d", "x", first.expires))
    assert [each.dataset for each in read_approvals(file)] == ["a", "b"] and "# of February" in file.read_text()
    file.write_text(json.dumps([entry]))
    add_approval(file, first)
    assert [each.note for each in read_approvals(file)] == [None, "looked at: fine"]
