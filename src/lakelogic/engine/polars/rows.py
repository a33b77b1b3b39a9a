"""What queries are made of: a relation with types, and who runs the queries inside of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import polars as pl
from sqlglot import exp

from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.expressions import MaskCalls, Scope
from lakelogic.engine.polars.types import Type
from lakelogic.engine.polars.values import Value


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation: a lazy frame and the types of its columns."""

    frame: pl.LazyFrame
    types: Mapping[str, Type]


Tables = Mapping[str, Rows]


class Queries(Protocol):
    """Runs a query that stands inside of another one."""

    @property
    def masks(self) -> MaskCalls: ...

    def rows(self, tree: exp.Expr, tables: Tables) -> Rows:
        """The rows of a query over named relations."""

    def known(self, tree: exp.Expr, tables: Tables) -> Tables:
        """The relations that a query may name: those around it, and those of its WITH."""

    def scope(self, tree: exp.Select, tables: Tables) -> Scope:
        """The rows of FROM, its joins and lateral views."""

    def select(self, tree: exp.Select, scope: Scope, tables: Tables) -> Rows:
        """A SELECT over rows that stand already; its FROM is not looked at."""


def typed(value: Value, wanted: Type, name: str) -> pl.Expr:
    return cast(value, wanted).expr.alias(name)


def select_values(frame: pl.LazyFrame, values: Mapping[str, Value]) -> pl.LazyFrame:
    made = [value.expr.alias(name) for name, value in values.items()]
    if any(value.expr.meta.root_names() for value in values.values()):
        return frame.select(made)
    # Constants alone would give one row, however many the frame has.
    number = "\0constant"
    named = [value.expr.alias(f"{number}{n}") for n, value in enumerate(values.values())]
    return frame.with_columns(named).select([pl.col(f"{number}{n}").alias(name) for n, name in enumerate(values)])
