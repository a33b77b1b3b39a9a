"""Change events: the order of positions, what is refused, and what a plan stages beside the rows."""

from __future__ import annotations

import random

import duckdb
import pytest
from tests.unit.plan.conftest import MakePlan

from lakelogic.core.errors import ContractError, PlanError
from lakelogic.plan.expressions import column, text
from lakelogic.plan.model import DELETE_COLUMN, EVENT_TIME_COLUMN, POSITION_COLUMN, UNCHANGED_COLUMN
from lakelogic.plan.positions import join_position, sortable
from lakelogic.plan.writes import WriteCdc

_CONTRACT = """
source: {{ path: events.jsonl, {source} }}
model:
  fields:
    - {{ name: id, type: int }}
    - {{ name: v, type: string }}
materialization: {{ target_path: out, strategy: {strategy}, primary_key: [id] {more} }}
{beside}
"""
_PARTS = ("op", "before", "after", "source", "ts_ms")


def contract(source: str = "load_mode: cdc", strategy: str = "cdc", more: str = "", beside: str = "") -> str:
    return _CONTRACT.format(source=source, strategy=strategy, more=f", {more}" if more else "", beside=beside)


def ordered(values: list[str | None]) -> list[str | None]:
    """The values as their sortable texts order them, bytewise."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE given (v VARCHAR)")
        connection.executemany("INSERT INTO given VALUES (?)", [[value] for value in values])
        key = sortable(column("v")).sql("duckdb")
        return [row[0] for row in connection.execute(f"SELECT v FROM given ORDER BY encode({key})").fetchall()]


def test_positions_sort_like_numbers_and_absent_ones_are_oldest() -> None:
    chance = random.Random(3)
    numbers = {chance.randint(-(10**n), 10**n) for n in range(25) for _ in range(6)} | {0}
    wanted = [None, *[str(n) for n in sorted(numbers)]]
    assert ordered(chance.sample(wanted, len(wanted))) == wanted
    assert ordered(["2.5", "-2.5", "10", "2.25", "-3", "2"]) == ["-3", "-2.5", "2", "2.25", "2.5", "10"]
    assert ordered(["00000027:00000ac0:0010", "00000027:00000ac0:0002"])[0] == "00000027:00000ac0:0002"


def test_a_part_of_less_weight_never_wins_over_one_of_more() -> None:
    with duckdb.connect() as connection:
        made = join_position([column("a"), column("b")], text("0"), text("row")).sql("duckdb")
        rows = "(VALUES ('a', 'z'), ('a b', 'a'), ('a', NULL), ('9', 'z'), ('10', 'a')) t(a, b)"
        found = connection.execute(f"SELECT a, b FROM {rows} ORDER BY encode({made})").fetchall()
    assert found == [("9", "z"), ("10", "a"), ("a", None), ("a", "z"), ("a b", "a")]


def test_a_plan_stages_what_is_to_happen_beside_the_rows(plan: MakePlan) -> None:
    made = plan(contract(), *_PARTS)
    assert made.write == WriteCdc(("id",), "is_deleted")
    staged = [c.name for c in made.stages[-1].output]
    assert {DELETE_COLUMN, EVENT_TIME_COLUMN, UNCHANGED_COLUMN} <= set(staged)
    shown = [c.name for c in made.output]
    assert shown[:2] == ["id", "v"] and POSITION_COLUMN in shown and "is_deleted" in shown
    assert not {DELETE_COLUMN, EVENT_TIME_COLUMN, UNCHANGED_COLUMN} & set(shown)
    hard = plan(contract("load_mode: cdc, cdc: { deletes: hard }"), *_PARTS)
    assert hard.write == WriteCdc(("id",))
    assert "is_deleted" not in [c.name for c in hard.output]


def test_ignored_deletes_are_a_step_of_the_ledger(plan: MakePlan) -> None:
    made = plan(contract("load_mode: cdc, cdc: { deletes: ignore }"), *_PARTS)
    assert [s.label for s in made.stages[0].segments if s.counted] == ["ignore deletes"]


def test_personal_data_inside_of_envelopes_stays_out_of_sight(plan: MakePlan) -> None:
    pii = contract().replace("name: v, type: string", "name: v, type: string, pii: true")
    assert plan(pii, *_PARTS, has_key=True).personal == ("before", "after")
    assert plan(contract(), *_PARTS, has_key=True).personal == ()


@pytest.mark.parametrize(
    ("text_", "code"),
    [
        (contract("load_mode: full"), "LL152"),
        (contract(strategy="append"), "LL166"),
        (contract("load_mode: cdc, cdc: { format: flat }"), "LL152"),
        (contract("load_mode: cdc, cdc: { order_by: [ts_ms desc] }"), "LL166"),
        (contract("load_mode: cdc, format: csv"), "LL166"),
        (contract(more="merge: { order_by: [v] }"), "LL166"),
        (contract(more="soft_delete: { column: v }"), "LL166"),
        (contract("load_mode: cdc, cdc: { deletes: hard }", more="soft_delete: { column: gone }"), "LL166"),
        (contract("load_mode: incremental", "append", "soft_delete: { column: gone }"), "LL166"),
        (contract(beside="schema_policy: { unknown_fields: fail }"), "LL166"),
        (contract(beside="transformations: [{ deduplicate: [id] }]"), "LL166"),
    ],
)
def test_what_does_not_fit_change_events_is_refused(plan: MakePlan, text_: str, code: str) -> None:
    with pytest.raises(ContractError) as caught:
        plan(text_, *_PARTS)
    assert code in [problem.code for problem in caught.value.problems]


def test_a_source_without_envelopes_or_operations_is_told(plan: MakePlan) -> None:
    with pytest.raises(PlanError, match="no Debezium envelopes"):
        plan(contract(), "id", "v")
    flat = contract("load_mode: cdc, cdc: { format: flat, operation_field: change, order_by: [seq] }")
    with pytest.raises(PlanError, match="`seq` is not in the source"):
        plan(flat, "id", "v", "change")
