"""A compiled expression: Polars' expression, its type, and its value where it is a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import polars as pl
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.duckdb.render import find_refusals  # needs no DuckDB
from lakelogic.engine.polars.types import Type


@dataclass(frozen=True, slots=True)
class Value:
    """What a node of a query becomes."""

    expr: pl.Expr
    type: Type
    constant: Any = None  # the value of a literal, else None


class Compile(Protocol):
    """Gives the value of a node of the tree that is being compiled."""

    def __call__(self, node: exp.Expr) -> Value: ...

    @property
    def guard(self) -> pl.Expr | None:
        """True for the rows that reach the branch being compiled; None: all."""

    @property
    def names(self) -> Mapping[str, Value]:
        """The names of lambdas around, which are no columns."""

    def inside(self, guard: pl.Expr) -> Compile:
        """The same, for a branch that only rows of `guard` reach."""

    def with_names(self, names: dict[str, Value]) -> Compile:
        """The same, where these names (of a lambda) are known."""


Handler = Callable[[exp.Expr, Compile], Value]


def refused(what: exp.Expr | str) -> CapabilityError:
    """The refusal of a node, which says who can compute it."""
    text = what if isinstance(what, str) else what.sql("databricks")
    able = "spark, duckdb" if isinstance(what, exp.Expr) and _duckdb_can(what) else "spark"
    return CapabilityError(
        f"the Polars engine cannot compute `{text}` the way Spark does; {able} can",
        hint="write it with other functions, or use an engine that has it",
    )


def _duckdb_can(node: exp.Expr) -> bool:
    try:
        return not list(find_refusals(node))
    except SqlglotError:
        return False  # a part of a query that cannot be read alone, such as a join


def lit(value: Any, type_: Type) -> Value:
    return Value(pl.lit(value, dtype=type_), type_, value)


def null(type_: Type | None = None) -> Value:
    return Value(pl.lit(None, dtype=type_ or pl.Null()), type_ or pl.Null())


def text(value: Value) -> str | None:
    """The constant text that a value is, where it is one."""
    return value.constant if isinstance(value.constant, str) else None


def call(function: Callable[..., Any], arguments: Sequence[Value], gives: Type, guard: pl.Expr | None = None) -> Value:
    """A Python function over rows; NULL in any argument gives NULL. Only rows of `guard` are computed."""
    return call_all(lambda *row: None if None in row else function(*row), arguments, gives, guard, null_of_null=True)


def call_all(
    function: Callable[..., Any],
    arguments: Sequence[Value],
    gives: Type,
    guard: pl.Expr | None = None,
    *,
    null_of_null: bool = False,
) -> Value:
    """A Python function over rows that sees NULLs too, unless they are known to give NULL."""
    first = arguments[0].expr if guard is None else pl.when(guard).then(arguments[0].expr)
    others = [argument.expr for argument in arguments[1:]]

    def run(columns: Sequence[pl.Series]) -> pl.Series:
        height = max(len(column) for column in columns)
        if null_of_null and any(column.null_count() == len(column) for column in columns):
            return pl.Series([None], dtype=gives).new_from_index(0, height)
        lists = [_stretched(column, height) for column in columns]
        rows = zip(*lists, strict=True)
        return pl.Series([function(*row) for row in rows], dtype=gives, strict=True)

    return Value(pl.map_batches([first, *others], run, return_dtype=gives, is_elementwise=True), gives)


def only_where(test: pl.Expr, value: Value) -> pl.Expr:
    """The value for the rows that pass, NULL for others; computed for those rows alone.

    `pl.when` computes both sides for all rows of a part of the data as soon as one of its rows passes.
    """
    names = value.expr.meta.root_names()
    if not names:
        return pl.when(test).then(value.expr)

    def run(columns: Sequence[pl.Series]) -> pl.Series:
        passed = columns[0].fill_null(False)
        if len(passed) != len(columns[1]):
            passed = passed.new_from_index(0, len(columns[1]))  # a test without a column is one value
        numbers = pl.select(pl.when(passed).then(passed.cum_sum() - 1)).to_series()
        found = pl.DataFrame(list(columns[1:])).filter(passed).select(value.expr.alias("value").cast(value.type))
        return found.to_series().gather(numbers)

    inputs = [pl.col(name) for name in sorted(set(names))]
    return pl.map_batches([test, *inputs], run, return_dtype=value.type, is_elementwise=True)


def rarely(texts: pl.Expr, make: Callable[[pl.Expr], pl.Expr], gives: Type, guard: pl.Expr | None = None) -> pl.Expr:
    """What `make` gives for the few rows that are not NULL, and NULL for all others, which cost nothing."""
    asked = texts if guard is None else pl.when(guard).then(texts)

    def run(column: pl.Series) -> pl.Series:
        if column.null_count() == len(column):
            return pl.Series([None], dtype=gives).new_from_index(0, len(column))
        there = column.is_not_null()
        found = column.drop_nulls().alias("text").to_frame().select(make(pl.col("text")).cast(gives).alias("text"))
        return found.to_series().gather(pl.select(pl.when(there).then(there.cum_sum() - 1)).to_series())

    return asked.map_batches(run, return_dtype=gives, is_elementwise=True)


def _stretched(column: pl.Series, height: int) -> list[Any]:
    values = column.to_list()
    return values * height if len(values) == 1 and height > 1 else values


def number_literal(node: exp.Literal) -> Value:
    """A number as Spark types it: INT, BIGINT, DECIMAL, or DOUBLE where it has an exponent."""
    written = node.name
    if "e" in written.lower():
        return lit(float(written), pl.Float64())
    if written.isdigit():
        whole = int(written)
        if whole < 1 << 31:
            return lit(whole, pl.Int32())
        return lit(whole, pl.Int64()) if whole < 1 << 63 else _decimal_literal(written)
    return _decimal_literal(written)


def _decimal_literal(written: str) -> Value:
    value = Decimal(written)
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    digits = max(len(value.as_tuple().digits), scale)
    if digits > 38:
        raise refused(written)
    return lit(value, pl.Decimal(digits, scale))
