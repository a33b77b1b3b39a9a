"""The JSON Schema accepts what the loader accepts, and explains every key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lakelogic.contract import Contract, Draft
from lakelogic.contract.descriptions import DESCRIPTIONS, find_description
from lakelogic.contract.grammar import ContractModel
from lakelogic.contract.json_schema import contract_json_schema

SCHEMA = contract_json_schema()

ACCEPTED: list[dict[str, Any]] = [
    {"version": "1.0.0", "dataset": "a", "engine": "duckdb", "spark": {"spark.x": 1}},
    {"source": {"type": "landing", "path": "a.csv", "options": {"header": True}}},
    {"upstream": ["a", {"dataset": "b"}], "consumers": "one", "schema_policy": "strict"},
    {"schema_policy": {"unknown_fields": "drop"}, "primary_key": "id"},
    {"model": {"fields": [{"name": "a", "masking": "hash"}]}},
    {"model": {"fields": [{"name": "b", "masking": {"strategy": "partial"}}]}},
    {"model": {"fields": [{"name": "a", "allowed_values": ["x", 1, None], "nullable": False, "min": 1}]}},
    {"transformations": [{"deduplicate": ["a"]}, {"deduplicate": {"on": "a"}}]},
    {"transformations": [{"sql": "x", "phase": "post"}]},
    {"transformations": [{"rename": {"a": "b"}}, {"derive": {"field": "a", "sql": "b"}}]},
    {"transformations": [{"derive": {"a": "b"}}]},
    {"transformations": [{"trim": {"fields": ["a"], "side": "left"}}, {"trim": "a", "phase": "pre"}]},
    {"transformations": [{"json_extract": {"field": "a", "source": "b", "path": "$.x"}}]},
    {"transformations": [{"date_diff": {"field": "a", "from": "b", "to": "c"}}]},
    {"quality": {"row_rules": [{"sql": "a", "name": "n"}, {"not_null": "a"}]}},
    {"quality": {"row_rules": [{"range": {"field": "a", "min": 1}}]}},
    {"quality": {"dataset_rules": [{"unique": ["a"]}, {"sql": "SELECT 1", "must_be": 1, "name": "n"}]}},
    {"materialization": {"merge": {"order_by": "a"}, "target_path": "x", "partition_by": ["d"]}},
    {"service_levels": {"freshness": {"threshold": "24h"}}, "compliance": {"retention": "400d"}},
]  # fmt: skip
REFUSED: list[dict[str, Any]] = [
    {"datset": "a"},
    {"version": "1.0"},
    {"engine": "flink"},
    {"schema_policy": "never"},
    {"model": {"fields": [{"type": "int"}]}},
    {"transformations": [{"renam": {}}]},
    {"transformations": [{"trim": ["a"], "lower": ["a"]}]},
    {"transformations": [{"phase": "pre"}]},
    {"quality": {"row_rules": [{"sql": 5}]}},
    {"compliance": {"retention": "soon"}},
    {"transformations": [{"sql": "x", "__path__": "y"}]},
    {"transformations": [{"kind": "sql", "sql": "x"}]},
]


def blocks() -> Iterator[dict[str, Any]]:
    yield SCHEMA
    yield from SCHEMA["$defs"].values()


def test_it_says_which_draft_it_is() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["additionalProperties"] is False
    assert set(SCHEMA["properties"]) == set(Contract.model_fields)


def test_every_reference_leads_somewhere() -> None:
    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (item for key, item in value.items() if key == "$ref")
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                yield from references(item)

    assert {name.removeprefix("#/$defs/") for name in references(SCHEMA)} <= set(SCHEMA["$defs"])


def models(base: type[ContractModel]) -> Iterator[type[ContractModel]]:
    for model in base.__subclasses__():
        yield model
        yield from models(model)


def test_every_key_has_a_sentence_and_no_sentence_is_left_over() -> None:
    internal = {"kind", "path"}
    bare = [
        f"{model.__name__}.{name}"
        for model in models(ContractModel)
        for name in model.model_fields
        if not find_description(model, name) and name not in internal
    ]
    assert bare == []
    known = {model.__name__: {*model.model_fields} for model in models(ContractModel)}
    known["ModelField"] |= {"allowed_values", "nullable"}
    assert all(set(keys) <= known[name] for name, keys in DESCRIPTIONS.items())


def test_titles_of_the_library_are_gone_and_the_key_title_is_there() -> None:
    assert "title" in SCHEMA["$defs"]["Info"]["properties"]
    assert not any("title" in block for block in SCHEMA["$defs"].values())


@pytest.mark.parametrize("number", range(len(ACCEPTED)))
def test_it_accepts_what_the_loader_accepts(number: int, draft: Callable[..., Draft]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(SCHEMA).validate(ACCEPTED[number])
    Contract.model_validate(ACCEPTED[number])


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_it_refuses_what_the_loader_refuses(number: int) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(REFUSED[number])
    with pytest.raises(ValueError):
        Contract.model_validate(REFUSED[number])
