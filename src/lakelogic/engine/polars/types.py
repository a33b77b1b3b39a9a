"""Polars' types as types of the plan, and back; the types that operands are brought to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.plan.model import HIDDEN_PREFIX, Column

Type = pl.DataType
TIMESTAMP, TIMESTAMP_NTZ = pl.Datetime("us", "UTC"), pl.Datetime("us")
WHOLE: tuple[Type, ...] = (pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64())
_DIGITS: dict[Any, int] = {pl.Int8: 3, pl.Int16: 5, pl.Int32: 10, pl.Int64: 20}
_MOST_DIGITS, _KEPT_SCALE = 38, 6
_KINDS = exp.DataType.Type

_OF_PLAN: dict[Any, Type] = {
    _KINDS.TINYINT: pl.Int8(), _KINDS.SMALLINT: pl.Int16(), _KINDS.INT: pl.Int32(), _KINDS.BIGINT: pl.Int64(),
    _KINDS.FLOAT: pl.Float32(), _KINDS.DOUBLE: pl.Float64(), _KINDS.BOOLEAN: pl.Boolean(), _KINDS.DATE: pl.Date(),
    _KINDS.TIMESTAMPTZ: TIMESTAMP, _KINDS.TIMESTAMPLTZ: TIMESTAMP, _KINDS.TIMESTAMP: TIMESTAMP_NTZ,
    _KINDS.DATETIME: TIMESTAMP, _KINDS.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    _KINDS.TEXT: pl.String(), _KINDS.VARCHAR: pl.String(),
    _KINDS.CHAR: pl.String(), _KINDS.BINARY: pl.Binary(), _KINDS.VARBINARY: pl.Binary(), _KINDS.NULL: pl.Null(),
}  # fmt: skip
_TO_PLAN: dict[Any, str] = {
    pl.Int8: "tinyint", pl.Int16: "smallint", pl.Int32: "int", pl.Int64: "bigint", pl.Float32: "float",
    pl.Float64: "double", pl.Boolean: "boolean", pl.Date: "date", pl.String: "string", pl.Binary: "binary",
}  # fmt: skip
# Types that Spark has not, and the one that it would read them as.
_SPARK_READS: dict[Any, Type] = {
    pl.UInt8: pl.Int16(), pl.UInt16: pl.Int32(), pl.UInt32: pl.Int64(), pl.UInt64: pl.Decimal(20, 0),
    pl.Int128: pl.Decimal(38, 0), pl.Categorical: pl.String(), pl.Enum: pl.String(), pl.Null: pl.String(),
}  # fmt: skip


def is_whole(type_: Type) -> bool:
    return type_ in WHOLE


def is_floating(type_: Type) -> bool:
    return type_ in (pl.Float32, pl.Float64)


def is_decimal(type_: Type) -> bool:
    return isinstance(type_, pl.Decimal)


def is_number(type_: Type) -> bool:
    return is_whole(type_) or is_floating(type_) or is_decimal(type_)


def is_moment(type_: Type) -> bool:
    return isinstance(type_, pl.Datetime)


def is_null(type_: Type) -> bool:
    return type_ == pl.Null


def decimal_size(type_: Type) -> tuple[int, int]:
    """Digits, and digits after the point, as decimal arithmetic sees an operand."""
    if isinstance(type_, pl.Decimal):
        return int(type_.precision or _MOST_DIGITS), int(type_.scale)
    return _DIGITS[type(type_)], 0


def decimal_of(precision: int, scale: int) -> pl.Decimal:
    """Spark's rule for results wider than 38 digits: give up digits after the point, but keep six."""
    if precision <= _MOST_DIGITS:
        return pl.Decimal(precision, scale)
    return pl.Decimal(_MOST_DIGITS, max(_MOST_DIGITS - (precision - scale), min(scale, _KEPT_SCALE)))


def of_plan(wanted: exp.DataType) -> Type:
    """A type of the plan in Polars' terms."""
    kind = wanted.this
    if kind == _KINDS.DECIMAL:
        sizes = [int(part.name) for part in wanted.expressions]
        precision, scale = [*sizes, 0][:2] if sizes else (10, 0)
        return pl.Decimal(precision, scale)
    if kind in {_KINDS.ARRAY, _KINDS.LIST}:
        return pl.List(of_plan(wanted.expressions[0]) if wanted.expressions else pl.Null())
    if kind == _KINDS.STRUCT:
        return pl.Struct([pl.Field(part.name, of_plan(_field_type(part))) for part in wanted.expressions])
    if kind not in _OF_PLAN or (wanted.expressions and kind in {_KINDS.VARCHAR, _KINDS.CHAR}):
        raise CapabilityError(
            f"the Polars engine has no type `{wanted.sql('databricks')}`", hint="use engine: spark, or another type"
        )
    return _OF_PLAN[kind]


def _field_type(part: exp.Expr) -> exp.DataType:
    kind = part.args.get("kind") or part.args.get("expression")
    assert isinstance(kind, exp.DataType)
    return kind


def to_plan(type_: Type) -> exp.DataType:
    return exp.DataType.build(_words(type_), dialect="databricks")


def _words(type_: Type) -> str:
    match type_:
        case pl.Decimal():
            precision, scale = decimal_size(type_)
            return f"decimal({precision},{scale})"
        case pl.Datetime():
            return "timestamp" if type_.time_zone else "timestamp_ntz"
        case pl.List() | pl.Array():
            inner: Any = type_.inner
            return f"array<{_words(inner)}>"
        case pl.Struct():
            fields: Any = type_.fields
            return f"struct<{', '.join(f'`{f.name}`: {_words(f.dtype)}' for f in fields)}>"
        case pl.Null():
            return "string"
    return _TO_PLAN[type(type_)]


def readable(name: str, type_: Type) -> Type:
    """The type that a source column is read as."""
    if isinstance(type_, (pl.Time, pl.Duration, pl.Object)):
        raise CapabilityError(f"column `{name}` has the type `{type_}`, which no table format has")
    if isinstance(type_, pl.Datetime):
        return TIMESTAMP if type_.time_zone else TIMESTAMP_NTZ
    if isinstance(type_, (pl.List, pl.Array)):
        inner: Any = type_.inner
        return pl.List(readable(name, inner))
    if isinstance(type_, pl.Struct):
        fields: Any = type_.fields
        return pl.Struct([pl.Field(f.name, readable(name, f.dtype)) for f in fields])
    read = _SPARK_READS.get(type(type_), type_)
    if type(read) not in _TO_PLAN and not isinstance(read, (pl.Decimal, pl.Null)):
        raise CapabilityError(
            f"the Polars engine cannot read column `{name}` of the type `{type_}`", hint="use engine: spark or duckdb"
        )
    return read


def typed_nulls(type_: Type) -> Type:
    """A type of a file with INT where it has none."""
    match type_:
        case pl.Null():
            return pl.Int32()
        case pl.List():
            inner: Any = type_.inner
            return pl.List(typed_nulls(inner))
        case pl.Struct():
            fields: Any = type_.fields
            return pl.Struct([pl.Field(f.name, typed_nulls(f.dtype)) for f in fields])
    return type_


def to_columns(types: Iterable[tuple[str, Type]]) -> tuple[Column, ...]:
    return tuple(Column(name, to_plan(type_)) for name, type_ in types)


def text_columns(names: Sequence[str]) -> tuple[Column, ...]:
    return to_columns((name, pl.String()) for name in names)


def keeps_type(column: Column) -> bool:
    """True where the plan does not know the type: hidden columns between stages, results it cannot tell."""
    return has_no_type(column) or column.name.startswith(HIDDEN_PREFIX)


def has_no_type(column: Column) -> bool:
    return column.type.this in {_KINDS.UNKNOWN, _KINDS.NULL}


def common_type(types: Sequence[Type], what: exp.Expr) -> Type:
    """The type that Spark would bring these operands to; `what` is named where there is none."""
    known = [type_ for type_ in types if not is_null(type_)]
    if not known:
        return pl.Null()
    common = known[0]
    for other in known[1:]:
        common = _pair(common, other, what)
    return common


def _pair(left: Type, right: Type, what: exp.Expr) -> Type:
    if left == right:
        return left
    if is_number(left) and is_number(right):
        return _number_pair(left, right)
    if {type(left), type(right)} == {pl.Date, pl.Datetime}:
        return left if is_moment(left) else right
    if isinstance(left, pl.List) and isinstance(right, pl.List):
        inner: Any = (left.inner, right.inner)
        return pl.List(common_type(inner, what))
    raise CapabilityError(
        f"the Polars engine does not mix `{_shown(left)}` and `{_shown(right)}` in `{what.sql('databricks')}`",
        hint="CAST one of them, or use engine: spark",
    )


def _shown(type_: Type) -> str:
    return to_plan(type_).sql("databricks").lower()


def _number_pair(left: Type, right: Type) -> Type:
    if is_whole(left) and is_whole(right):
        return max(left, right, key=WHOLE.index)
    if is_floating(left) or is_floating(right):
        # A float holds every small whole number, but not every INT.
        small = {pl.Float32(), pl.Int8(), pl.Int16()}
        return pl.Float32() if left in small and right in small else pl.Float64()
    (p1, s1), (p2, s2) = decimal_size(left), decimal_size(right)
    scale = max(s1, s2)
    return decimal_of(max(p1 - s1, p2 - s2) + scale, scale)
