"""Change events: an envelope or a flat row becomes the row it speaks of, with what is to happen to it beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.source import Cdc
from lakelogic.core.errors import PlanError
from lakelogic.plan.casting import CastRequest, cast_output
from lakelogic.plan.checks import Failure
from lakelogic.plan.expressions import all_of, as_text, case, cast, column, function, is_null, negate, placeholder, text
from lakelogic.plan.model import (
    DELETE_COLUMN,
    DELETED_POSITION_COLUMN,
    EVENT_TIME_COLUMN,
    HIDDEN_PREFIX,
    OPERATION_COLUMN,
    POSITION_COLUMN,
    UNCHANGED_COLUMN,
    Column,
)
from lakelogic.plan.positions import comparable, join_position
from lakelogic.plan.schema_gate import Gate
from lakelogic.plan.stage_builder import Output, keep
from lakelogic.plan.types import family, named, parse_type, string_type
from lakelogic.plan.workbench import Workbench

UPSERT, DELETE, TRUNCATE = "upsert", "delete", "truncate"
WORDS = {
    UPSERT: ("c", "r", "u", "i", "create", "read", "update", "insert", "upsert", "snapshot"),
    DELETE: ("d", "delete"),
    TRUNCATE: ("t", "truncate"),
}
_RANKS = ((UPSERT, "0"), (DELETE, "1"), (TRUNCATE, "2"))
_PART_COLUMN, _CONTENT_COLUMN = f"{HIDDEN_PREFIX}place_", f"{HIDDEN_PREFIX}content"
_KEY_KINDS = ("cast", "required", "key")
CHANGE = "change event"  # category of what is wrong with an event itself


def reads_events(contract: Contract) -> bool:
    """Whether the source holds changes of rows instead of rows."""
    source = contract.source
    return source is not None and (source.load_mode == "cdc" or source.cdc is not None)


def reads_envelopes(contract: Contract) -> bool:
    return reads_events(contract) and events_of(contract).format == "debezium"


def events_of(contract: Contract) -> Cdc:
    assert contract.source is not None
    return contract.source.cdc or Cdc()


def operation_of(word: exp.Expr) -> exp.Expr:
    """What a source's word for an operation means; NULL where nobody knows."""
    plain = function("LOWER", function("TRIM", word))
    known = [(exp.In(this=plain.copy(), expressions=[text(w) for w in ws]), text(op)) for op, ws in WORDS.items()]
    return case(known)


def is_operation(name: str) -> exp.Expr:
    return exp.EQ(this=column(OPERATION_COLUMN), expression=text(name))


def event_columns(operation: exp.Expr, parts: Sequence[exp.Expr], content: exp.Expr, time: exp.Expr | None) -> list[
    tuple[str, exp.Expr]
]:  # fmt: skip
    """What stands beside the row: the operation, whether it deletes, its time, and what its place is made of."""
    deletes = exp.In(this=operation.copy(), expressions=[text(DELETE), text(TRUNCATE)])
    run_time = cast(placeholder("processed_at"), named("timestamp"))
    return [
        (OPERATION_COLUMN, operation),
        (DELETE_COLUMN, exp.Coalesce(this=deletes, expressions=[exp.false()])),
        *[(f"{_PART_COLUMN}{number}", part) for number, part in enumerate(parts)],
        (_CONTENT_COLUMN, content),
        (EVENT_TIME_COLUMN, exp.Coalesce(this=time, expressions=[run_time]) if time is not None else run_time),
    ]


def place_events(bench: Workbench) -> None:
    """The place of each event; a projection of its own, because a place names its parts many times."""
    if _CONTENT_COLUMN not in bench.relation.hidden:
        return
    parts = [name for name in bench.relation.hidden if name.startswith(_PART_COLUMN)]
    rank = case([(is_operation(op), text(rank)) for op, rank in _RANKS], text("0"))
    position = join_position([column(name) for name in parts], rank, column(_CONTENT_COLUMN))
    bench.builder.project(
        "find the place of each event",
        [keep(c) for c in bench.relation.columns],
        new_hidden=[(POSITION_COLUMN, position)],
        drop_hidden=[*parts, _CONTENT_COLUMN],
    )


def flat_events(bench: Workbench, gate: Gate) -> list[tuple[str, exp.Expr]]:
    """The event columns of rows that carry their operation in a column of their own."""
    if not reads_events(bench.contract) or reads_envelopes(bench.contract):
        return []
    cdc = events_of(bench.contract)
    known = {c.name: c for c in gate.columns}
    for index, name in enumerate([cdc.operation_field, *cdc.order_by]):
        if gate.closed and name not in known:
            path = f"source.cdc.order_by.{index - 1}" if index else "source.cdc.operation_field"
            raise PlanError(
                f"`{name}` is not in the source, and change rows are read by it",
                where=bench.contract.at(path),
                code="LL320",
                hint=f"the source has: {', '.join(known)}",
            )
    typed = [_typed(bench.contract, known.get(name) or Column(name, string_type())) for name in cdc.order_by]
    parts = [comparable(value, type_, raw) for value, type_, raw in typed]
    times = [
        cast(value.copy(), named("timestamp")) for value, type_, _ in typed if family(type_) in {"date", "timestamp"}
    ]
    row = [exp.alias_(_as_told(c), c.name, quoted=True) for c in gate.columns]
    content = function("TO_JSON", exp.Struct(expressions=row))
    return event_columns(operation_of(column(cdc.operation_field)), parts, content, times[0] if times else None)


def _as_told(c: Column) -> exp.Expr:
    """A value for the digest of a row: engines write the text of a value alike, its JSON not."""
    return as_text(column(c.name)) if family(c.type) in {"number", "boolean", "date", "timestamp"} else column(c.name)


def _typed(contract: Contract, found: Column) -> tuple[exp.Expr, exp.DataType, exp.Expr | None]:
    """A source column in its declared type, so that dates are ordered as dates; of numbers also the text read."""
    field = contract.model.field(found.name)
    wanted = parse_type(field.type) if field is not None else None
    if field is None or wanted is None or family(wanted) not in {"date", "timestamp", "number"}:
        return column(found.name), found.type, None
    raw = column(found.name) if family(wanted) == "number" and family(found.type) == "text" else None
    return cast_output(CastRequest(found, wanted, pattern=field.format)).expression, wanted, raw


def event_failures(bench: Workbench) -> list[Failure]:
    """What is wrong with an event whatever its row says."""
    if OPERATION_COLUMN not in bench.relation.hidden:
        return []
    failures = [change_failure(bench, is_null(column(OPERATION_COLUMN)), "the operation is known")]
    target = bench.contract.materialization
    if target is not None and target.strategy != "cdc":
        failures.append(change_failure(bench, is_operation(TRUNCATE), f"strategy {target.strategy} takes no truncate"))
    return failures


def change_failure(bench: Workbench, condition: exp.Expr, words: str) -> Failure:
    return bench.builder.book.add(condition, name=words, message=f"Change event: {words}", category=CHANGE, kind="rule")


def spare_deletes(bench: Workbench, failures: Sequence[Failure]) -> list[Failure]:
    """A delete needs its key and nothing else; a truncate not even that."""
    if OPERATION_COLUMN not in bench.relation.hidden:
        return list(failures)
    keys = {name for key in bench.contract.primary_key for name in (key, *_aliases(bench.contract, key))}
    spared = []
    for failure in failures:
        check = failure.check
        if check.category == CHANGE or check.kind == "malformed":
            spared.append(failure)
            continue
        is_key = check.column in keys and check.kind in _KEY_KINDS
        # Nothing is known of an event without an operation, so that more reasons would only be noise.
        speaking = [UPSERT, DELETE] if is_key else [UPSERT]
        said = exp.In(this=column(OPERATION_COLUMN), expressions=[text(word) for word in speaking])
        judged: exp.Expr = exp.Coalesce(this=said, expressions=[exp.false()])
        if check.kind == "required" and check.column is not None and UNCHANGED_COLUMN in bench.relation.hidden:
            judged = all_of([judged, negate(_is_untold(check.column))])
        spared.append(replace(failure, condition=all_of([judged, failure.condition])))
    return spared


def _is_untold(name: str) -> exp.Expr:
    """True where an event leaves a value out that has not changed: it is not absent."""
    listed = exp.Coalesce(this=column(UNCHANGED_COLUMN), expressions=[text("")])
    return function("CONTAINS", listed, text(f",{name},"))


def _aliases(contract: Contract, name: str) -> tuple[str, ...]:
    field = contract.model.field(name)
    return field.aliases if field is not None else ()


def ignore_deletes(bench: Workbench) -> None:
    """`deletes: ignore`: a declared step that takes deletes and truncates away, and counts them."""
    if OPERATION_COLUMN in bench.relation.hidden and events_of(bench.contract).deletes == "ignore":
        kept = [keep(c) for c in bench.relation.columns]
        stays = negate(column(DELETE_COLUMN))
        bench.builder.project("ignore deletes", kept, where=stays, effect="removes", spared=bench.builder.failed())


def event_outputs(bench: Workbench) -> list[Output]:
    """The columns by which the target of change events remembers deletes and places."""
    target = bench.contract.materialization
    if target is None or target.strategy != "cdc" or POSITION_COLUMN not in bench.relation.hidden:
        return []
    outputs = [keep(Column(POSITION_COLUMN, string_type()))]
    if events_of(bench.contract).deletes != "soft":
        return outputs
    deleted, soft = column(DELETE_COLUMN), soft_columns(bench.contract)
    values = (
        deleted,
        case([(deleted.copy(), column(EVENT_TIME_COLUMN))]),
        case([(deleted.copy(), column(OPERATION_COLUMN))]),
    )
    types = ("boolean", "timestamp", "string")
    marks = [
        Output(Column(name, named(type_)), value)
        for name, type_, value in zip(soft, types, values, strict=True)
        if name
    ]
    remembered = Output(
        Column(DELETED_POSITION_COLUMN, string_type()), case([(deleted.copy(), column(POSITION_COLUMN))])
    )
    return [*marks, *outputs, remembered]


def soft_columns(contract: Contract) -> tuple[str, str, str]:
    """The names of the columns that mark a deleted row, its time and its reason; empty where there is none."""
    assert contract.materialization is not None
    soft = contract.materialization.soft_delete
    if events_of(contract).deletes != "soft":
        return ("", "", "")
    if soft is None:
        return ("is_deleted", "", "")
    return (soft.column, soft.time_column or "", soft.reason_column or "")
