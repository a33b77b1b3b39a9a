"""Debezium envelopes: `{before, after, source, op, ts_ms}`, bare or inside `{schema, payload}`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.raw import PAYLOAD as RAW_PAYLOAD
from lakelogic.core.errors import PlanError
from lakelogic.plan.casting import CastRequest
from lakelogic.plan.checks import Failure
from lakelogic.plan.events import (
    DELETE,
    UPSERT,
    change_failure,
    event_columns,
    event_failures,
    events_of,
    ignore_deletes,
    is_operation,
    operation_of,
    place_events,
    reads_envelopes,
    spare_deletes,
)
from lakelogic.plan.expressions import (
    all_of,
    case,
    column,
    function,
    is_not_null,
    is_null,
    negate,
    null_of,
    text,
    try_cast,
)
from lakelogic.plan.model import (
    HIDDEN_PREFIX,
    MALFORMED_COLUMN,
    OPERATION_COLUMN,
    UNCHANGED_COLUMN,
    Column,
    SourceFacts,
)
from lakelogic.plan.schema_gate import Gate
from lakelogic.plan.stage_builder import Output, keep
from lakelogic.plan.steps.columns import literal
from lakelogic.plan.steps.effects import made_columns, read_columns
from lakelogic.plan.types import family, named, parse_type, string_type
from lakelogic.plan.workbench import Workbench

PARTS = ("op", "before", "after", "source", "ts_ms")
PAYLOAD = "payload"
ENVELOPE = (*PARTS, PAYLOAD)
# What Debezium writes for a large value that an update did not touch.
UNAVAILABLE = "__debezium_unavailable_value"
_OPENED = f"{HIDDEN_PREFIX}payload"
_IMAGE, _BLOCK = f"{HIDDEN_PREFIX}image", f"{HIDDEN_PREFIX}block"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def envelope_gate(facts: SourceFacts | None) -> Gate:
    """The parts of the envelope that the source has; fields are looked for inside, event by event."""
    if facts is None:
        return Gate(tuple(Column(name, string_type()) for name in ENVELOPE))
    found = tuple(c for c in facts.columns if c.name in ENVELOPE)
    names = {c.name for c in found}
    kept = tuple(c for c in facts.columns if c.name == RAW_PAYLOAD)
    if kept and not {"after", PAYLOAD} & names:
        return Gate(kept)  # a raw Bronze table: the envelopes are its payloads
    if not {"op", PAYLOAD} & names:
        raise PlanError(
            "the source has neither `op` nor `payload` nor `raw_payload`, so these are no Debezium envelopes",
            code="LL320",
            hint="set source.cdc: {format: flat, operation_field: ...} for rows with a column of operations",
        )
    return Gate(found)


def names_to_read(contract: Contract) -> tuple[str, ...]:
    """The names that a source without a header may have: the parts of envelopes, or the declared fields."""
    if reads_envelopes(contract):
        return ENVELOPE
    fields = tuple(field.name for field in contract.fields)
    source = contract.source
    named = source is not None and (source.type == "kafka" or source.format in ("json", "jsonl"))
    if source is None or source.cdc is None or not named:
        return fields
    return tuple(dict.fromkeys((*fields, source.cdc.operation_field, *source.cdc.order_by)))


def open_envelopes(
    bench: Workbench, gate: Gate, beside: Sequence[tuple[str, exp.Expr]], malformed: Sequence[Failure]
) -> None:
    """From the relation of envelopes to the relation of rows, typed, with the event columns beside."""
    names = {c.name: c for c in gate.columns}
    wrapped = [names[name] for name in (PAYLOAD, RAW_PAYLOAD) if name in names]
    opened = [(_OPENED, _parsed(_json(wrapped[0])))] if wrapped else []
    bench.builder.project("open the change events", (), new_hidden=[*beside, *opened, *_top(names)])
    parts = [(_part(name), _value_of(name, names)) for name in PARTS]
    bench.builder.project(
        "take the envelopes apart", (), new_hidden=parts, drop_hidden=[_OPENED, *map(_top_name, names)]
    )
    operation = operation_of(column(_part("op")))
    is_delete = exp.EQ(this=operation.copy(), expression=text(DELETE))
    image = case([(is_delete, column(_part("before")))], column(_part("after")))
    inside = [(_IMAGE, _parsed(image)), (_BLOCK, _parsed(column(_part("source")))), (OPERATION_COLUMN, operation)]
    bench.builder.project("read the images", (), new_hidden=inside)
    _rows(bench, malformed)


def _rows(bench: Workbench, malformed: Sequence[Failure]) -> None:
    contract = bench.contract
    image = case([(is_operation(DELETE), column(_part("before")))], column(_part("after")))
    names = _wanted(contract)
    outputs = [Output(Column(name, string_type()), _field(contract, name)) for name in names]
    time = exp.Coalesce(this=_inside(_BLOCK, "ts_ms"), expressions=[column(_part("ts_ms"))])
    instant = function("TIMESTAMP_MILLIS", try_cast(time, named("bigint")))
    unchanged = [(UNCHANGED_COLUMN, _unchanged(contract, names))]
    event = event_columns(column(OPERATION_COLUMN), _order(contract), image, instant)
    bench.builder.project("the rows that the events speak of", outputs, new_hidden=[*event, *unchanged])
    place_events(bench)
    kept = [keep(c) for c in bench.relation.columns]
    scaffold = [_IMAGE, _BLOCK, *[_part(name) for name in PARTS]]
    if malformed:
        bench.builder.project("check the lines", kept, failures=malformed)
    unless = is_not_null(column(MALFORMED_COLUMN)) if malformed else None
    bench.builder.project("check the events", kept, failures=_failures(bench), unless=unless, drop_hidden=scaffold)
    bench.cast_columns("cast to the declared types", _requests(bench))
    ignore_deletes(bench)


def _failures(bench: Workbench) -> list[Failure]:
    found = event_failures(bench)
    for operation, part in ((UPSERT, "after"), (DELETE, "before")):
        absent = negate(exp.Like(this=_or_blank(column(_part(part))), expression=text("{%")))
        found.append(change_failure(bench, all_of([is_operation(operation), absent]), f"`{part}` is there"))
    if bench.contract.schema_policy.unknown_fields == "quarantine":
        found.append(_unknown_fields(bench))
    return spare_deletes(bench, found)


def _unknown_fields(bench: Workbench) -> Failure:
    """A new field inside `after` shows only in the events themselves."""
    known = _wanted(bench.contract) + tuple(a for field in bench.contract.fields for a in field.aliases)
    listed = exp.Array(expressions=[text(name) for name in known]).sql("databricks")
    fields = f"FROM_JSON({column(_part('after')).sql('databricks')}, 'MAP<STRING, STRING>')"
    strangers = f"MAP_FILTER({fields}, (k, v) -> NOT v IS NULL AND NOT ARRAY_CONTAINS({listed}, k))"
    count: exp.Expr = exp.maybe_parse(f"SIZE(MAP_KEYS({strangers}))", dialect="databricks")
    return bench.builder.book.add(
        exp.GT(this=count, expression=exp.Literal.number("0")),
        name="unknown columns",
        message="Unknown columns in `after`",
        category="schema",
        kind="schema",
    )


def _requests(bench: Workbench) -> list[CastRequest]:
    contract = bench.contract
    later: frozenset[str] = frozenset()
    for step in contract.transformations:
        later |= made_columns(step, contract.dialect) if step.phase == "pre" else frozenset()
    enforced = contract.quality.enforce_required
    return [
        CastRequest(
            Column(field.name, string_type()),
            parse_type(field.type) or string_type(),
            pattern=field.format,
            default=literal(field.default) if field.default is not None else None,
            personal=field.pii,
            required=field.required and enforced,
            comment=field.description,
        )
        for field in contract.fields
        if field.name not in later and bench.relation.find(field.name) is not None
    ]


def _wanted(contract: Contract) -> tuple[str, ...]:
    """Declared fields, and what steps read beside them; not what steps make themselves."""
    made: frozenset[str] = frozenset()
    names = dict.fromkeys(field.name for field in contract.fields)
    for step in contract.transformations:
        names.update(dict.fromkeys(sorted(read_columns(step, contract.dialect) - made)))
        made |= made_columns(step, contract.dialect)
    return tuple(names)


def _field(contract: Contract, name: str) -> exp.Expr:
    value = _image_value(contract, name)
    if name in contract.primary_key:
        return value
    # Of a deleted row only the key is sure: what else `before` holds may be placeholders.
    told = all_of([is_operation(UPSERT), negate(_is_unavailable(value))])
    return case([(told, value.copy())], null_of(string_type()))


def _image_value(contract: Contract, name: str) -> exp.Expr:
    field = contract.model.field(name)
    values = [_inside(_IMAGE, found, nested=False) for found in (name, *(field.aliases if field else ()))]
    return values[0] if len(values) == 1 else exp.Coalesce(this=values[0], expressions=values[1:])


def _is_unavailable(value: exp.Expr) -> exp.Expr:
    return exp.EQ(this=_or_blank(value.copy()), expression=text(UNAVAILABLE))


def _unchanged(contract: Contract, names: Sequence[str]) -> exp.Expr:
    """The names of fields whose value the event does not tell, between commas; NULL where it tells all."""
    told = [case([(_is_unavailable(_image_value(contract, n)), text(f"{n},"))], text("")) for n in names]
    listed = function("CONCAT", *told) if told else text("")
    some = all_of(
        [
            is_operation(UPSERT),
            function("CONTAINS", _or_blank(column(_part("after"))), text(UNAVAILABLE)),
        ]
    )
    return case([(some, function("NULLIF", function("CONCAT", text(","), listed), text(",")))], null_of(string_type()))


def _order(contract: Contract) -> list[exp.Expr]:
    terms = events_of(contract).order_by
    if terms:
        return [_path(term) for term in terms]
    block = {name: _inside(_BLOCK, name) for name in ("lsn", "scn", "commit_lsn", "change_lsn", "pos", "row", "ts_ms")}
    file = function(
        "NULLIF",
        function("REGEXP_EXTRACT", _inside(_BLOCK, "file"), text("([0-9]+)$"), exp.Literal.number("1")),
        text(""),
    )
    serial = _inside(_BLOCK, "event_serial_no")
    return [
        exp.Coalesce(this=block["lsn"], expressions=[block["scn"], block["commit_lsn"], file]),
        exp.Coalesce(this=block["change_lsn"], expressions=[block["pos"]]),
        exp.Coalesce(this=serial, expressions=[block["row"]]),
        block["ts_ms"],
        column(_part("ts_ms")),
    ]


def _path(term: str) -> exp.Expr:
    """A value of the envelope by its path: `ts_ms`, `source.lsn`, `after.version`; in the row's image otherwise."""
    head, _, rest = term.partition(".")
    if head == "source" and rest:
        return _inside(_BLOCK, rest)
    if head in ("after", "before") and rest:
        return _inside(_IMAGE, rest)
    return column(_part(head)) if head in PARTS else _inside(_IMAGE, term)


def _inside(parsed: str, name: str, *, nested: bool = True) -> exp.Expr:
    path = _json_path(name.split(".") if nested else [name])
    return function("TRY_VARIANT_GET", column(parsed), text(path), text("string"))


def _json_path(steps: Sequence[str]) -> str:
    return "$" + "".join(f".{part}" if _PLAIN.fullmatch(part) else f"['{part}']" for part in steps)


def _parsed(value: exp.Expr) -> exp.Expr:
    return function("TRY_PARSE_JSON", value)


def _json(c: Column) -> exp.Expr:
    """A part as JSON text, also where a typed source has it as a struct."""
    return (
        function("TO_JSON", column(c.name))
        if family(c.type) == "complex"
        else exp.Cast(this=column(c.name), to=string_type())
    )


def _top(names: dict[str, Column]) -> list[tuple[str, exp.Expr]]:
    return [(_top_name(name), _json(c)) for name, c in names.items()]


def _top_name(name: str) -> str:
    return f"{HIDDEN_PREFIX}top_{name}"


def _part(name: str) -> str:
    return f"{HIDDEN_PREFIX}part_{name}"


def _value_of(name: str, names: dict[str, Column]) -> exp.Expr:
    if RAW_PAYLOAD in names:
        inside = _inside(_OPENED, f"{PAYLOAD}.{name}")
        return case([(is_null(_inside(_OPENED, PAYLOAD)), _inside(_OPENED, name))], inside)
    bare = column(_top_name(name)) if name in names else null_of(string_type())
    if PAYLOAD not in names:
        return bare
    return case([(is_null(column(_top_name(PAYLOAD))), bare)], _inside(_OPENED, name))


def _or_blank(value: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=value, expressions=[text("")])
