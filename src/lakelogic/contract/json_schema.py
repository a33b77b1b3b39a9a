"""JSON Schema of a contract, for editors: every key with its sentence, short forms included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from lakelogic.contract.contract import Contract
from lakelogic.contract.dataset_rules import DATASET_RULE_BESIDE, DATASET_RULE_KINDS
from lakelogic.contract.descriptions import DESCRIPTIONS, find_description
from lakelogic.contract.domain import Domain
from lakelogic.contract.grammar import ContractModel
from lakelogic.contract.one_key import PATH_KEY, OneKeyItem
from lakelogic.contract.policy_pack import Pack
from lakelogic.contract.registry import Registry
from lakelogic.contract.row_rules import ROW_RULE_BESIDE, ROW_RULE_KINDS
from lakelogic.contract.schema_policy import ONE_WORD
from lakelogic.contract.system import System
from lakelogic.contract.transformations import STEP_BESIDE, STEP_KINDS, Derive

_Schema = dict[str, Any]
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_FILES: Mapping[str, type[ContractModel]] = {
    "registry": Registry,
    "domain": Domain,
    "system": System,
    "policy-pack": Pack,
}


def contract_json_schema() -> _Schema:
    """The grammar as JSON Schema, draft 2020-12."""
    schema = Contract.model_json_schema(by_alias=True)
    blocks: _Schema = schema["$defs"]
    for model in _models(ContractModel):
        block = schema if model is Contract else blocks.get(model.__name__)
        if block is not None:
            _describe(block, model)
    _add_one_key_items(blocks)
    _set_items(schema["properties"]["transformations"], "Step")
    quality = blocks["Quality"]["properties"]
    _set_items(quality["row_rules"], "RowRule")
    _set_items(quality["dataset_rules"], "DatasetRule")
    _add_short_forms(schema, blocks)
    return {"$schema": _DRAFT, **_without_titles(schema), "title": "LakeLogic contract"}


def file_json_schema(kind: str) -> _Schema:
    """The grammar of `_registry.yaml`, `_domain.yaml`, `_system.yaml` or a policy pack."""
    root = _FILES[kind]
    schema = root.model_json_schema(by_alias=True)
    blocks: _Schema = schema.setdefault("$defs", {})
    for model in _models(ContractModel):
        block = schema if model is root else blocks.get(model.__name__)
        if block is not None:
            _describe(block, model)
    if "Notification" in blocks:
        _add_one_or_many(blocks["Notification"])
    schema = _without_titles(schema)
    if "defaults" in schema["properties"]:
        _add_contract(schema)
    return {"$schema": _DRAFT, **schema, "title": f"LakeLogic {kind}"}


def _add_contract(schema: _Schema) -> None:
    """What stands under `defaults` is part of a contract."""
    contract = contract_json_schema()
    blocks: _Schema = schema["$defs"]
    blocks.update(contract.pop("$defs"))
    _share_lists(schema)
    blocks["Contract"] = {key: value for key, value in contract.items() if key not in ("$schema", "title")}
    for block in (schema, blocks.get("SystemSettings", {})):
        if "defaults" in block.get("properties", {}):
            said = block["properties"]["defaults"]["description"]
            block["properties"]["defaults"] = {"$ref": "#/$defs/Contract", "description": said}


def _share_lists(schema: _Schema) -> None:
    """Steps and rules are written in a pack as they are in a contract."""
    properties: _Schema = schema["properties"]
    for kinds in (STEP_KINDS, ROW_RULE_KINDS, DATASET_RULE_KINDS):
        for cls in kinds.values():
            schema["$defs"].pop(cls.__name__, None)
    for key in properties:
        if key.endswith("transformations"):
            _set_items(properties[key], "Step")


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


def _describe(block: _Schema, model: type[BaseModel]) -> None:
    properties: _Schema = block.get("properties", {})
    for name, field in model.model_fields.items():
        key = str(field.validation_alias or name)
        sentence = find_description(model, name)
        if key in properties and sentence:
            properties[key]["description"] = sentence
    properties.pop(PATH_KEY, None)
    properties.pop("kind", None)


def _add_one_key_items(blocks: _Schema) -> None:
    lists: tuple[tuple[str, Mapping[str, type[OneKeyItem]], frozenset[str]], ...] = (
        ("Step", STEP_KINDS, STEP_BESIDE),
        ("RowRule", ROW_RULE_KINDS, ROW_RULE_BESIDE),
        ("DatasetRule", DATASET_RULE_KINDS, DATASET_RULE_BESIDE),
    )
    for name, kinds, beside in lists:
        items = [_one_key_item(kind, cls, blocks[cls.__name__], beside) for kind, cls in kinds.items()]
        blocks[name] = {"anyOf": items}
        for cls in kinds.values():
            blocks.pop(cls.__name__, None)


def _one_key_item(kind: str, cls: type[OneKeyItem], block: _Schema, beside: frozenset[str]) -> _Schema:
    """The schema of `- kind: body` with the keys that may stand beside it."""
    fields: _Schema = block["properties"]
    next_to_it = {key: value for key, value in fields.items() if key in beside and key != cls.WHOLE}
    return {
        "type": "object",
        "description": block.get("description", ""),
        "properties": {kind: _body(cls, block), **next_to_it},
        "required": [kind],
        "additionalProperties": False,
    }


def _body(cls: type[OneKeyItem], block: _Schema) -> _Schema:
    fields: _Schema = block["properties"]
    said = {"description": block.get("description", "")}
    if cls is Derive:
        return {**fields["columns"], **said}
    if cls.WHOLE is not None:
        return {**fields[cls.WHOLE], **said}
    required = [key for key in block.get("required", ()) if key != "kind"]
    long_form: _Schema = {"type": "object", "properties": fields, "additionalProperties": False}
    if required:
        long_form["required"] = required
    if cls.SHORT is not None:
        return {"anyOf": [fields[cls.SHORT], long_form], **said}
    return {**long_form, **said}


def _set_items(listed: _Schema, name: str) -> None:
    listed["items"] = {"$ref": f"#/$defs/{name}"}


def _add_short_forms(schema: _Schema, blocks: _Schema) -> None:
    properties: _Schema = schema["properties"]
    name = {"type": "string", "minLength": 1}
    properties["upstream"]["items"] = {"anyOf": [name, {"$ref": "#/$defs/Upstream"}]}
    word = {"type": "string", "enum": list(ONE_WORD)}
    policy = properties["schema_policy"]
    properties["schema_policy"] = {
        "anyOf": [word, {"$ref": "#/$defs/SchemaPolicy"}],
        "description": policy["description"],
    }
    fields: _Schema = blocks["ModelField"]["properties"]
    strategies = blocks["Masking"]["properties"]["strategy"]["enum"]
    fields["masking"]["anyOf"].insert(0, {"type": "string", "enum": strategies})
    spoken = DESCRIPTIONS["ModelField"]
    accepted = {key: value for key, value in fields["accepted_values"].items() if key != "description"}
    fields["allowed_values"] = {**accepted, "description": spoken["allowed_values"]}
    fields["nullable"] = {"type": "boolean", "description": spoken["nullable"]}
    blocks["Source"]["properties"]["type"]["enum"].append("landing")
    _add_one_or_many(blocks["Notification"])


def _add_one_or_many(notification: _Schema) -> None:
    notified: _Schema = notification["properties"]
    for key in ("on", "to"):
        one = notified[key]
        both = {"anyOf": [one["items"], {"type": "array", "items": one["items"]}]}
        notified[key] = {**both, "description": one["description"]}


def _without_titles(value: Any, *, names: bool = False) -> Any:
    """Leave out the titles that Pydantic makes from names; a key called `title` stays."""
    if isinstance(value, dict):
        return {
            key: _without_titles(item, names=key in ("properties", "$defs") and not names)
            for key, item in value.items()
            if names or key != "title"
        }
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    return value
