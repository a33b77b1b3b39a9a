"""Whatever stands in the file, loading answers with problems, never with a traceback."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakelogic.contract import Contract, load_draft

KEYS = sorted(Contract.model_fields)
WORDS = st.sampled_from(
    [
        *KEYS,
        "name",
        "fields",
        "sql",
        "on",
        "row_rules",
        "dataset_rules",
        "kind",
        "path",
        "rename",
        "trim",
        "x",
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8), WORDS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
PLACE = "generated.yaml"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4))
def test_any_values_under_known_keys_load_or_are_explained(block: dict[str, Any]) -> None:
    block.pop("extends", None)
    draft = load_draft(PLACE, text=yaml.safe_dump(block), environ={})
    assert draft.contract is not None or draft.problems
    for problem in draft.problems:
        assert problem.place is not None and problem.place.line >= 1
        assert "something else" not in problem.message


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_any_text_loads_or_is_explained(text: str) -> None:
    draft = load_draft(PLACE, text=text, environ={})
    assert draft.contract is not None or draft.problems
