"""Mistakes in a contract with strategy `scd2` that show when its columns are known."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.materialization import Materialization, Scd2
from lakelogic.plan.history import history_of, is_day, is_moment
from lakelogic.plan.model import Column
from lakelogic.plan.relation import unknown_column
from lakelogic.plan.sql import SqlProblem
from lakelogic.plan.types import family, type_name
from lakelogic.plan.workbench import Workbench

_PATH = "materialization.scd2"


def check_history(bench: Workbench) -> None:
    """Report what would keep a history from being right."""
    target = bench.contract.materialization
    if target is None or target.strategy != "scd2":
        return
    history = history_of(target)
    for path, problem in [
        *_timestamp(bench, history),
        *_tracked(bench, history),
        *_names(bench, history),
        *_unknown_member(bench, target, history),
    ]:
        bench.problems.append(problem.at(bench.contract.at(path)))


def _timestamp(bench: Workbench, history: Scd2) -> Iterator[tuple[str, SqlProblem]]:
    name = history.timestamp_field
    if name is None:
        return
    found = bench.relation.find(name)
    if found is None:
        if _is_closed(bench):
            yield f"{_PATH}.timestamp_field", unknown_column(name, bench.relation.names)
        return
    kind = "text" if _masking(bench.contract, found) else family(found.type)
    if kind not in {"date", "timestamp", "unknown"}:
        words = f"`{name}` says since when a row is true, and it is no date or timestamp"
        yield f"{_PATH}.timestamp_field", SqlProblem("LL240", words, "declare it as `type: timestamp`, unmasked")
    if name in bench.contract.primary_key:
        words = f"`{name}` is part of the key, so that every change would be another key"
        yield f"{_PATH}.timestamp_field", SqlProblem("LL240", words, "leave it out of the primary key")
    end = history.effective_to_default
    if not (is_day(end) if kind == "date" else is_moment(end)):
        words = f"`{end}` is no {'date' if kind == 'date' else 'date or timestamp'}"
        yield f"{_PATH}.effective_to_default", SqlProblem("LL242", words, "write it as 9999-12-31")


def _tracked(bench: Workbench, history: Scd2) -> Iterator[tuple[str, SqlProblem]]:
    relation = bench.relation
    for index, name in enumerate(history.track_columns):
        if relation.find(name) is None and _is_closed(bench):
            yield f"{_PATH}.track_columns.{index}", unknown_column(name, relation.names)
    fixed = {*bench.contract.primary_key, history.timestamp_field}
    compared = set(history.track_columns) or {c.name for c in relation.columns} - fixed
    for found in relation.columns:
        if _masking(bench.contract, found) == "encrypt" and found.name in compared | set(bench.contract.primary_key):
            words = f"`{found.name}` is encrypted at random: every run would see a change in it"
            hint = "use masking encrypt_deterministic or hash, or name the other columns under scd2.track_columns"
            yield _PATH, SqlProblem("LL241", words, hint)


def _names(bench: Workbench, history: Scd2) -> Iterator[tuple[str, SqlProblem]]:
    keys = ("effective_from_field", "effective_to_field", "current_flag_field", "version_column", "surrogate_key")
    taken = {name.lower(): "a column of the rows" for name in bench.relation.names}
    for key in keys:
        name = getattr(history, key)
        if name is None:
            continue
        if name.lower() in taken:
            words = f"`{name}` is also {taken[name.lower()]}"
            yield f"{_PATH}.{key}", SqlProblem("LL231", words, f"give the history's column another name: `{key}: ...`")
        taken[name.lower()] = f"`{key}`"


def _unknown_member(bench: Workbench, target: Materialization, history: Scd2) -> Iterator[tuple[str, SqlProblem]]:
    given = target.unknown_member or {}
    path = "materialization.unknown_member"
    known = {c.name: c for c in bench.relation.columns}
    for name, value in given.items():
        if name in {history.surrogate_key, history.timestamp_field}:
            continue
        found = known.get(name)
        if found is None:
            if _is_closed(bench):
                yield f"{path}.{name}", unknown_column(name, [*known, *filter(None, [history.surrogate_key])])
        elif value is not None and not _masking(bench.contract, found) and not _fits(value, found.type):
            words = f"`{value}` is no {type_name(found.type)}, which `{name}` is"
            yield f"{path}.{name}", SqlProblem("LL243", words)
    required = {field.name for field in bench.contract.fields if field.required} - {history.timestamp_field}
    for name in sorted({*bench.contract.primary_key, *required} if given else ()):
        if given.get(name) is None:
            words = f"the unknown member has no value for `{name}`"
            yield path, SqlProblem("LL243", words, f"add `{name}: ...`; keys and required columns are never NULL")


def _fits(value: object, type_: exp.DataType) -> bool:
    words = str(value)
    match family(type_):
        case "number":
            try:
                number = Decimal(words)
            except InvalidOperation:
                return False
            return number == number.to_integral_value() or not exp.DataType.is_type(type_, *exp.DataType.INTEGER_TYPES)
        case "date":
            return is_day(words)
        case "timestamp":
            return is_moment(words)
        case "boolean":
            return words.lower() in {"true", "false"}
        case "complex" | "binary":
            return False
        case _:
            return True


def _is_closed(bench: Workbench) -> bool:
    """Whether all columns of the output are known, also where nobody looked at the source yet."""
    source = bench.contract.source
    return bench.relation.closed or (bool(bench.contract.fields) and (source is None or source.columns != "all"))


def _masking(contract: Contract, found: Column) -> str | None:
    if found.masking is not None:
        return found.masking
    field = contract.model.field(found.name)
    return field.masking.strategy if field is not None and field.masking is not None else None
