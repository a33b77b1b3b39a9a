"""What the source has against what the contract declares, before any row is read."""

from __future__ import annotations

import pytest
from tests.unit.plan.conftest import Load, facts_of

from lakelogic.core.errors import PlanError
from lakelogic.plan.schema_gate import pass_gate, rename_aliases

_MODEL = """
model:
  fields:
    - { name: user_id, type: int, required: true, aliases: [uid] }
    - { name: city, type: string }
"""


def names(text: str, load: Load, *columns: str) -> list[str]:
    return [c.name for c in pass_gate(load(text), facts_of(dict.fromkeys(columns, "string"))).columns]


def test_only_what_the_contract_needs_is_read(contract: Load) -> None:
    rule = 'quality: { row_rules: [ { sql: "user_id > 0" } ] }\ntransformations: [ { filter: "status <> 1" } ]\n'
    assert names(_MODEL, contract, "user_id", "city", "status", "junk") == ["user_id", "city"]
    assert names(_MODEL + rule.replace("<> 1", "<> 'x'"), contract, "user_id", "city", "status", "junk") == [
        "user_id",
        "city",
        "status",
    ]


def test_internal_columns_never_pass(contract: Load) -> None:
    all_ = _MODEL + "source: { path: x.csv, columns: all }\n"
    assert names(all_, contract, "user_id", "_lakelogic_run_id", "more") == ["user_id", "more"]


def test_an_alias_stands_for_its_field(contract: Load) -> None:
    loaded = contract(_MODEL)
    gate = pass_gate(loaded, facts_of({"uid": "string"}))
    assert rename_aliases(gate, loaded) == {"uid": "user_id"}
    assert [field.name for field in gate.missing] == ["city"]


def test_a_missing_required_column_names_the_near_one(contract: Load) -> None:
    with pytest.raises(PlanError) as caught:
        pass_gate(contract(_MODEL), facts_of({"userId": "string", "city": "string"}))
    problem = caught.value.problem
    assert problem.code == "LL320" and problem.place is not None and problem.hint is not None
    assert "`userId`" in problem.hint and problem.place.path == "model.fields.0.name"


def test_a_missing_optional_column_that_may_be_renamed_is_not_silently_null(contract: Load) -> None:
    facts = facts_of({"user_id": "string", "City": "string"})
    first, second = pass_gate(contract(_MODEL), facts).drift
    assert (first.kind, first.severity) == ("suspected_rename", "warning")
    assert first.detail == {"declared": "city", "found": "City"}
    assert (second.kind, second.detail["became"]) == ("unknown_columns", "not read")
    with pytest.raises(PlanError, match="`city` is not in the source"):
        pass_gate(contract(_MODEL + "schema_policy: { evolution: compatible }\n"), facts)


@pytest.mark.parametrize(("found", "told"), [("int", []), ("string", []), ("double", ["changed_type"])])
def test_a_typed_source_with_other_types_is_drift(contract: Load, found: str, told: list[str]) -> None:
    """Narrower types fit, text is there to be cast; only other types are a surprise."""
    model = "model: { fields: [{ name: n, type: long }] }\n"
    gate = pass_gate(contract(model), facts_of({"n": found}, text=False))
    assert [event.kind for event in gate.drift] == told


@pytest.mark.parametrize(
    ("policy", "read", "judged"),
    [
        ("allow", ["user_id", "city"], []),
        ("{ unknown_fields: drop }", ["user_id", "city"], []),
        ("quarantine", ["user_id", "city", "more"], ["more"]),
    ],
)
def test_unknown_columns_by_policy(contract: Load, policy: str, read: list[str], judged: list[str]) -> None:
    gate = pass_gate(
        contract(_MODEL + f"schema_policy: {policy}\n"),
        facts_of(dict.fromkeys(("user_id", "city", "more"), "string")),
    )
    assert [c.name for c in gate.columns] == read
    assert list(gate.unknown) == judged


def test_unknown_columns_fail_under_strict(contract: Load) -> None:
    with pytest.raises(PlanError) as caught:
        pass_gate(
            contract(_MODEL + "schema_policy: strict\n"),
            facts_of(dict.fromkeys(("user_id", "city", "more"), "string")),
        )
    assert caught.value.problem.code == "LL321"
