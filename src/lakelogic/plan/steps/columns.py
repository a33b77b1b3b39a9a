"""Steps that change the columns of a row and leave the rows alone."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Mapping
from typing import assert_never

from sqlglot import exp

from lakelogic.contract import transformations as t
from lakelogic.plan.casting import CastRequest
from lakelogic.plan.checks import Failure
from lakelogic.plan.expressions import (
    as_text,
    case,
    cast,
    column,
    function,
    is_null,
    null_of,
    number,
    text,
    try_cast,
)
from lakelogic.plan.model import Column
from lakelogic.plan.sql import SqlProblem
from lakelogic.plan.stage_builder import Output, keep
from lakelogic.plan.types import family, named, parse_type, string_type
from lakelogic.plan.workbench import Workbench

_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800}


def literal(value: object) -> exp.Expr:
    """A value of the contract as a SQL literal."""
    if isinstance(value, datetime.datetime):
        return cast(text(value.isoformat(sep=" ")), named("timestamp"))
    if isinstance(value, datetime.date):
        return cast(text(value.isoformat()), named("date"))
    if isinstance(value, decimal.Decimal):
        return exp.Literal.number(str(value))
    return exp.convert(value)


def literal_type(value: object) -> exp.DataType:
    match value:
        case bool():
            return named("boolean")
        case int():
            return named("int" if abs(value) < 2**31 else "bigint")
        case float():
            return named("double")
        case decimal.Decimal():
            return named("double")
        case datetime.datetime():
            return named("timestamp")
        case datetime.date():
            return named("date")
        case _:
            return string_type()


def compile_rename(step: t.Rename, bench: Workbench) -> None:
    for old in step.mapping:
        bench.require(old)
    taken = {name for name in bench.relation.names if name not in step.mapping}
    for new in step.mapping.values():
        if new in taken and bench.relation.closed:
            raise SqlProblem("LL231", f"`rename` would give two columns the name `{new}`", "drop one of them first")
    outputs = []
    seen: set[str] = set()
    for c in bench.relation.columns:
        new = step.mapping.get(c.name, c.name)
        if new in seen or (c.name not in step.mapping and new in step.mapping.values()):
            continue  # only without a look at the source: the declared name stands for the renamed column
        seen.add(new)
        outputs.append(Output(Column(new, c.type, c.nullable, c.comment, c.masking), column(c.name)))
    for old, new in step.mapping.items():
        if new not in seen:
            outputs.append(Output(Column(new, string_type()), column(old)))
    bench.builder.project("rename " + ", ".join(f"{a} to {b}" for a, b in step.mapping.items()), outputs)


def compile_select(step: t.Select, bench: Workbench) -> None:
    outputs = [keep(bench.require(name)) for name in step.columns]
    bench.builder.project("select " + ", ".join(step.columns), outputs)


def compile_drop(step: t.Drop, bench: Workbench) -> None:
    for name in step.columns:
        bench.require(name)
    left = [keep(c) for c in bench.relation.columns if c.name not in step.columns]
    if not left:
        raise SqlProblem("LL232", "`drop` would take away every column")
    bench.builder.project("drop " + ", ".join(step.columns), left)


def compile_cast(step: t.Cast, bench: Workbench) -> None:
    requests = []
    for name, wanted in step.types.items():
        type_ = parse_type(wanted)
        if type_ is None:
            raise SqlProblem("LL233", f"`{wanted}` is not a type")
        requests.append(CastRequest(bench.require(name), type_))
    bench.cast_columns("cast " + ", ".join(f"{n} to {w}" for n, w in step.types.items()), requests)


def compile_text(step: t.Trim | t.Lower | t.Upper, bench: Workbench) -> None:
    outputs = []
    for name in step.fields:
        found = bench.require(name)
        if family(found.type) not in {"text", "unknown"}:
            raise SqlProblem("LL222", f"`{step.kind}` needs text, but `{name}` is not", "use it before the cast")
        outputs.append(Output(Column(name, string_type(), comment=found.comment), _rewritten(step, name)))
    bench.set_columns(f"{step.kind} " + ", ".join(step.fields), outputs)


def _rewritten(step: t.Trim | t.Lower | t.Upper, name: str) -> exp.Expr:
    match step:
        case t.Trim(side=side):
            return function({"both": "TRIM", "left": "LTRIM", "right": "RTRIM"}[side], column(name))
        case t.Lower():
            return exp.Lower(this=column(name))
        case t.Upper():
            return exp.Upper(this=column(name))
        case _:
            assert_never(step)


def compile_derive(step: t.Derive, bench: Workbench) -> None:
    """A later column may use an earlier one, as authors expect; those that do not are made side by side.

    A segment for each column would nest as many queries, which Spark cannot take apart when they are a hundred.
    """
    together: dict[str, str] = {}
    for name, sql in step.columns.items():
        if any(_words(made) <= _words(f"{name} {sql}") for made in together):
            _derive_together(together, bench)
            together = {}
        together[name] = sql
    _derive_together(together, bench)


def _derive_together(columns: Mapping[str, str], bench: Workbench) -> None:
    outputs: list[Output] = []
    failures: list[Failure] = []
    labels = []
    for name, sql in columns.items():
        compiled = bench.expression(sql)
        label = f"derive {name} = {sql}"
        outputs.append(Output(Column(name, compiled.type), compiled.expression))
        failures += bench.step_failure(compiled, label)
        labels.append(f"{name} = {sql}")
    bench.set_columns("derive " + ", ".join(labels), outputs, failures)


def _words(sql: str) -> set[str]:
    return set(re.findall(r"\w+", sql.lower()))


def compile_coalesce(step: t.CoalesceStep, bench: Workbench) -> None:
    found = [bench.require(name) for name in step.sources]
    kinds = {family(c.type) for c in found} - {"unknown"}
    if len(kinds) > 1:
        raise SqlProblem("LL221", "`coalesce` mixes types: " + ", ".join(f"`{c.name}`" for c in found))
    values: list[exp.Expr] = [column(c.name) for c in found]
    if step.default is not None:
        values.append(literal(step.default))
    value = exp.Coalesce(this=values[0], expressions=values[1:]) if len(values) > 1 else values[0]
    bench.set_columns(f"coalesce {step.field}", [Output(Column(step.field, found[0].type), value)])


def compile_map_values(step: t.MapValues, bench: Workbench) -> None:
    found = bench.require(step.field)
    kinds = {literal_type(v).sql() for v in step.mapping.values() if v is not None}
    as_words = len(kinds) != 1 or "TEXT" in kinds or "STRING" in kinds
    type_ = string_type() if as_words else literal_type(next(v for v in step.mapping.values() if v is not None))
    given = as_text(column(step.field)) if family(found.type) != "text" else column(step.field)
    branches: list[tuple[exp.Expr, exp.Expr]] = []
    for key, value in step.mapping.items():
        mapped = null_of(type_) if value is None else text(str(value)) if as_words else literal(value)
        branches.append((exp.EQ(this=given.copy(), expression=text(str(key))), mapped))
    if "default" in step.model_fields_set:
        other = _mapped_default(step.default, type_, as_words)
        # An absent value stays absent: the default is for values that are not listed.
        branches.insert(0, (is_null(column(step.field)), null_of(type_)))
    else:
        other = given.copy() if as_words else try_cast(given.copy(), type_)
    output = Output(Column(step.output or step.field, type_), case(branches, other))
    bench.set_columns(f"map_values {step.field}", [output])


def _mapped_default(value: object, type_: exp.DataType, as_words: bool) -> exp.Expr:
    if value is None:
        return null_of(type_)
    return text(str(value)) if as_words else literal(value)


def compile_split(step: t.Split, bench: Workbench) -> None:
    found = bench.require(step.field)
    if family(found.type) not in {"text", "unknown"}:
        raise SqlProblem("LL222", f"`split` needs text, but `{step.field}` is not")
    # SPLIT takes a regular expression; the delimiter of a contract is plain text.
    pattern = "".join(f"\\{c}" if c in r"\.[]{}()*+?^$|" else c for c in step.delimiter)
    value = exp.RegexpSplit(this=column(step.field), expression=text(pattern))
    type_ = named("array<string>")
    bench.set_columns(f"split {step.field}", [Output(Column(step.output or step.field, type_), value)])


def compile_json_extract(step: t.JsonExtract, bench: Workbench) -> None:
    bench.require(step.source)
    value: exp.Expr = function("GET_JSON_OBJECT", column(step.source), text(step.json_path))
    label = f"json_extract {step.field} from {step.source} {step.json_path}"
    if step.cast is None:
        bench.set_columns(label, [Output(Column(step.field, string_type()), value)])
        return
    type_ = parse_type(step.cast)
    assert type_ is not None
    bench.set_columns(label, [Output(Column(step.field, string_type()), value)])
    request = CastRequest(Column(step.field, string_type()), type_)
    bench.cast_columns(f"cast {step.field} to {step.cast}", [request])


def compile_bucket(step: t.Bucket, bench: Workbench) -> None:
    found = bench.require(step.source)
    if family(found.type) not in {"number", "date", "timestamp", "unknown"}:
        raise SqlProblem("LL222", f"`bucket` needs a number or a date, but `{step.source}` is not")
    branches: list[tuple[exp.Expr, exp.Expr]] = []
    for bin_ in step.bins:
        limits = [
            kind(this=column(step.source), expression=literal(bound))
            for kind, bound in ((exp.LT, bin_.lt), (exp.LTE, bin_.lte), (exp.GT, bin_.gt), (exp.GTE, bin_.gte))
            if bound is not None
        ]
        if not limits:
            raise SqlProblem("LL234", "a bin has no limit", "give it `lt`, `lte`, `gt` or `gte`")
        branches.append((exp.and_(*limits), text(str(bin_.label))))
    default = text(str(step.default)) if step.default is not None else null_of(string_type())
    output = Output(Column(step.field, string_type()), case(branches, default))
    bench.set_columns(f"bucket {step.field} by {step.source}", [output])


def compile_date_diff(step: t.DateDiff, bench: Workbench) -> None:
    for name in (step.from_, step.to):
        kind = family(bench.require(name).type)
        if kind not in {"date", "timestamp", "unknown"}:
            raise SqlProblem(
                "LL222", f"`date_diff` needs dates, but `{name}` is not", "declare it as date or timestamp"
            )
    long = named("bigint")
    start, end = column(step.from_), column(step.to)
    value: exp.Expr
    if step.unit == "days":
        date = named("date")
        value = cast(exp.DateDiff(this=cast(end, date), expression=cast(start, date)), long)
    elif step.unit in _SECONDS:
        seconds = exp.Sub(this=_seconds(end), expression=_seconds(start))
        value = cast(exp.paren(exp.IntDiv(this=exp.paren(seconds), expression=number(_SECONDS[step.unit]))), long)
    else:
        months = function("MONTHS_BETWEEN", end, start)
        whole = months if step.unit == "months" else exp.Div(this=months, expression=number(12))
        # Truncated toward zero, so that the sign does not change the count.
        value = cast(exp.paren(whole), long)
    bench.set_columns(f"date_diff {step.field}", [Output(Column(step.field, long), value)])


def _seconds(value: exp.Expr) -> exp.Expr:
    timestamp = named("timestamp")
    return cast(cast(value, timestamp), named("bigint"))
