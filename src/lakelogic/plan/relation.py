"""A relation on its way through the steps: its columns, what they came from, and what is carried unseen."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from lakelogic.plan.expressions import column
from lakelogic.plan.model import FAILED_COLUMN, Column
from lakelogic.plan.sql import SqlProblem

SOURCE_NAME = "source"  # what authors call the current relation


@dataclass(frozen=True, slots=True)
class Relation:
    """The current relation; `hidden` columns travel along and no author's SQL can see them."""

    name: str
    columns: tuple[Column, ...]
    hidden: tuple[str, ...] = ()
    closed: bool = True  # False: the source was not looked at, more columns may be there
    made: frozenset[str] = frozenset()  # names that steps make: in an open relation they may not be there yet
    origins: Mapping[str, frozenset[str]] = field(default_factory=dict)  # column -> source columns it is made of

    def find(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def failed_columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.hidden if name.startswith(FAILED_COLUMN))

    def origin(self, name: str) -> frozenset[str]:
        return self.origins.get(name, frozenset({name}))

    def renamed(self, name: str) -> Relation:
        return replace(self, name=name)


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """The name that was probably meant: equal but for case and underscores, or close in spelling."""
    names = list(known)
    plain = {_plain(other): other for other in names}
    if _plain(name) in plain and plain[_plain(name)] != name:
        return plain[_plain(name)]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return close[0] if close else None


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


def unknown_column(name: str, known: Iterable[str]) -> SqlProblem:
    names = sorted(known)
    near = suggestion(name, names)
    hint = f"did you mean `{near}`?" if near else "known columns: " + ", ".join(f"`{n}`" for n in names[:12])
    return SqlProblem("LL220", f"there is no column `{name}`", hint)


def resolve(expression: exp.Expr, relation: Relation, *, strict: bool = True) -> exp.Expr:
    """Tie every name in a row expression to a column of the relation; refuse names it does not have.

    In an open relation an unknown name is only refused when it looks like a slip, or when `strict`.
    """
    tree = expression.copy()
    bound = _lambda_names(tree)
    for node in list(tree.find_all(exp.Column)):
        if node.name in bound or (node.find_ancestor(exp.Lambda) and node.table in bound):
            continue
        parts = [part.name for part in node.parts]
        if len(parts) > 1 and parts[0] in {SOURCE_NAME, relation.name}:
            parts = parts[1:]
        _require(parts[0], relation, strict)
        found: exp.Expr = column(parts[0])
        for part in parts[1:]:
            found = exp.Dot(this=found, expression=exp.to_identifier(part, quoted=True))
        if node is tree:
            return found
        node.replace(found)
    return tree


def _require(name: str, relation: Relation, strict: bool) -> None:
    if relation.find(name) is not None:
        return
    if relation.closed or strict or suggestion(name, [n for n in relation.names if n not in relation.made]):
        raise unknown_column(name, relation.names)


def _lambda_names(tree: exp.Expr) -> set[str]:
    return {name.name for node in tree.find_all(exp.Lambda) for name in node.expressions}


def referenced(expression: exp.Expr) -> frozenset[str]:
    """Names of the columns that an expression reads."""
    bound = _lambda_names(expression)
    return frozenset(node.parts[0].name for node in expression.find_all(exp.Column)) - bound


def origins_of(expression: exp.Expr, relation: Relation) -> frozenset[str]:
    """Source columns that an expression is made of, for following personal data through the steps."""
    found: frozenset[str] = frozenset()
    for name in referenced(expression):
        found |= relation.origin(name)
    return found
