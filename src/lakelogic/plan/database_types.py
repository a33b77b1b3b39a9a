"""Types of databases as types of the plan: what a column is asked for as, so that every engine gets the same.

A type that drivers read in different ways is asked for as text, and cast by the plan like any text: `NaN` in a
numeric column is then a failed cast of its row and not the end of the run. Times without a zone are in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from lakelogic.core.database_url import Kind
from lakelogic.plan.expressions import case, cast, column, function, text
from lakelogic.plan.types import family, is_whole, named, string_type


@dataclass(frozen=True, slots=True)
class NativeColumn:
    """A column as the database declares it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column as it is asked for, and the type in which it arrives."""

    name: str
    value: exp.Expr
    type: exp.DataType


def read_column(kind: Kind, native: NativeColumn, declared: exp.DataType | None) -> ReadColumn:
    """How a column is asked for, given the type that the contract declares for it (None: it declares none)."""
    return _READERS[kind](native, declared)


def _postgresql(native: NativeColumn, declared: exp.DataType | None) -> ReadColumn:
    value, type_ = column(native.name), native.type.lower()
    plain = _POSTGRESQL.get(type_)
    if plain is not None:
        return ReadColumn(native.name, value, named(plain))
    if type_.startswith("character varying"):
        return ReadColumn(native.name, value, string_type())
    if type_ == "date" or type_.startswith("timestamp"):
        return _postgresql_time(native.name, type_, declared)
    if type_.startswith("numeric"):
        return _exact(native, declared, function("TRUNC", value.copy()))
    if type_.endswith("[]"):
        return ReadColumn(native.name, _as_text(function("TO_JSON", value)), string_type())
    return ReadColumn(native.name, _as_text(value), string_type())


def _postgresql_time(name: str, type_: str, declared: exp.DataType | None) -> ReadColumn:
    zoned, value = type_.endswith("with time zone"), column(name)
    if family(declared) in {"date", "timestamp"}:
        # As text: `infinity` and years before Christ are then failures of their rows, the same ones on every engine.
        return ReadColumn(name, _as_text(_in_utc(value) if zoned else value), string_type())
    finite = _finite(value, "date" if type_ == "date" else "timestamptz" if zoned else "timestamp")
    if type_ == "date":
        return ReadColumn(name, finite, named("date"))
    # As an instant: a driver that goes through the zone of its host would move some of them.
    return ReadColumn(name, finite if zoned else _in_utc(finite), named("timestamp"))


def _in_utc(value: exp.Expr) -> exp.Expr:
    return exp.AtTimeZone(this=value, zone=text("UTC"))


def _finite(value: exp.Expr, type_: str) -> exp.Expr:
    """A time that is none ends the query: a driver makes some day or other of `infinity`, each its own."""
    number = exp.Cast(this=_as_text(value.copy()), to=exp.DataType.build("int"))
    none = exp.Cast(this=_as_text(number), to=exp.DataType.build(type_, dialect="postgres"))
    return case([(function("ISFINITE", value.copy()), value)], none)


_POSTGRESQL: Mapping[str, str] = {
    "smallint": "smallint", "integer": "int", "bigint": "bigint", "real": "float", "double precision": "double",
    "boolean": "boolean", "text": "string", "bytea": "binary",
}  # fmt: skip


def _mysql(native: NativeColumn, declared: exp.DataType | None) -> ReadColumn:
    value, type_ = column(native.name), native.type.lower()
    whole = re.match(r"(tiny|small|medium|big)?int", type_) or type_.startswith(("year", "bit"))
    if whole and "unsigned" not in type_:
        # One width for all: drivers take tinyint(1) for a boolean, and bit for bytes.
        signed = exp.Cast(this=value, to=exp.DataType.build("SIGNED", dialect="mysql"))
        return ReadColumn(native.name, signed, named("bigint"))
    if type_.startswith(("double", "float", "real")):
        return ReadColumn(native.name, exp.Add(this=value, expression=exp.Literal.number("0e0")), named("double"))
    if "blob" in type_ or "binary" in type_:
        return ReadColumn(native.name, value, named("binary"))
    if type_.startswith("decimal"):
        return _exact(native, declared, function("TRUNCATE", value.copy(), exp.Literal.number("0")))
    return ReadColumn(native.name, _as_text(value), string_type())


def _sqlite(native: NativeColumn, declared: exp.DataType | None) -> ReadColumn:
    value = column(native.name)
    if "blob" in native.type.lower():
        return ReadColumn(native.name, exp.Cast(this=value, to=exp.DataType.build("blob")), named("binary"))
    # Any cell may hold any kind of value. As text a real number would lose digits, and bytes need not be a text.
    kind = function("TYPEOF", value.copy())
    real = exp.EQ(this=kind, expression=text("real"))
    shown = function("PRINTF", text("%!.17g"), value.copy())
    bytes_ = exp.EQ(this=kind.copy(), expression=text("blob"))
    chosen = case([(real, shown), (bytes_, function("QUOTE", value.copy()))], _as_text(value))
    return ReadColumn(native.name, chosen, string_type())


_READERS: Mapping[Kind, Callable[[NativeColumn, exp.DataType | None], ReadColumn]] = {
    "postgresql": _postgresql, "mysql": _mysql, "sqlite": _sqlite,
}  # fmt: skip


def _exact(native: NativeColumn, declared: exp.DataType | None, cut: exp.Expr) -> ReadColumn:
    """A decimal as text, so that no digit is lost and no value of it can end the run."""
    value = column(native.name)
    size = re.search(r"\((\d+)(?:,\s*(\d+))?\)", native.type)
    precision, scale = (int(size[1]), int(size[2] or 0)) if size else (0, 0)
    if declared is None and 0 < precision <= 38 and scale <= precision:
        return ReadColumn(native.name, value, named(f"decimal({precision},{scale})"))
    if not is_whole(declared):
        return ReadColumn(native.name, _as_text(value), string_type())
    # 42.00 is a whole number, 4.70 is not and keeps its text.
    is_cut = exp.EQ(this=value.copy(), expression=cut.copy())
    whole = cast(cut, exp.DataType.build("DECIMAL(38,0)")) if size else cut
    return ReadColumn(native.name, case([(is_cut, _as_text(whole))], _as_text(value)), string_type())


def _as_text(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build("text"))


def is_numeric(kind: Kind, type_: str, value: str) -> bool:
    """Whether values of a column are written without quotes when they are compared."""
    if kind == "sqlite":
        return bool(re.fullmatch(r"-?\d+(\.\d+)?", value))
    return bool(
        re.match(r"(tiny|small|medium|big)?int(?!erval)|numeric|decimal|double|real|float|number", type_.lower())
    )


def is_time(kind: Kind, type_: str) -> bool:
    """Whether values of a column are dates or times, from which a time can be taken."""
    return kind == "sqlite" or type_.lower().startswith(("date", "timestamp", "smalldatetime"))
