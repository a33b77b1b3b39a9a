"""What a contract with strategy `scd2` becomes, and which mistakes in it are found before any row moves."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from tests.unit.plan.conftest import Load, MakePlan

from lakelogic.core.errors import ContractError
from lakelogic.plan.build import check_contract
from lakelogic.plan.history import staged_columns
from lakelogic.plan.writes import WriteScd2

CONTRACT = """
source: {{ path: a.csv, format: csv }}
model:
  fields:
    - {{ name: id, type: long }}
    - {{ name: tier, type: string }}
    - {{ name: mail, type: string, pii: true{masking} }}
    - {{ name: score, type: int, required: true }}
    - {{ name: at, type: timestamp }}
materialization:
  strategy: scd2
  target_path: out
  primary_key: [id]
  {more}
  scd2: {{ {scd2} }}
"""
SOURCE = ("id", "tier", "mail", "score", "at")


def text(scd2: str = "timestamp_field: at", more: str = "", masking: str = "") -> str:
    return CONTRACT.format(scd2=scd2, more=more, masking=masking)


def problems_of(contract: Load, source: str) -> list[tuple[str, str]]:
    try:
        return [(problem.code, problem.message) for problem in check_contract(contract(source))]
    except ContractError as error:
        return [(problem.code, problem.message) for problem in error.problems]


def test_all_columns_but_keys_and_timestamp_are_tracked_unless_some_are_named(plan: MakePlan) -> None:
    write = plan(text(), *SOURCE).write
    assert isinstance(write, WriteScd2)
    assert (write.tracked, write.untracked, write.personal) == (("tier", "mail", "score"), (), ("mail",))
    named = plan(text("timestamp_field: at, track_columns: [tier]"), *SOURCE).write
    assert isinstance(named, WriteScd2)
    assert (named.tracked, named.untracked) == (("tier",), ("mail", "score"))


def test_the_table_has_the_columns_of_the_history_and_no_helper(plan: MakePlan) -> None:
    more = "merge: { delete_when: \"tier = 'gone'\" }"
    made = plan(text("timestamp_field: at, surrogate_key: sk", more), *SOURCE)
    names = [column.name for column in made.output]
    assert names[:10] == ["sk", "id", "tier", "mail", "score", "at", "valid_from", "valid_to", "is_current", "version"]
    assert all(name.startswith("_lakelogic_") for name in names[10:])
    assert "_lakelogic_delete" not in names
    assert "_lakelogic_delete" in [column.name for column in made.stages[-1].output]
    assert made.write is not None and asdict(made.write)["deletes"] is True
    kept = [column.name for column in staged_columns(made.write, made.output)]
    assert kept == [name for name in names if name not in ("sk", "valid_from", "valid_to", "is_current", "version")]


def test_rows_without_key_or_time_are_rejected(plan: MakePlan) -> None:
    checks = [check.name for stage in plan(text(), *SOURCE).stages for check in stage.checks]
    assert {"id is required", "at is required", "at < 9999-12-31"} <= set(checks)


@pytest.mark.parametrize(
    ("scd2", "more", "masking", "code", "words"),
    [
        ("track_columns: [tier]", "", "", "LL152", "needs a timestamp"),
        ("timestamp_field: when", "", "", "LL220", "no column `when`"),
        ("timestamp_field: tier", "", "", "LL240", "no date or timestamp"),
        ("timestamp_field: at, track_columns: [teir]", "", "", "LL220", "no column `teir`"),
        ("timestamp_field: at", "", ", masking: encrypt", "LL241", "encrypted at random"),
        ("timestamp_field: at, effective_to_default: never", "", "", "LL242", "`never` is no date"),
        ("timestamp_field: at, version_column: Tier", "", "", "LL231", "`Tier` is also a column of the rows"),
        ("timestamp_field: at, version_column: valid_to", "", "", "LL231", "is also `effective_to_field`"),
        ("timestamp_field: at", "merge: { order_by: [at] }", "", "LL165", "no use for `merge.order_by`"),
        ("timestamp_field: at", "unknown_member: { tier: x, score: 0 }", "", "LL243", "no value for `id`"),
        ("timestamp_field: at", "unknown_member: { id: -1 }", "", "LL243", "no value for `score`"),
        ("timestamp_field: at", "unknown_member: { id: x, score: 0 }", "", "LL243", "`x` is no long"),
        ("timestamp_field: at", "unknown_member: { id: -1, score: 0, teir: x }", "", "LL220", "no column `teir`"),
    ],
)
def test_mistakes_are_found_before_any_row_moves(
    contract: Load, scd2: str, more: str, masking: str, code: str, words: str
) -> None:
    found = problems_of(contract, text(scd2, more, masking))
    assert [code] == [found_code for found_code, _ in found]
    assert words in found[0][1]


def test_a_column_encrypted_at_random_may_stand_beside_the_tracked_ones(contract: Load) -> None:
    assert problems_of(contract, text("timestamp_field: at, track_columns: [tier]", "", ", masking: encrypt")) == []


def test_the_block_belongs_to_its_strategy(contract: Load) -> None:
    other = text().replace("strategy: scd2", "strategy: merge")
    assert [code for code, _ in problems_of(contract, other)] == ["LL165"]
