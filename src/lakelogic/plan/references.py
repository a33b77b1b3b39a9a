"""Rules that ask another relation: the answer is joined in as a hidden column, so that the rule stays one condition."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.contract import row_rules as r
from lakelogic.plan.expressions import alias, all_of, cast, column, field, is_not_null, is_null, text
from lakelogic.plan.model import HIDDEN_PREFIX, Column
from lakelogic.plan.sql import SqlProblem
from lakelogic.plan.stage_builder import keep, table
from lakelogic.plan.types import family, named
from lakelogic.plan.workbench import Workbench

LEFT, RIGHT = "current", "linked"


def not_in_link(rule: r.ReferentialIntegrity, bench: Workbench) -> exp.Expr:
    """True for a value that the link does not hold; an absent value is not judged."""
    link = bench.link(rule.reference)
    key = bench.link_column(link, rule.key)
    _require_same_family(bench.require(rule.field), key, rule.reference)
    keys = (
        exp.select(alias(column(key.name), "key"))
        .distinct()
        .from_(table(rule.reference))
        .where(is_not_null(column(key.name)))
        .subquery(RIGHT)
    )
    answer = _join_answer(bench, f"find {rule.field} in {rule.reference}", keys, rule.field, column("key", RIGHT))
    return all_of([is_not_null(column(rule.field)), is_null(column(answer))])


def outside_life(rule: r.LifecycleWindow, bench: Workbench) -> exp.Expr:
    """True for an event that no life of its subject covers; an unknown subject has no life."""
    link = bench.link(rule.reference)
    _require_same_family(bench.require(rule.event_key), bench.link_column(link, rule.reference_key), rule.reference)
    bench.require(rule.event_ts)
    bench.link_column(link, rule.start_field)
    bench.link_column(link, rule.end_field)
    timestamp = named("timestamp")
    end: exp.Expr = cast(column(rule.end_field), timestamp)
    if rule.end_default is not None:
        end = exp.Coalesce(this=end, expressions=[cast(text(rule.end_default), timestamp)])
    start = cast(column(rule.start_field), timestamp)
    # A subject may have lived more than once: all its lives come along, still as one row.
    life = exp.Struct(expressions=[alias(start, "starts"), alias(end, "ends")])
    lives = (
        exp.select(alias(column(rule.reference_key), "key"), alias(exp.ArrayAgg(this=life), "lives"))
        .from_(table(rule.reference))
        .group_by(column(rule.reference_key))
        .subquery(RIGHT)
    )
    label = f"find lives of {rule.event_key} in {rule.reference}"
    answer = _join_answer(bench, label, lives, rule.event_key, column("lives", RIGHT))
    event = cast(column(rule.event_ts), timestamp)
    one = exp.to_identifier("life")
    inside = all_of([
        exp.GTE(this=event, expression=field(exp.column("life"), "starts")),
        exp.LTE(this=event.copy(), expression=field(exp.column("life"), "ends")),
    ])  # fmt: skip
    covering = exp.ArrayFilter(this=column(answer), expression=exp.Lambda(this=inside, expressions=[one]))
    found = exp.GT(this=exp.ArraySize(this=covering), expression=exp.Literal.number("0"))
    known = [is_not_null(column(rule.event_key)), is_not_null(column(rule.event_ts))]
    return all_of([*known, exp.Not(this=exp.Is(this=exp.paren(found), expression=exp.true()))])


def _join_answer(bench: Workbench, label: str, right: exp.Subquery, on: str, value: exp.Expr) -> str:
    """Left join one value per key and carry it as a hidden column; gives the column's name."""
    name = f"{HIDDEN_PREFIX}answer_{len(bench.builder.segments)}"
    ours = exp.Column(this=exp.Star(), table=exp.to_identifier(LEFT, quoted=True))
    left = exp.alias_(table(bench.relation.name), LEFT, table=True, quoted=True)
    condition = exp.EQ(this=column(on, LEFT), expression=column("key", RIGHT))
    joined = exp.select(ours, alias(value, name)).from_(left).join(right, on=condition, join_type="left")
    outputs = [keep(c) for c in bench.relation.columns]
    bench.builder.project(label, outputs, source=joined.subquery("joined"), new_hidden=[(name, column(name))])
    return name


def _require_same_family(ours: Column, theirs: Column, link: str) -> None:
    kinds = {family(ours.type), family(theirs.type)} - {"unknown"}
    if len(kinds) > 1:
        raise SqlProblem(
            "LL221",
            f"`{ours.name}` ({family(ours.type)}) is compared with `{link}.{theirs.name}` ({family(theirs.type)})",
            "declare or cast one of them",
        )
