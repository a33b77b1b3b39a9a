"""The schema gate: what the source has against what the contract declares, before any row is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakelogic.contract.contract import Contract
from lakelogic.contract.model import ModelField
from lakelogic.core.errors import PlanError
from lakelogic.core.events import Event
from lakelogic.plan.drift import find_drift
from lakelogic.plan.model import HIDDEN_PREFIX, Column, SourceFacts
from lakelogic.plan.relation import suggestion
from lakelogic.plan.rules import rule_columns
from lakelogic.plan.steps.effects import made_columns, read_columns
from lakelogic.plan.types import parse_type, string_type

_TYPED = {"parquet", "delta", "orc", "avro"}


@dataclass(frozen=True, slots=True)
class Gate:
    """What passed the gate: the columns to read, declared ones that are missing, undeclared ones that are there."""

    columns: tuple[Column, ...]  # as read, in the source's order, with the source's names
    missing: tuple[ModelField, ...] = ()  # become NULL columns
    unknown: tuple[str, ...] = ()  # judged row by row (unknown_fields: quarantine)
    closed: bool = True
    drift: tuple[Event, ...] = ()  # what is not as declared, and let through
    in_path: tuple[str, ...] = ()  # columns that stand in the paths of the files, and not in the files


def assumed_columns(contract: Contract) -> Gate:
    """Without a look at the source: the declared columns, as text or as declared types."""
    source = contract.source
    text_like = source is None or (source.format not in _TYPED and source.type != "database")
    columns = [
        Column(field.name, string_type() if text_like else (parse_type(field.type) or string_type()))
        for field in contract.fields
    ]
    return Gate(tuple(columns), closed=False)


def pass_gate(contract: Contract, facts: SourceFacts) -> Gate:
    """Compare, by the contract's schema policy."""
    visible, in_path = visible_columns(facts)
    known = needed_names(contract)
    unknown = [c.name for c in visible if contract.fields and c.name not in known and c.name not in in_path]
    missing = missing_fields(contract, visible)
    policy = contract.schema_policy
    for field in missing:
        _judge_missing(field, unknown, contract)
    if unknown and policy.unknown_fields == "fail":
        names = ", ".join(f"`{name}`" for name in unknown)
        raise PlanError(
            f"the source has columns that the contract does not declare: {names}",
            where=contract.at("schema_policy"),
            hint="declare them under model.fields, or set schema_policy.unknown_fields to allow, drop or quarantine",
            code="LL321",
        )
    judged = unknown if policy.unknown_fields == "quarantine" else []
    keep_all = not contract.fields or (contract.source is not None and contract.source.columns == "all")
    read = [c for c in visible if _is_read(c.name, known, judged, keep_all, policy.unknown_fields)]
    drift = find_drift(contract, facts, missing, unknown)
    used = tuple(c.name for c in read if c.name in in_path)
    return Gate(tuple(read), missing, tuple(judged), drift=drift, in_path=used)


def visible_columns(facts: SourceFacts, *, path_wins: bool = True) -> tuple[list[Column], frozenset[str]]:
    """The columns of the files without ours, those of their paths after them, and the names of the latter.

    A name that stands in both is read off the path, by which windows choose files too.
    """
    there = [c for c in facts.columns if not c.name.startswith(HIDDEN_PREFIX)]
    names = {c.name for c in there}
    in_path = [name for name in facts.in_path if path_wins or name not in names]
    kept = [c for c in there if c.name not in in_path]
    return [*kept, *(Column(name, string_type()) for name in in_path)], frozenset(in_path)


def missing_fields(contract: Contract, visible: Sequence[Column]) -> tuple[ModelField, ...]:
    """Declared fields that neither the source has nor a step makes."""
    made = _made_by_steps(contract)
    return tuple(f for f in contract.fields if not _is_there(f, visible) and f.name not in made)


def _is_read(name: str, known: frozenset[str], judged: Sequence[str], keep_all: bool, unknown_fields: str) -> bool:
    if name in known or name in judged:
        return True
    return keep_all and unknown_fields != "drop"


def _is_there(field: ModelField, columns: Sequence[Column]) -> bool:
    names = {c.name for c in columns}
    return field.name in names or any(alias in names for alias in field.aliases)


def _made_by_steps(contract: Contract) -> frozenset[str]:
    made: frozenset[str] = frozenset()
    for step in contract.transformations:
        made |= made_columns(step, contract.dialect)
    return made


def needed_names(contract: Contract) -> frozenset[str]:
    """Declared names, their aliases, and every name that a step or rule reads."""
    names = {field.name for field in contract.fields} | {a for field in contract.fields for a in field.aliases}
    for step in contract.transformations:
        names |= read_columns(step, contract.dialect)
    for rule in contract.quality.row_rules:
        names |= rule_columns(rule, contract.dialect)
    if contract.source is not None and contract.source.cdc is not None:
        names |= {contract.source.cdc.operation_field, *contract.source.cdc.order_by}
    return frozenset(names | set(contract.primary_key))


def _judge_missing(field: ModelField, unknown: Sequence[str], contract: Contract) -> None:
    near = suggestion(field.name, unknown)
    policy = contract.schema_policy.evolution
    # Under `compatible` a rename is refused: the values would be lost under a name that nobody reads.
    if not field.required and not (policy == "strict" or (policy == "compatible" and near is not None)):
        return
    index = [f.name for f in contract.fields].index(field.name)
    why = "required column" if field.required else "column"
    hint = (
        f"the source has `{near}`: was it renamed? add `aliases: [{near}]` to the field"
        if near
        else "take it out of the contract, or give it a source"
    )
    raise PlanError(
        f"{why} `{field.name}` is not in the source",
        where=contract.at(f"model.fields.{index}.name"),
        hint=hint,
        code="LL320",
    )


def rename_aliases(gate: Gate, contract: Contract) -> dict[str, str]:
    """Source name to declared name, for columns that come under an alias."""
    names = {c.name for c in gate.columns}
    renamed = {}
    for field in contract.fields:
        if field.name not in names:
            alias = next((a for a in field.aliases if a in names), None)
            if alias is not None:
                renamed[alias] = field.name
    return renamed
