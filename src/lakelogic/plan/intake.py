"""The first segment: what was read becomes typed columns, with the raw values and the first verdicts beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.model import ModelField
from lakelogic.plan.casting import CastRequest, cast_failure
from lakelogic.plan.checks import CheckBook, Failure
from lakelogic.plan.envelopes import open_envelopes
from lakelogic.plan.events import (
    event_failures,
    flat_events,
    ignore_deletes,
    place_events,
    reads_envelopes,
    spare_deletes,
)
from lakelogic.plan.expressions import any_of, column, is_not_null, null_of
from lakelogic.plan.lineage import upstream_hidden
from lakelogic.plan.model import (
    MALFORMED_COLUMN,
    RAW_COLUMN,
    RECORD_COLUMN,
    SOURCE_COLUMN,
    Column,
    SourceFacts,
)
from lakelogic.plan.path_columns import read_off_paths
from lakelogic.plan.raw import is_parsed, payload_output, stamp_payload
from lakelogic.plan.relation import Relation
from lakelogic.plan.schema_gate import Gate, rename_aliases
from lakelogic.plan.stage_builder import Output, StageBuilder, keep
from lakelogic.plan.steps.columns import literal
from lakelogic.plan.steps.effects import made_columns
from lakelogic.plan.types import parse_type, string_type
from lakelogic.plan.workbench import Workbench


def start_stage(
    contract: Contract,
    gate: Gate,
    links: Mapping[str, Relation],
    *,
    text: bool,
    facts: SourceFacts | None,
    checking: bool = False,
) -> Workbench:
    """Open the workbench with the source cast to the declared types."""
    hidden = [SOURCE_COLUMN, *([RECORD_COLUMN, MALFORMED_COLUMN] if text else [])]
    made = frozenset[str]().union(*[made_columns(step, contract.dialect) for step in contract.transformations])
    in_files = tuple(c for c in gate.columns if c.name not in gate.in_path)
    source = Relation("source", in_files, tuple(hidden), gate.closed, made)
    flags = contract.materialization is not None and contract.materialization.dq_flags
    book = CheckBook(flags=flags, rejects=not contract.is_raw)
    bench = Workbench(contract, StageBuilder(source, book=book, checking=checking), links)
    read_off_paths(bench, gate)
    if reads_envelopes(contract):
        read = [(raw_name(number), column(c.name)) for number, c in enumerate(gate.columns)]
        open_envelopes(bench, gate, [*read, *_upstream(contract, facts)], malformed=[_malformed(bench)] if text else [])
        return bench
    raw = [(raw_name(number), column(c.name)) for number, c in enumerate(gate.columns)]
    requests, outputs = _typed_columns(bench, gate)
    outputs += [payload_output(gate, facts)] if contract.is_raw else []
    beside: list[tuple[str, exp.Expr]] = [*raw, *_upstream(contract, facts), *flat_events(bench, gate)]
    bench.builder.project("read and cast to the declared types", outputs, new_hidden=beside)
    place_events(bench)
    # A projection of its own: beside the casts, each value would be cast twice.
    failures = [_malformed(bench)] if text else []
    failures += [_unknown_columns(bench, gate)] if gate.unknown else []
    for number, request in () if checking else requests.items():
        failure = cast_failure(bench.builder.book, request, column(raw_name(number)))
        failures += [failure] if failure else []
    failures = spare_deletes(bench, [*failures, *event_failures(bench)])
    if failures:
        bench.builder.project("check what was read", [keep(c) for c in bench.relation.columns], failures=failures)
    ignore_deletes(bench)
    if contract.is_raw:
        stamp_payload(bench)
    return bench


def raw_name(number: int) -> str:
    """The hidden column that holds a source column as read."""
    return f"{RAW_COLUMN}{number}"


def _typed_columns(bench: Workbench, gate: Gate) -> tuple[dict[int, CastRequest], list[Output]]:
    """The typed columns, and by number of the source column what was asked of its cast."""
    contract = bench.contract
    later: frozenset[str] = frozenset()
    for step in contract.transformations:
        later |= made_columns(step, contract.dialect) if step.phase == "pre" else frozenset()
    names = rename_aliases(gate, contract)
    outputs: list[Output] = []
    requests: dict[int, CastRequest] = {}
    for number, found in enumerate(gate.columns):
        field = contract.model.field(names.get(found.name, found.name))
        if found.name in gate.unknown or (contract.is_raw and not is_parsed(contract, found.name)):
            continue
        if field is None:
            outputs.append(Output(found, column(found.name)))
        elif field.name in later:
            # A step rewrites it: it stays as read until the last one that does.
            bench.notes.append(f"`{field.name}` is cast after the step that rewrites it")
            outputs.append(Output(replace(found, name=field.name), column(found.name)))
        else:
            requests[number] = _request(bench, found, field)
            outputs.append(bench.cast(requests[number]))
    outputs += [_absent(bench, field) for field in gate.missing]
    return requests, outputs


def _request(bench: Workbench, found: Column, field: ModelField) -> CastRequest:
    return CastRequest(
        found,
        parse_type(field.type) or string_type(),
        name=field.name,
        pattern=field.format,
        default=literal(field.default) if field.default is not None else None,
        personal=field.pii,
        required=field.required and bench.contract.enforces_required,
        comment=field.description,
    )


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
        any_of([is_not_null(column(raw_name(n))) for n, c in enumerate(gate.columns) if c.name in gate.unknown]),
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
