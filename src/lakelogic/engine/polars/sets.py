"""UNION, INTERSECT and EXCEPT: rows of two queries, compared column by column, where NULL equals NULL."""

from __future__ import annotations

from typing import Literal

import polars as pl
from sqlglot import exp

from lakelogic.core.errors import PlanError
from lakelogic.engine.polars.rows import Queries, Rows, Tables, typed
from lakelogic.engine.polars.types import common_type
from lakelogic.engine.polars.values import Value, refused

_NUMBER = "\0number"
_READ = {"this", "expression", "distinct", "with_", "order", "limit", "offset"}


def set_rows(tree: exp.SetOperation, tables: Tables, queries: Queries) -> Rows:
    """The rows of both sides put together; ORDER BY and LIMIT are the caller's."""
    if any(value and part not in _READ for part, value in tree.args.items()):
        raise refused(tree)
    left, right = _alike(queries.rows(tree.left, tables), queries.rows(tree.right, tables), tree)
    distinct = bool(tree.args.get("distinct"))
    names = list(left.types)
    if isinstance(tree, exp.Union):
        both = pl.concat([left.frame, right.frame])
        return Rows(both.unique() if distinct else both, left.types)
    if any(type_.is_nested() for type_ in left.types.values()):
        raise refused(tree)
    how: Literal["semi", "anti"] = "semi" if isinstance(tree, exp.Intersect) else "anti"
    if distinct:
        return Rows(left.frame.unique().join(right.frame, on=names, how=how, nulls_equal=True), left.types)
    # With ALL the second of two equal rows is met by the second one on the other side only.
    first, second = (_numbered(rows.frame, names) for rows in (left, right))
    kept = first.join(second, on=[*names, _NUMBER], how=how, nulls_equal=True)
    return Rows(kept.drop(_NUMBER), left.types)


def _numbered(frame: pl.LazyFrame, names: list[str]) -> pl.LazyFrame:
    return frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over(names).alias(_NUMBER))


def _alike(left: Rows, right: Rows, tree: exp.SetOperation) -> tuple[Rows, Rows]:
    """Both sides with the names of the first, in types that hold both."""
    if len(left.types) != len(right.types):
        raise PlanError(f"the parts of {tree.key.upper()} have different numbers of columns")
    pairs = list(zip(left.types.items(), right.types.items(), strict=True))
    types = {name: common_type([one, other], tree) for (name, one), (_, other) in pairs}
    first = left.frame.select([typed(Value(pl.col(name), one), types[name], name) for (name, one), _ in pairs])
    others = [typed(Value(pl.col(n), other), types[name], name) for (name, _), (n, other) in pairs]
    return Rows(first, types), Rows(right.frame.select(others), types)
