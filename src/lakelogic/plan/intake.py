"""The first segment: what was read becomes typed columns, with the raw values and the first verdicts beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.model import ModelField
from lakelogic.plan.casting import cast_column
from lakelogic.plan.checks import Failure
from lakelogic.plan.expressions import alias, any_of, column, is_not_null, null_of
from lakelogic.plan.lineage import upstream_hidden
from lakelogic.plan.model import (
    MALFORMED_COLUMN,
    RAW_COLUMN,
    RECORD_COLUMN,
    SOURCE_COLUMN,
    Column,
    SourceFacts,
)
from lakelogic.plan.relation import Relation
from lakelogic.plan.schema_gate import Gate, rename_aliases
from lakelogic.plan.stage_builder import Output, StageBuilder
from lakelogic.plan.steps.columns import literal
from lakelogic.plan.steps.effects import made_columns
from lakelogic.plan.types import parse_type, string_type
from lakelogic.plan.workbench import Workbench


def start_stage(
    contract: Contract, gate: Gate, links: Mapping[str, Relation], *, text: bool, facts: SourceFacts | None
) -> Workbench:
    """Open the workbench with the source cast to the declared types."""
    hidden = [SOURCE_COLUMN, *([RECORD_COLUMN, MALFORMED_COLUMN] if text else [])]
    made = frozenset[str]().union(*[made_columns(step, contract.dialect) for step in contract.transformations])
    source = Relation("source", gate.columns, tuple(hidden), gate.closed, made)
    bench = Workbench(contract, StageBuilder(source), links)
    outputs, failures = _typed_columns(bench, gate)
    first = [_malformed(bench)] if text else []
    unknown = [_unknown_columns(bench, gate)] if gate.unknown else []
    raw = exp.Struct(expressions=[alias(column(c.name), c.name) for c in gate.columns])
    carried = _upstream(contract, facts)
    bench.builder.project(
        "read and cast to the declared types",
        outputs,
        failures=[*first, *unknown, *failures],
        new_hidden=[*([(RAW_COLUMN, raw)] if gate.columns else []), *carried],
    )
    return bench


def _typed_columns(bench: Workbench, gate: Gate) -> tuple[list[Output], list[Failure]]:
    contract = bench.contract
    later: frozenset[str] = frozenset()
    for step in contract.transformations:
        later |= made_columns(step, contract.dialect) if step.phase == "pre" else frozenset()
    names = rename_aliases(gate, contract)
    outputs: list[Output] = []
    failures: list[Failure] = []
    for found in gate.columns:
        field = contract.model.field(names.get(found.name, found.name))
        if found.name in gate.unknown:
            continue
        if field is None:
            outputs.append(Output(found, column(found.name)))
            continue
        if field.name in later:
            # A step rewrites it: it stays as read until the last one that does.
            bench.notes.append(f"`{field.name}` is cast after the step that rewrites it")
            outputs.append(Output(replace(found, name=field.name), column(found.name)))
            continue
        output, failure = _cast_declared(bench, found, field)
        outputs.append(output)
        failures += [failure] if failure else []
    for field in gate.missing:
        outputs.append(_absent(bench, field))
    return outputs, failures


def _cast_declared(bench: Workbench, found: Column, field: ModelField) -> tuple[Output, Failure | None]:
    wanted = parse_type(field.type) or string_type()
    default = literal(field.default) if field.default is not None else None
    output, failure = cast_column(
        bench.builder.book, found, wanted, pattern=field.format, default=default, personal=field.pii,
        required=field.required and bench.contract.quality.enforce_required, comment=field.description,
    )  # fmt: skip
    return Output(replace(output.column, name=field.name), output.expression), failure


def _absent(bench: Workbench, field: ModelField) -> Output:
    """A declared column that the source does not have: its default, or NULL of its type; never without a word."""
    type_ = parse_type(field.type) or string_type()
    bench.notes.append(f"`{field.name}` is not in the source and becomes its default or NULL")
    value = exp.Cast(this=literal(field.default), to=type_) if field.default is not None else null_of(type_)
    return Output(Column(field.name, type_, comment=field.description), value)


def _malformed(bench: Workbench) -> Failure:
    return bench.builder.book.add(
        is_not_null(column(MALFORMED_COLUMN)),
        name="malformed",
        message="Malformed",
        category="malformed",
        kind="malformed",
    )


def _unknown_columns(bench: Workbench, gate: Gate) -> Failure:
    names = ", ".join(gate.unknown)
    return bench.builder.book.add(
        any_of([is_not_null(column(name)) for name in gate.unknown]),
        name="unknown columns",
        message=f"Unknown columns: {names}",
        category="schema",
        kind="schema",
    )


def _upstream(contract: Contract, facts: SourceFacts | None) -> list[tuple[str, exp.Expr]]:
    """Lineage of the layer before, where the source has it."""
    if facts is None or not contract.lineage.enabled:
        return []
    there = {c.name for c in facts.columns}
    return [(upstream_hidden(name), column(name)) for name in contract.lineage.preserve_upstream if name in there]
