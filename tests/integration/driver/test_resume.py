"""`--resume`: what had ended well in the last pipeline run is not run again, whatever ended that run."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.integration.driver.estates import land, write_estate

from lakelogic.cli.resuming import continue_run
from lakelogic.core import faults
from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import ContractError, RunError
from lakelogic.core.settings import Settings
from lakelogic.driver.estate import read_estate
from lakelogic.driver.load_many import Wanted
from lakelogic.driver.outcome import PipelineResult
from lakelogic.driver.pipeline import Order, prepare, run_pipeline
from lakelogic.driver.select import Selection
from lakelogic.driver.worker import Request
from lakelogic.record.run_log import read_runs
from lakelogic.run.windows import Span

SETTINGS = Settings(engine="duckdb")
REQUEST, EVERYTHING = Request(SETTINGS), Selection()
ORDER = Order(max_workers=4, continue_on_error=True)


def run(
    registry: Path,
    *,
    resume: bool = False,
    state: str | None = None,
    request: Request = REQUEST,
    chosen: Selection = EVERYTHING,
    session: Any = None,
) -> PipelineResult:
    estate = read_estate([registry], settings=request.settings)
    prepared = prepare(estate, chosen, request, ORDER, Wanted())
    files = (registry,)
    going_on = continue_run(prepared, request, chosen, Wanted(), files=files, state_path=state, resume=resume)
    return run_pipeline(prepared, request, ORDER, watchers=going_on.watchers, resumed=going_on.resumed, session=session)


def attempts(folder: Path, run_id: str | None = None) -> Counter[tuple[str, str]]:
    """How often each dataset ended in each way."""
    runs = read_runs(str(folder / "lake" / "_lakelogic"), pipeline_run_id=run_id, limit=None)
    return Counter((record.dataset, record.status) for record in runs)


def break_bronze(folder: Path, entity: str) -> None:
    (folder / "landing" / entity).rename(folder / "landing" / f"gone_{entity}")


def mend_bronze(folder: Path, entity: str) -> None:
    (folder / "landing" / f"gone_{entity}").rename(folder / "landing" / entity)


def test_only_what_had_not_ended_well_runs_again_under_the_same_id(tmp_path: Path) -> None:
    registry, state = write_estate(tmp_path, 2), str(tmp_path / "state" / "driver.json")
    break_bronze(tmp_path, "e001")
    first = run(registry, state=state, resume=True)  # there is nothing to resume yet: all of it runs
    kept = json.loads(Path(state).read_text())
    assert (first.exit_code, kept["status"], kept["run_id"]) == (4, "failed", first.run_id)
    assert {name: each["status"] for name, each in kept["contracts"].items() if name.endswith("e001")} == {
        "bronze_e001": "failed", "silver_e001": "skipped", "gold_e001": "skipped",
    }  # fmt: skip
    mend_bronze(tmp_path, "e001")
    land(tmp_path, "e000", "later.csv", [(9, "DE", 9)])  # for the next run, not for the rest of this one
    second = run(registry, state=state, resume=True)
    assert (second.exit_code, second.run_id) == (0, first.run_id)
    counts = attempts(tmp_path, first.run_id)
    left = ("bronze_e001", "silver_e001", "gold_e001")
    assert {name for name, status in counts if status == "succeeded"} == set(second.outcomes)
    assert {number for (_, status), number in counts.items() if status == "succeeded"} == {1}
    assert {name for name, status in counts if status != "succeeded"} == set(left)
    assert {o.dataset for o in second.outcomes.values() if o.results} == set(left)
    # All is done now: the same command begins a run of its own, which finds what came later.
    third = run(registry, state=state, resume=True)
    assert third.run_id != first.run_id
    assert third.outcomes["bronze_e000"].counts.read == 1
    assert {row["id"] for row in DeltaTable(str(tmp_path / "lake" / "gold_e000")).to_pyarrow_table().to_pylist()} == {
        1, 2, 9,
    }  # fmt: skip


def test_a_state_that_was_not_written_to_the_end_is_made_good_by_the_run_log(tmp_path: Path) -> None:
    registry = write_estate(tmp_path, 1)
    first = run(registry)
    (path,) = (tmp_path / "lake" / "_lakelogic" / "pipelines").glob("*.json")
    node = json.loads(path.read_text())
    node["status"] = "running"
    for each in node["contracts"].values():
        each["status"] = "waiting"
    path.write_text(json.dumps(node))  # as SIGKILL left it, just after it was begun
    second = run(registry, resume=True)
    assert second.run_id == first.run_id and not any(outcome.results for outcome in second.outcomes.values())
    assert set(attempts(tmp_path).values()) == {1}


def test_another_request_is_refused_and_told(tmp_path: Path) -> None:
    registry, state = write_estate(tmp_path, 1), str(tmp_path / "driver.json")
    break_bronze(tmp_path, "e000")
    first = run(registry, state=state)
    with pytest.raises(ContractError) as refused:
        run(registry, state=state, resume=True, chosen=Selection(layers=("bronze",)))
    assert refused.value.problem.code == "LL184"
    assert f"run {first.run_id} cannot" in refused.value.problem.message
    assert refused.value.problem.message.endswith("--layers was not given and is `bronze`")
    Path(state).write_text("{")
    with pytest.raises(RunError, match="cannot be read") as unreadable:
        run(registry, state=state, resume=True)
    assert unreadable.value.problem.code == "LL185"
    with pytest.raises(RunError, match="cannot be written"):
        run(registry, state=str(tmp_path / "contracts" / "_registry.yaml" / "state.json"))


WINDOWED = """\
dataset: days
source: { path: ../landing/days.csv }
model: { fields: [{ name: id, type: long }, { name: day, type: date }] }
materialization: { strategy: overwrite, target_path: ../lake/days, reprocess: { date_column: day } }
"""


def windowed(folder: Path) -> Path:
    (folder / "contracts").mkdir()
    (folder / "contracts" / "days.yaml").write_text(WINDOWED)
    (folder / "landing").mkdir()
    (folder / "landing" / "days.csv").write_text("id,day\n" + "".join(f"{n},2026-03-0{n}\n" for n in range(1, 6)))
    return folder / "contracts"


def test_slices_of_a_backfill_that_are_done_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contracts = windowed(tmp_path)
    span = Span(datetime(2026, 3, 1).date(), datetime(2026, 3, 5).date())
    request: Any = Request(SETTINGS, window="range", span=span, backfill="day")
    faults._reached.clear()
    with monkeypatch.context() as broken:
        broken.setenv("LAKELOGIC_FAULT", "after_stage:3")
        broken.setenv("LAKELOGIC_FAULT_MODE", "raise")
        first = run(contracts, request=request)
    assert (first.exit_code, len(first.outcomes["days"].results)) == (4, 2)
    second = run(contracts, request=request, resume=True)
    assert (second.exit_code, len(second.outcomes["days"].results)) == (0, 3)
    done = [r for r in read_runs(str(tmp_path / "lake" / "_lakelogic"), limit=None) if r.status == "succeeded"]
    assert Counter(r.window_start.day for r in done if r.window_start) == Counter(range(1, 6))
    assert {r.pipeline_run_id for r in done} == {first.run_id}
    assert sorted(DeltaTable(str(tmp_path / "lake" / "days")).to_pyarrow_table()["id"].to_pylist()) == [1, 2, 3, 4, 5]


def test_yesterday_is_that_of_the_run_which_is_resumed(tmp_path: Path) -> None:
    contracts = windowed(tmp_path)

    def at(day: int) -> Any:
        return Request(SETTINGS, window="yesterday", clock=FixedClock(datetime(2026, 3, day, 12, tzinfo=UTC)))

    (tmp_path / "landing" / "days.csv").rename(tmp_path / "gone.csv")
    assert run(contracts, request=at(3)).exit_code == 4
    (tmp_path / "gone.csv").rename(tmp_path / "landing" / "days.csv")
    assert run(contracts, request=at(5), resume=True).exit_code == 0
    assert DeltaTable(str(tmp_path / "lake" / "days")).to_pyarrow_table()["id"].to_pylist() == [2]
