"""Raw Bronze: every record as it came, with columns about its arrival; declared fields are parsed out beside it."""

from __future__ import annotations

from sqlglot import exp

from lakelogic import __version__
from lakelogic.contract.contract import Contract
from lakelogic.contract.raw import MISFIT, PAYLOAD, RAW_COLUMNS
from lakelogic.contract.source import Source
from lakelogic.contract.transformations import Transformation
from lakelogic.core.errors import Problem
from lakelogic.plan.drift import find_drift
from lakelogic.plan.expressions import alias, as_text, cast, column, function, null_of, number, placeholder, text
from lakelogic.plan.model import RECORD_COLUMN, Column, SourceFacts
from lakelogic.plan.schema_gate import Gate, missing_fields, needed_names, visible_columns
from lakelogic.plan.stage_builder import Output
from lakelogic.plan.steps.effects import made_columns
from lakelogic.plan.types import family, is_whole, named, string_type
from lakelogic.plan.workbench import Workbench


def raw_gate(contract: Contract, facts: SourceFacts) -> Gate:
    """Nothing is refused: a payload without a declared field is kept like any other, and the run tells of it."""
    visible, in_path = visible_columns(facts, path_wins=False)
    missing = missing_fields(contract, visible)
    known = needed_names(contract)
    # Where records are no lines of text, the payload is made of all columns.
    read = [c for c in visible if c.name in known or not (facts.records or c.name in in_path)]
    drift = find_drift(contract, facts, missing, ())
    return Gate(tuple(read), missing, drift=drift, in_path=tuple(c.name for c in read if c.name in in_path))


def is_parsed(contract: Contract, name: str) -> bool:
    """Whether a column of the source stands beside the payload: a field, or something that a step or rule reads."""
    return name in needed_names(contract) and name not in RAW_COLUMNS


def payload_output(gate: Gate, facts: SourceFacts | None) -> Output:
    """The record as read; a JSON object of its columns where it is no line of text."""
    made = Column(PAYLOAD, string_type(), comment="The record as it was read.")
    if facts is None or facts.records:
        return Output(made, column(RECORD_COLUMN))
    values = [alias(_value(c), c.name) for c in gate.columns if c.name not in gate.in_path]
    record = function("TO_JSON", exp.Struct(expressions=values))
    return Output(made, exp.Coalesce(this=column(RECORD_COLUMN), expressions=[record]) if facts.text else record)


def _value(c: Column) -> exp.Expr:
    # Readers of JSON take numbers for doubles, and Spark writes timestamps without microseconds: text keeps both.
    as_is = family(c.type) in {"text", "boolean", "complex", "binary", "date"} or is_whole(c.type)
    return column(c.name) if as_is else as_text(column(c.name))


def stamp_payload(bench: Workbench) -> None:
    """Where the payload came from, when, by which version of the program and of the contract, and its checksum."""
    contract, source = bench.contract, bench.contract.source
    assert source is not None
    outputs = [
        _text("source_system", contract.info.system, "The system that sent it (info.system)."),
        _text("source_topic", _topic(source), "The topic or table that it was read from; NULL for files."),
        Output(
            Column("ingestion_timestamp", named("timestamp"), comment="When the run began that read it."),
            cast(placeholder("processed_at"), named("timestamp")),
        ),
        _text("pipeline_version", __version__, "The version of LakeLogic that wrote it."),
        _text("schema_version", contract.version, "The version of the contract that it was read by."),
        Output(
            Column("checksum", string_type(), comment="SHA-256 of raw_payload, in hexadecimal digits."),
            exp.SHA2(this=column(PAYLOAD), length=number(256)),
        ),
    ]
    bench.set_columns("stamp the payload", outputs)


def _text(name: str, value: str | None, comment: str) -> Output:
    expression = text(value) if value is not None else null_of(string_type())
    return Output(Column(name, string_type(), comment=comment), expression)


def _topic(source: Source) -> str | None:
    if source.kafka is not None:
        return source.kafka.topic
    if source.database is not None:
        return source.database.table
    return source.path.removeprefix("table:") if source.path and source.type == "table" else None


def check_raw_step(bench: Workbench, step: Transformation, segments: int, stages: int) -> None:
    """A step may add columns; it must neither change which records there are nor touch the archive's own columns.

    `segments` and `stages` are how many there were before the step.
    """
    if not bench.contract.is_raw:
        return
    fresh = bench.builder.segments[segments:] if len(bench.done) == stages else bench.builder.segments
    touched = [name for name in RAW_COLUMNS if name in made_columns(step, bench.contract.dialect)]
    lost = [name for name in RAW_COLUMNS if bench.relation.find(name) is None]
    place = bench.contract.at(f"{step.path}.{step.kind}")
    hint = "do it in a contract that reads this table"
    if len(bench.done) != stages or any(segment.effect != "same" for segment in fresh):
        message = f"`{step.kind}` changes which records there are, and raw Bronze keeps every one"
        bench.problems.append(Problem(MISFIT, message, place, hint))
    elif touched or lost:
        message = f"raw Bronze keeps `{(touched or lost)[0]}` as it is, and this step changes or drops it"
        bench.problems.append(Problem(MISFIT, message, place, hint))
