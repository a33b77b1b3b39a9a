"""Query trees as Spark SQL text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sqlglot import exp

from lakelogic.engine.spark.groups import ask_by_outputs
from lakelogic.engine.spark.json_text import json_parts
from lakelogic.plan.nested import PARTS, WITH, over_one_item

_Tree = TypeVar("_Tree", bound=exp.Expr)


def render(tree: exp.Expr) -> str:
    """Write a tree as Spark SQL; placeholders must have been bound before."""
    left = tree.find(exp.Placeholder)
    if left is not None:
        raise ValueError(f"placeholder `{left.name}` was not bound")
    if any(map(_gives_moment, tree.find_all(exp.TryCast))):
        tree = tree.transform(_without_times_of_day)
    if tree.find(exp.DateDiff, exp.ParseJSON) is not None:
        tree = tree.transform(_whole_days).transform(_parsed_json)
    if any(node.name == PARTS for node in tree.find_all(exp.Anonymous)):
        tree = tree.transform(_named_value).transform(_json_parts)
    if tree.find(exp.Qualify, exp.Group) is not None:
        tree = ask_by_outputs(tree.copy())
    # `comments=False`: an author's comment may hold `*/` or a hint that Spark would obey.
    return tree.sql(dialect="spark", comments=False)


def _whole_days(node: exp.Expr) -> exp.Expr:
    """datediff() of two dates is an INT; written with its unit, as sqlglot does, it would be a BIGINT."""
    unit = node.args.get("unit")
    if not isinstance(node, exp.DateDiff) or (unit is not None and unit.name.upper() != "DAY"):
        return node
    sides = [side.transform(_whole_days) for side in (node.this, node.expression)]
    return exp.Anonymous(this="DATEDIFF", expressions=sides)


def _parsed_json(node: exp.Expr) -> exp.Expr:
    """sqlglot leaves the call out, as if Spark had no variants."""
    return exp.Anonymous(this="PARSE_JSON", expressions=[node.this]) if isinstance(node, exp.ParseJSON) else node


def _named_value(node: exp.Expr) -> exp.Expr:
    return over_one_item(node) if isinstance(node, exp.Anonymous) and node.name == WITH else node


def _json_parts(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Anonymous) or node.name != PARTS:
        return node
    raw, type_ = node.expressions
    return exp.Var(this=json_parts(raw.sql("spark"), exp.DataType.build(type_.name, dialect="databricks")))


def _gives_moment(node: exp.Expr) -> bool:
    return isinstance(node, exp.TryCast) and node.to.is_type("timestamp", "timestamptz", "timestampltz", "timestampntz")


def _without_times_of_day(node: exp.Expr) -> exp.Expr:
    """Spark takes `10:11:12` and `T10:11` for that time on the day it is asked; a rerun would give another moment.

    Four digits of a year, with or without a sign, leave no place for a colon among the second to fourth letter. This is
    asked of every row, and looking for the place of the first colon would cost three times as much.
    """
    if not _gives_moment(node):
        return node
    value = node.this.transform(_without_times_of_day)
    text = exp.Anonymous(this="LTRIM", expressions=[exp.cast(value, "string", dialect="spark")])
    start = exp.Anonymous(this="SUBSTRING", expressions=[text, exp.Literal.number(2), exp.Literal.number(3)])
    timed = exp.Anonymous(this="CONTAINS", expressions=[start, exp.Literal.string(":")])
    tried = exp.TryCast(this=value.copy(), to=node.args["to"].copy(), safe=True)
    return exp.Case(ifs=[exp.If(this=exp.Not(this=timed), true=tried)])


def rename_relations(tree: _Tree, names: Mapping[str, str]) -> _Tree:
    """Point the tree's tables at other names; columns qualified by the old name still resolve."""
    renamed = tree.copy()
    shadowed = {cte.alias for cte in renamed.find_all(exp.CTE)}
    for table in list(renamed.find_all(exp.Table)):
        if table.db or table.name in shadowed or table.name not in names:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("this", exp.to_identifier(names[table.name], quoted=True))
    return renamed
