"""Personal data is followed from the field that is marked to the source columns it is made of."""

from __future__ import annotations

import pytest
from tests.unit.plan.conftest import MakePlan

_MODEL = """
model:
  fields:
    - { name: id, type: int }
    - { name: email, type: string, pii: true, aliases: [eMail] }
"""


@pytest.mark.parametrize(
    ("steps", "columns", "personal"),
    [
        ("", ("id", "email"), {"email"}),
        ("", ("id", "eMail"), {"eMail"}),
        ("transformations: [ { rename: { contact: email } } ]\n", ("id", "contact"), {"contact"}),
        (
            "transformations: [ { sql: \"CONCAT(account, '@', host) AS email\" } ]\n",
            ("id", "account", "host"),
            {"account", "host"},
        ),
        (
            "transformations: [ { rename: { a: b } }, { coalesce: { field: email, sources: [b, c] } } ]\n",
            ("id", "a", "c"),
            {"a", "c"},
        ),
    ],
)
def test_the_source_columns_of_a_personal_field_are_hidden(
    plan: MakePlan, steps: str, columns: tuple[str, ...], personal: set[str]
) -> None:
    assert set(plan(_MODEL + steps, *columns).personal) == personal


def test_a_personal_value_is_never_shown_in_a_message(plan: MakePlan) -> None:
    model = _MODEL.replace("type: string, pii", "type: int, pii")
    made = plan(model, "id", "email")
    shown = {check.column: check.shows_value for stage in made.stages for check in stage.checks if check.column}
    assert shown == {"id": True, "email": False}


def test_a_masked_column_needs_a_key_only_to_encrypt(plan: MakePlan) -> None:
    masked = _MODEL.replace("pii: true", "masking: {}")
    words = {word: plan(masked.replace("{}", word), "id", "email") for word in ("hash", "encrypt", "redact")}
    assert {word: (made.needs_key, made.hashes) for word, made in words.items()} == {
        "hash": (False, True),
        "encrypt": (True, False),
        "redact": (False, False),
    }
    assert words["hash"].output[1].masking == "hash"
