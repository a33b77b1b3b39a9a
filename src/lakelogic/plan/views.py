"""Masked views: the author's columns, with SQL in place of those that readers may not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.operations import View
from lakelogic.core.errors import ContractError, Problem
from lakelogic.plan.ddl_sql import quote, quote_dotted
from lakelogic.plan.model import HIDDEN_PREFIX, Column
from lakelogic.plan.relation import unknown_column
from lakelogic.plan.sql import SqlProblem, parse_expression


@dataclass(frozen=True, slots=True)
class ViewStatements:
    """What makes a view, and who may read it."""

    name: str
    create: str
    grants: tuple[str, ...]
    notes: tuple[str, ...] = ()


def compile_views(
    contract: Contract, columns: Sequence[Column], table: str, schema: str | None
) -> tuple[ViewStatements, ...]:
    """The views of a contract over its table; a view without a schema stands in the table's."""
    problems = tuple(find_view_mistakes(contract, [column.name for column in columns]))
    if problems:
        raise ContractError(problems)
    return tuple(_compile(contract, view, columns, table, schema) for view in contract.views)


def find_view_mistakes(contract: Contract, known: Sequence[str] | None) -> Iterator[Problem]:
    """Wrong SQL, and names that the table does not have; `known` is None where its columns cannot be told yet."""
    for index, view in enumerate(contract.views):
        for name, sql in view.columns.items():
            place = contract.at(f"views.{index}.columns.{name}")
            try:
                used = {column.name for column in parse_expression(sql, contract.dialect).find_all(exp.Column)}
            except SqlProblem as problem:
                yield problem.at(place)
                continue
            for missing in sorted({name, *used} - set(known)) if known is not None else ():
                yield unknown_column(missing, known or ()).at(place)


def _compile(
    contract: Contract, view: View, columns: Sequence[Column], table: str, schema: str | None
) -> ViewStatements:
    shown = [column for column in columns if not column.name.startswith(HIDDEN_PREFIX)]
    lines = [_line(column, view, contract.dialect) for column in shown]
    name = view.name if "." in view.name or schema is None else f"{schema}.{view.name}"
    create = f"CREATE OR REPLACE VIEW {quote_dotted(name)} AS\nSELECT\n  " + ",\n  ".join(lines) + f"\nFROM {table}"
    grants = tuple(f"GRANT SELECT ON VIEW {quote_dotted(name)} TO {quote(who)}" for who in view.grant_select)
    open_ = [field.name for field in contract.fields if field.pii and field.masking is None]
    bare = [column.name for column in shown if column.name in open_ and column.name not in view.columns]
    notes = tuple(f"view `{name}` shows `{column}` as it is, and `{column}` is marked pii" for column in bare)
    return ViewStatements(name, create, grants, notes)


def _line(column: Column, view: View, dialect: str) -> str:
    if column.name not in view.columns:
        return quote(column.name)
    tree = parse_expression(view.columns[column.name], dialect).transform(_real_clock)
    return f"{tree.sql('databricks')} AS {quote(column.name)}"


def _real_clock(node: exp.Expr) -> exp.Expr:
    """A view is asked at any time: it has the reader's clock, not that of a run."""
    if isinstance(node, exp.Placeholder):
        return exp.CurrentDate() if node.name == "today" else exp.CurrentTimestamp()
    return node
