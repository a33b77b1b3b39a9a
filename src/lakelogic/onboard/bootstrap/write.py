"""The YAML of a contract and of a registry, with what was seen as comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakelogic.onboard.bootstrap.profiles import Profile
from lakelogic.onboard.bootstrap.rules import Suggestion


@dataclass(frozen=True, slots=True)
class Draft:
    """All that a contract is written from."""

    dataset: str
    layer: str
    path: str
    pattern: str | None
    format: str
    target: str
    options: Mapping[str, str] = field(default_factory=dict)
    profiles: tuple[Profile, ...] = ()
    key: tuple[str, ...] = ()
    rules: tuple[Suggestion, ...] = ()
    steps: tuple[tuple[str, Any, str], ...] = ()  # kind, body, why
    about: tuple[str, ...] = ()  # sentences for the top of the file


def contract_text(draft: Draft) -> str:
    """A contract that runs as it is."""
    return "\n".join(_contract(draft)) + "\n"


def registry_text(entries: Sequence[tuple[str, str, str]]) -> str:
    """A registry of contracts, each with its entity, its layer and its path."""
    lines = ["# Written by `lakelogic bootstrap`.", "entries:" if entries else "entries: []"]
    for entity, layer, path in entries:
        lines += [f"  - entity: {_value(entity)}", f"    contracts: {{ {layer}: {_value(path)} }}"]
    return "\n".join(lines) + "\n"


def _contract(draft: Draft) -> Iterator[str]:
    yield from (f"# {_comment(sentence)}" for sentence in draft.about)
    yield 'version: "1.0.0"'
    yield f"dataset: {_value(draft.dataset)}"
    yield f"info: {{ target_layer: {draft.layer}, status: draft }}"
    yield ""
    yield "source:"
    yield f"  path: {_value(draft.path)}"
    if draft.pattern is not None:
        yield f"  pattern: {_value(draft.pattern)}"
    yield f"  format: {draft.format}"
    if draft.options:
        yield f"  options: {_value(dict(draft.options))}"
    yield "  load_mode: incremental"
    yield ""
    yield "model:"
    yield "  fields:" if draft.profiles else "  fields: []"
    for profile in draft.profiles:
        yield from _field(profile, draft.key)
    if draft.key:
        rows = next(each.rows for each in draft.profiles if each.name == draft.key[0])
        yield f"  # unique and never null in {rows} rows; take it away if files can bring a row again"
        yield f"  primary_key: {_value(list(draft.key))}"
    yield ""
    yield from _steps(draft)
    yield from _rules(draft)
    yield "materialization:"
    yield "  strategy: append"
    yield f"  target_path: {_value(draft.target)}"


def _field(profile: Profile, key: Sequence[str]) -> Iterator[str]:
    yield f"    - name: {_value(profile.name)}"
    yield f"      type: {_value(profile.kind.type)}  # {_comment(profile.evidence)}"
    if profile.kind.format is not None:
        yield f"      format: {_value(profile.kind.format)}"
    if profile.name in key:
        yield "      required: true"
    if profile.name != profile.source:
        yield f"      aliases: [{_value(profile.source)}]"
    if profile.personal is not None:
        yield f"      pii: true  # {_comment(profile.personal)}; `masking: hash` would keep it out of the table"
    if profile.kind.note is not None:
        yield f"      # {_comment(profile.kind.note)}"


def _steps(draft: Draft) -> Iterator[str]:
    if not draft.steps:
        return
    yield "transformations:"
    for kind, body, why in draft.steps:
        yield f"  # {_comment(why)}"
        yield f"  - {kind}: {_value(body)}"
    yield ""


def _rules(draft: Draft) -> Iterator[str]:
    if not draft.rules:
        return
    yield "# Suggested by the sample. A warning counts and rejects nothing; `severity: error` makes it a rule."
    yield "quality:"
    yield "  row_rules:"
    for rule in draft.rules:
        yield f"    # {_comment(rule.evidence)}"
        yield f"    - {rule.kind}: {_value(rule.body)}"
        yield f"      name: {_value(rule.name)}"
        yield "      severity: warning"
    yield ""


def _value(value: Any) -> str:
    """A value in YAML's flow style, texts always in quotes."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_value(key)}: {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        # `${` would be a placeholder.
        return '"' + "".join(map(_char, value.replace("${", "$${"))) + '"'
    return str(value)


def _char(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    # What YAML does not take as it is, it takes by its number.
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def _comment(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
