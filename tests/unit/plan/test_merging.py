"""What a merge asks of the plan, and the text of its statement."""

from __future__ import annotations

import pytest
from tests.unit.plan.conftest import MakePlan

from lakelogic.core.errors import ContractError
from lakelogic.plan.model import DELETE_COLUMN
from lakelogic.plan.writes import WriteMerge, visible_keys
from lakelogic.table.merge_sql import is_newer, render_merge, updated_columns

_CONTRACT = """
source: {{ path: input.csv }}
model:
  fields:
    - {{ name: id, type: int }}
    - {{ name: v, type: string }}
    - {{ name: tags, type: "array<string>" }}
materialization: {{ target_path: out, strategy: merge, primary_key: [id], merge: {{ {merge} }} }}
"""


@pytest.mark.parametrize(
    ("merge", "code"),
    [
        ("update_columns: []", "LL114"),
        ("update_columns: [w]", "LL220"),
        ("update_columns: [id]", "LL245"),
        ("order_by: [tags]", "LL222"),
        ("order_by: [vv]", "LL220"),
        ("delete_when: 'vv = 1'", "LL220"),
        ("delete_when: 'v'", "LL223"),
        ("on_duplicate_key: latest", "LL152"),
        ("insert_only: true, update_columns: [v]", "LL165"),
        ("insert_only: true, delete_when: 'v = 1'", "LL165"),
    ],
)
def test_merge_options_that_cannot_work_are_refused(plan: MakePlan, merge: str, code: str) -> None:
    with pytest.raises(ContractError) as caught:
        plan(_CONTRACT.format(merge=merge), "id", "v", "tags")
    assert [problem.code for problem in caught.value.problems] == [code]


def test_rows_to_delete_are_told_by_a_helper_column_that_the_table_does_not_have(plan: MakePlan) -> None:
    made = plan(_CONTRACT.format(merge="delete_when: \"v = 'gone'\", order_by: [v]"), "id", "v", "tags")
    assert made.write == WriteMerge(("id",), ("v",), "latest", deletes=True)
    assert DELETE_COLUMN in [c.name for c in made.stages[-1].output]
    assert DELETE_COLUMN not in [c.name for c in made.output]


def test_order_is_compared_column_by_column_and_null_is_oldest() -> None:
    assert is_newer(()) is None
    assert is_newer(["a", "b asc"]) == (
        "(s.`a` > t.`a` OR (s.`a` IS NOT NULL AND t.`a` IS NULL) OR (s.`a` <=> t.`a` AND "
        "(s.`b` < t.`b` OR (s.`b` IS NOT NULL AND t.`b` IS NULL) OR (s.`b` <=> t.`b` AND TRUE))))"
    )


def test_an_update_of_some_columns_still_says_when_and_by_whom() -> None:
    write = WriteMerge(("id",), ("at",), "latest", update_columns=("v",))
    columns = ["id", "v", "w", "at", "_lakelogic_run_id"]
    assert updated_columns(write, columns) == ["v", "at", "_lakelogic_run_id"]
    assert updated_columns(WriteMerge(("id",)), columns) == columns[1:]


def test_insert_only_has_no_clause_for_rows_that_are_there() -> None:
    statement = render_merge("/t", "s", WriteMerge(("id",), insert_only=True), ["id", "v"], predicate="t.`id` = 1L")
    assert "WHEN MATCHED" not in statement
    assert "ON t.`id` = s.`id` AND t.`id` = 1L WHEN NOT MATCHED THEN INSERT" in statement


@pytest.mark.parametrize(
    ("field", "visible"),
    [("pii: true", ("id",)), ("pii: true, masking: hash", ("mail", "id")), ("required: true", ("mail", "id"))],
)
def test_personal_keys_stay_out_of_the_condition_that_delta_keeps(
    plan: MakePlan, field: str, visible: tuple[str, ...]
) -> None:
    made = plan(
        f"""
source: {{ path: input.csv }}
model:
  fields:
    - {{ name: mail, type: string, {field} }}
    - {{ name: id, type: int }}
materialization: {{ target_path: out, strategy: merge, primary_key: [mail, id] }}
""",
        "mail",
        "id",
    )
    assert isinstance(made.write, WriteMerge)
    assert visible_keys(made.write) == visible
