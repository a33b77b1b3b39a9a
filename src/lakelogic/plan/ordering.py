"""Orders that do not leave anything to chance."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from lakelogic.plan.expressions import column
from lakelogic.plan.model import Column
from lakelogic.plan.relation import Relation, unknown_column
from lakelogic.plan.sql import SqlProblem
from lakelogic.plan.types import family

_TERM = re.compile(r"^\s*(?P<name>.+?)(?:\s+(?P<direction>asc|desc))?\s*$", re.IGNORECASE)


def parse_term(term: str) -> tuple[str, bool]:
    """`updated_at desc` as name and whether it descends."""
    found = _TERM.match(term)
    if found is None:
        raise SqlProblem("LL235", f"`{term}` is not an order", "write a column, and `desc` behind it if need be")
    return found["name"].strip("`"), (found["direction"] or "asc").lower() == "desc"


def order_terms(terms: Sequence[str], relation: Relation, *, flip: bool = False) -> list[exp.Expr]:
    """The author's order; absent values come last, whichever way it runs."""
    ordered: list[exp.Expr] = []
    for term in terms:
        name, descending = parse_term(term)
        if relation.find(name) is None and relation.closed:
            raise unknown_column(name, relation.names)
        ordered.append(exp.Ordered(this=column(name), desc=descending != flip, nulls_first=False))
    return ordered


def tie_breakers(columns: Sequence[Column], *, but: Sequence[str] = ()) -> list[exp.Expr]:
    """All other columns, so that equal rows by the author's order still have one and the same winner."""
    sortable = [c for c in columns if c.name not in but and family(c.type) not in {"complex", "unknown", "binary"}]
    return [exp.Ordered(this=column(c.name), desc=False, nulls_first=False) for c in sortable]


def row_number(partition: Sequence[exp.Expr], order: Sequence[exp.Expr]) -> exp.Window:
    return exp.Window(
        this=exp.RowNumber(), partition_by=list(partition), order=exp.Order(expressions=list(order)), over="OVER"
    )
