"""What turns one type into another without a value being lost: new nested fields, and wider types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from lakelogic.plan.types import is_decimal, is_whole

DType = exp.DataType.Type
Path = tuple[str, ...]

# Decimal digits that the values of a whole type need.
_DIGITS = {DType.TINYINT: 3, DType.SMALLINT: 5, DType.INT: 10, DType.BIGINT: 20}
_SIZE = {DType.TINYINT: 1, DType.SMALLINT: 2, DType.INT: 4, DType.BIGINT: 8}


@dataclass(frozen=True, slots=True)
class NewField:
    """A field that a struct lacks; `after` names the one before it where it does not come last."""

    path: Path
    type: exp.DataType
    after: str | None = None
    first: bool = False


@dataclass(frozen=True, slots=True)
class Wider:
    """A type that takes all values of the former one."""

    path: Path
    before: exp.DataType
    after: exp.DataType


@dataclass(frozen=True, slots=True)
class Lost:
    """A nested field that is no longer wanted."""

    path: Path


@dataclass(frozen=True, slots=True)
class Other:
    """A type that does not take all values of the former one."""

    path: Path
    before: exp.DataType
    after: exp.DataType


TypeChange = NewField | Wider | Lost | Other


def compare_types(there: exp.DataType, wanted: exp.DataType, path: Path) -> Iterator[TypeChange]:
    """Every difference between two types, down to nested fields."""
    if there == wanted:
        return
    if there.this != wanted.this or there.this not in (DType.STRUCT, DType.ARRAY, DType.MAP):
        kind = Wider if _takes_all(there, wanted) else Other
        yield kind(path, there, wanted)
        return
    if there.this == DType.STRUCT:
        yield from _compare_fields(there, wanted, path)
        return
    names = ("element",) if there.this == DType.ARRAY else ("key", "value")
    for name, before, after in zip(names, there.expressions, wanted.expressions, strict=True):
        yield from compare_types(before, after, (*path, name))


def _compare_fields(there: exp.DataType, wanted: exp.DataType, path: Path) -> Iterator[TypeChange]:
    before = {part.name: part.args["kind"] for part in there.expressions}
    after = {part.name: part.args["kind"] for part in wanted.expressions}
    yield from (Lost((*path, name)) for name in before if name not in after)
    names = list(after)
    for place, name in enumerate(names):
        if name in before:
            yield from compare_types(before[name], after[name], (*path, name))
        elif any(later in before for later in names[place + 1 :]):
            yield NewField((*path, name), after[name], names[place - 1] if place else None, first=not place)
        else:
            yield NewField((*path, name), after[name])


def _takes_all(there: exp.DataType, wanted: exp.DataType) -> bool:
    """The widenings that Delta knows."""
    if is_whole(there):
        if is_whole(wanted):
            return _SIZE[there.this] < _SIZE[wanted.this]
        if is_decimal(wanted):
            precision, scale = _precision(wanted)
            return precision - scale >= _DIGITS[there.this]
        return bool(wanted.this == DType.DOUBLE and there.this != DType.BIGINT)
    if is_decimal(there) and is_decimal(wanted):
        (p1, s1), (p2, s2) = _precision(there), _precision(wanted)
        return s2 >= s1 and p2 - p1 >= s2 - s1
    if there.this == DType.FLOAT:
        return bool(wanted.this == DType.DOUBLE)
    return bool(there.this == DType.DATE and wanted.this == DType.TIMESTAMPNTZ)


def _precision(type_: exp.DataType) -> tuple[int, int]:
    precision, scale = [*(int(part.name) for part in type_.expressions), 0][:2]
    return precision, scale
