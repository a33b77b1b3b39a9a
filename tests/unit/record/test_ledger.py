"""The ledger balances, or names the step that does not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from lakelogic.core.errors import RunError
from lakelogic.plan.files import Staged, StagedFile
from lakelogic.plan.model import Effect, Segment, Stage
from lakelogic.record.ledger import Ledger, LedgerStep, build_ledger
from lakelogic.record.manifest_json import decode_files, decode_ledger, encode_files, encode_ledger


def segment(name: str, effect: Effect) -> Segment:
    return Segment(name, exp.select("*").from_("source"), (), label=name, effect=effect, counted=True)


def staged(counts: dict[str, int], accepted: int, rejected: int) -> Staged:
    return Staged((StagedFile("a", 1, accepted),), (StagedFile("r", 1, rejected),), counts, {})


def stage(*segments: Segment, input: str = "source") -> Stage:
    return Stage(input, segments, ())


def test_a_run_without_counted_steps_reads_then_splits() -> None:
    ledger = build_ledger([(stage(), staged({"source": 4}, 2, 2))], quarantined=2, skipped=1)
    ledger.balance()
    assert [(s.step, s.rows_in, s.rows_out, s.removed, s.quarantined) for s in ledger.steps] == [
        ("read", 5, 4, 1, 0),
        ("split", 4, 2, 0, 2),
    ]
    assert (ledger.read, ledger.accepted, ledger.quarantined, ledger.removed) == (4, 2, 2, 0)


def test_steps_that_remove_and_add_stand_in_order() -> None:
    steps = stage(segment("filtered", "removes"), segment("exploded", "adds"))
    ledger = build_ledger([(steps, staged({"source": 10, "filtered": 7, "exploded": 12}, 11, 1))], quarantined=1)
    ledger.balance()
    assert (ledger.removed, ledger.added) == (3, 5)
    assert ledger.read == ledger.accepted + ledger.quarantined + ledger.removed - ledger.added


def test_two_stages_are_one_chain() -> None:
    first = (stage(), staged({"source": 10}, 8, 2))
    second = (
        stage(segment("rollup", "removes"), input="accepted"),
        staged({"accepted": 8, "rollup": 3}, 3, 0),
    )
    ledger = build_ledger([first, second], quarantined=2)
    ledger.balance()
    assert [step.step for step in ledger.steps] == ["read", "split 1", "rollup", "split 2"]


@pytest.mark.parametrize(
    ("counts", "accepted", "rejected", "quarantined", "step"),
    [
        ({"source": 10, "filtered": 7}, 5, 1, 1, "split"),  # a row lost while the files were written
        ({"source": 10, "filtered": 11}, 10, 1, 1, "filtered"),  # a filter that adds rows
        ({"source": 10, "filtered": 7}, 6, 1, 0, "quarantine"),  # a rejected row that no quarantine file has
    ],
)
def test_an_unbalanced_ledger_names_its_step(
    counts: dict[str, int], accepted: int, rejected: int, quarantined: int, step: str
) -> None:
    ledger = build_ledger(
        [(stage(segment("filtered", "removes")), staged(counts, accepted, rejected))], quarantined=quarantined
    )
    with pytest.raises(RunError, match=f"`{step}`") as caught:
        ledger.balance()
    assert caught.value.problem.code == "LL420"


def test_rows_lost_between_two_stages_are_found() -> None:
    first = (stage(), staged({"source": 10}, 8, 2))
    second = (stage(input="accepted"), staged({"accepted": 7}, 7, 0))
    with pytest.raises(RunError, match="`split 2`: 8 rows came out of the step before, 7 went in"):
        build_ledger([first, second], quarantined=2).balance()


@given(
    st.lists(st.tuples(st.sampled_from(["same", "removes", "adds", "changes"]), st.integers(0, 50)), max_size=6),
    st.integers(0, 100),
    st.data(),
)
def test_law_read_is_accepted_and_quarantined_and_removed_less_added(
    moves: list[tuple[Effect, int]], read: int, data: st.DataObject
) -> None:
    counts, segments, rows = {"source": read}, [], read
    for number, (effect, amount) in enumerate(moves):
        down = min(amount, rows) if effect in ("removes", "changes") else 0
        up = amount if effect == "adds" else 0
        rows = rows - down + up
        counts[f"s{number}"] = rows
        segments.append(segment(f"s{number}", effect))
    rejected = data.draw(st.integers(0, rows))
    ledger = build_ledger([(stage(*segments), staged(counts, rows - rejected, rejected))], quarantined=rejected)
    ledger.balance()
    assert ledger.read == ledger.accepted + ledger.quarantined + ledger.removed - ledger.added


@given(st.integers(0, 2), st.integers(-3, 3).filter(bool))
def test_law_any_single_wrong_number_is_found(which: int, by: int) -> None:
    steps = [LedgerStep("read", 10, 10), LedgerStep("filter", 10, 7, removed=3, effect="removes")]
    numbers = [7 if which else 7 + by, 5 + (by if which == 1 else 0), 2 + (by if which == 2 else 0)]
    split = LedgerStep("split", numbers[0], numbers[1], quarantined=2)
    with pytest.raises(RunError):
        Ledger((*steps, split), read=10, accepted=5, quarantined=numbers[2]).balance()


def test_files_and_ledger_survive_the_manifest() -> None:
    files = (
        StagedFile("f/p=a%20b/x.parquet", 10, 2, {"p": "a b"}),
        StagedFile("f/y.parquet", 1, 0, {"p": None}),
    )
    ledger = build_ledger([(stage(), staged({"source": 4}, 2, 2))], quarantined=2)
    text = json.dumps({"files": encode_files(files), "ledger": encode_ledger(ledger)})
    assert decode_files(json.loads(text)["files"]) == files
    assert decode_ledger(json.loads(text)["ledger"]) == ledger
