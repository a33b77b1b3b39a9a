"""Plans as a whole: where casts stand, how many stages there are, what a fingerprint says."""

from __future__ import annotations

import pytest
from tests.unit.plan.conftest import MakePlan

from lakelogic.core.errors import ContractError
from lakelogic.plan.model import Plan
from lakelogic.plan.writes import WriteAppend, WriteMerge, WriteOverwrite

_MODEL = """
model:
  fields:
    - { name: id, type: int }
    - { name: amount, type: double }
materialization: { target_path: out/orders }
"""


def labels(made: Plan) -> list[str]:
    return [segment.label for stage in made.stages for segment in stage.segments]


def checks(made: Plan) -> list[str]:
    return [check.name for stage in made.stages for check in stage.checks]


def test_a_declared_column_is_cast_before_the_first_step(plan: MakePlan) -> None:
    made = plan(_MODEL + "transformations: [ { deduplicate: [id] } ]\n", "id", "amount")
    order = labels(made)
    assert order.index("read and cast to the declared types") < order.index("deduplicate by id")
    assert not [label for label in order if label.startswith("cast ")]
    assert set(checks(made)) == {"malformed", "id is an int", "amount is a double"}


def test_a_column_that_steps_rewrite_is_cast_after_the_last_of_them(plan: MakePlan) -> None:
    steps = """
transformations:
  - sql: "REPLACE(amount, '$', '') AS amount"
  - filter: "id > 0"
  - trim: [amount]
  - filter: "amount > 1"
"""
    made = plan(_MODEL + steps, "id", "amount")
    order = labels(made)
    assert order.index("trim amount") + 1 == order.index("cast amount") < order.index("filter amount > 1")
    assert "`amount` is cast after the step that rewrites it" in made.notes


def test_steps_that_need_all_rows_begin_a_stage(plan: MakePlan) -> None:
    rollup = 'transformations: [ { rollup: { group_by: [id], aggregations: { total: "SUM(amount)" } } } ]\n'
    assert len(plan(_MODEL, "id", "amount").stages) == 1
    made = plan(_MODEL + rollup, "id", "amount")
    assert [stage.input for stage in made.stages] == ["source", "accepted"]


def test_all_stages_write_the_same_quarantine_columns(plan: MakePlan) -> None:
    rollup = 'transformations: [ { rollup: { group_by: [id], aggregations: { total: "SUM(amount)" } } } ]\n'
    first, second = plan(_MODEL + rollup, "id", "amount").stages
    assert [c.name for c in first.quarantine_columns] == [c.name for c in second.quarantine_columns]
    assert first.quarantine is not None and second.quarantine is not None
    assert first.quarantine.named_selects == second.quarantine.named_selects


def test_dataset_rules_about_masked_columns_see_them_in_clear(plan: MakePlan) -> None:
    model = _MODEL.replace("type: int }", "type: int, unique: true, masking: hash }")
    made = plan(model, "id", "amount")
    assert (len(made.stages), made.judged_stage) == (2, 0)


def test_the_same_contract_has_the_same_fingerprint(plan: MakePlan) -> None:
    assert plan(_MODEL, "id", "amount").fingerprint == plan(_MODEL, "id", "amount").fingerprint


@pytest.mark.parametrize(
    "change",
    [
        'quality: { row_rules: [ { sql: "amount > 0" } ] }\n',
        "transformations: [ { deduplicate: [id] } ]\n",
        "quality: { dataset_rules: [ { unique: [id] } ] }\n",
    ],
)
def test_another_rule_or_step_has_another_fingerprint(plan: MakePlan, change: str) -> None:
    assert plan(_MODEL, "id", "amount").fingerprint != plan(_MODEL + change, "id", "amount").fingerprint


def test_another_severity_has_another_fingerprint(plan: MakePlan) -> None:
    rule = 'quality: {{ row_rules: [ {{ sql: "amount > 0", severity: {} }} ] }}\n'
    one, other = (plan(_MODEL + rule.format(word), "id", "amount") for word in ("error", "warning"))
    assert one.fingerprint != other.fingerprint


def test_how_rows_are_written(plan: MakePlan) -> None:
    assert plan(_MODEL, "id", "amount").write == WriteAppend()
    overwrite = _MODEL.replace("target_path: out/orders", "target_path: out/orders, strategy: overwrite")
    assert plan(overwrite, "id", "amount").write == WriteOverwrite()
    merge = _MODEL.replace("target_path: out/orders", "target_path: o, strategy: merge, primary_key: [id]")
    assert plan(merge, "id", "amount").write == WriteMerge(("id",), (), "fail")
    assert "id is required" in checks(plan(merge, "id", "amount"))


def test_every_mistake_is_told_at_once(plan: MakePlan) -> None:
    wrong = ("amuont > 0", "id LIKE '1%'", "rand() > 0")
    rules = "quality:\n  row_rules:\n" + "".join(f'    - sql: "{sql}"\n' for sql in wrong)
    with pytest.raises(ContractError) as caught:
        plan(_MODEL + rules, "id", "amount")
    assert [problem.code for problem in caught.value.problems] == ["LL220", "LL222", "LL205"]
    assert all(problem.place is not None for problem in caught.value.problems)


def test_not_null_is_promised_only_where_it_is_enforced(plan: MakePlan) -> None:
    model = _MODEL.replace("type: int }", "type: int, required: true }")
    assert not plan(model, "id", "amount").output[0].nullable
    assert plan(model + "quality: { enforce_required: false }\n", "id", "amount").output[0].nullable


def test_derived_columns_stand_side_by_side_until_one_needs_another(plan: MakePlan) -> None:
    made = plan(
        """
        transformations:
          - derive: { a: "id + 1", b: "id + 2", c: "a * 2", d: "id + 3", "x y": "id", e: "`x y` + y", f: "id" }
        """,
        id="int",
        y="int",
    )
    assert [label for label in labels(made) if label.startswith("derive")] == [
        "derive a = id + 1, b = id + 2",
        "derive c = a * 2, d = id + 3, x y = id",
        "derive e = `x y` + y, f = id",
    ]
