"""Rules over the accepted rows together, each compiled to one number and its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify

from lakelogic.contract import dataset_rules as d
from lakelogic.contract.dataset_rules import DatasetRule
from lakelogic.plan.expressions import all_of, case, column, function, is_not_null, is_null, number
from lakelogic.plan.model import DatasetCheck, Severity
from lakelogic.plan.relation import SOURCE_NAME, Relation, referenced, unknown_column
from lakelogic.plan.sql import RESOLVE_DIALECT, SqlProblem, parse_query, shorten
from lakelogic.plan.stage_builder import table

ACCEPTED_RELATION = "accepted"


def compile_dataset_rule(rule: DatasetRule, relation: Relation, dialect: str) -> DatasetCheck:
    """The number that a rule asks for, over relation `accepted`."""
    match rule:
        case d.Unique():
            return unique_check(rule.fields, relation, rule.name, rule.severity)
        case d.NullRatio():
            _require(rule.field, relation)
            missing = function("SUM", case([(is_null(column(rule.field)), number(1))], number(0)))
            share = exp.SafeDivide(this=missing, expression=function("COUNT", number(1)))
            words = f"at most {rule.max:g} of {rule.field} is absent"
            return DatasetCheck(rule.name or words, share, words, rule.severity, maximum=float(rule.max))
        case d.RowCountBetween():
            words = f"row count between {rule.min or 0} and {rule.max if rule.max is not None else 'any'}"
            rows = function("COUNT", number(1))
            return DatasetCheck(rule.name or words, rows, words, rule.severity, minimum=rule.min, maximum=rule.max)
        case d.SqlDatasetRule():
            return _sql_check(rule, relation, dialect)
        case _:
            assert_never(rule)


def unique_check(
    fields: tuple[str, ...], relation: Relation, name: str | None = None, severity: Severity = "error"
) -> DatasetCheck:
    """Rows that share their key with another; rows without a key are nobody's duplicates."""
    for field in fields:
        _require(field, relation)
    keys = [column(field) for field in fields]
    extra = exp.Sub(this=function("COUNT", number(1)), expression=number(1))
    groups = (
        exp.select(exp.alias_(extra, "extra"))
        .from_(table(ACCEPTED_RELATION))
        .where(all_of([is_not_null(key.copy()) for key in keys]))
        .group_by(*keys)
        .subquery("groups")
    )
    total = exp.select(exp.Coalesce(this=function("SUM", column("extra")), expressions=[number(0)])).from_(groups)
    words = f"{', '.join(fields)} is unique"
    return DatasetCheck(name or words, total.subquery(), words, severity, maximum=0)


def _sql_check(rule: d.SqlDatasetRule, relation: Relation, dialect: str) -> DatasetCheck:
    query = parse_query(rule.sql, rule.dialect or dialect)
    if not isinstance(query, exp.Select) or len(query.selects) != 1:
        raise SqlProblem("LL216", f"`{shorten(rule.sql)}` must give one number", "SELECT one aggregate FROM source")
    value = _qualified(query, relation)
    bounds: dict[str, float | bool | None] = {}
    if rule.must_be_greater_than is not None:
        bounds |= {"minimum": float(rule.must_be_greater_than), "exclusive_minimum": True}
    if rule.must_be_less_than is not None:
        bounds |= {"maximum": float(rule.must_be_less_than), "exclusive_maximum": True}
    if rule.must_be_between is not None:
        bounds |= {"minimum": float(rule.must_be_between[0]), "maximum": float(rule.must_be_between[1])}
    if rule.must_be is not None:
        bounds |= {"minimum": float(rule.must_be), "maximum": float(rule.must_be)}
    words = shorten(rule.sql)
    return DatasetCheck(rule.name or words, value.subquery(), words, rule.severity, **bounds)  # type: ignore[arg-type]


def _qualified(query: exp.Select, relation: Relation) -> exp.Select:
    for node in query.find_all(exp.Table):
        if node.name != SOURCE_NAME:
            raise SqlProblem("LL230", f"there is no relation `{node.name}`", "a dataset rule reads `source`")
        node.set("this", exp.to_identifier(ACCEPTED_RELATION, quoted=True))
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(SOURCE_NAME, quoted=True)))
    schema: dict[str, object] = {ACCEPTED_RELATION: {c.name: c.type.sql("databricks") for c in relation.columns}}
    try:
        qualified = qualify(query, schema=schema, dialect=RESOLVE_DIALECT, validate_qualify_columns=relation.closed)
    except OptimizeError as error:
        names = [node.name for node in query.find_all(exp.Column) if relation.find(node.name) is None]
        if names:
            raise unknown_column(names[0], relation.names) from error
        raise SqlProblem("LL220", str(error).splitlines()[0]) from error
    assert isinstance(qualified, exp.Select)
    return qualified


def _require(name: str, relation: Relation) -> None:
    if relation.find(name) is None and relation.closed:
        raise unknown_column(name, relation.names)


def columns_of(check: DatasetCheck) -> frozenset[str]:
    return referenced(check.value)


def one_row(values: Sequence[exp.Expr]) -> exp.Query:
    """All numbers in one query: aggregates share one pass over `accepted`, scalar subqueries stand beside them."""
    names = [f"v{position}" for position in range(len(values))]
    pairs = list(zip(names, values, strict=True))
    aggregates = [exp.alias_(value.copy(), name) for name, value in pairs if not isinstance(value, exp.Query)]
    outer = [
        exp.alias_(_subquery(value), name) if isinstance(value, exp.Query) else exp.column(name)
        for name, value in pairs
    ]
    query = exp.select(*outer)
    if not aggregates:
        return query
    return query.from_(exp.select(*aggregates).from_(table(ACCEPTED_RELATION)).subquery("shared"))


def _subquery(value: exp.Query) -> exp.Expr:
    return value.copy() if isinstance(value, exp.Subquery) else value.copy().subquery()
