"""Steps that bring in other relations."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.contract import transformations as t
from lakelogic.plan.expressions import alias, all_of, column, function, is_not_null, negate, null_of
from lakelogic.plan.model import Column
from lakelogic.plan.relation import Relation
from lakelogic.plan.sql import SqlProblem, parse_expression
from lakelogic.plan.stage_builder import Output, keep, replaced, table
from lakelogic.plan.steps.columns import literal
from lakelogic.plan.types import family, same_type
from lakelogic.plan.workbench import Workbench

MATCHED = "_lakelogic_matched"
LEFT, RIGHT = "current", "linked"


def compile_lookup(step: t.Lookup, bench: Workbench) -> None:
    link = bench.link(step.reference)
    found = bench.require(step.on)
    key, value = bench.link_column(link, step.key), bench.link_column(link, step.value)
    _require_same_family(found, key)
    # One value per key, whatever the link holds: a lookup never multiplies rows and never picks at random.
    single = (
        exp.select(alias(column(key.name), "key"), alias(function("MIN", column(value.name)), "value"))
        .from_(table(step.reference))
        .group_by(column(key.name))
        .subquery(RIGHT)
    )
    condition = exp.EQ(this=_of(LEFT, step.on), expression=_of(RIGHT, "key"))
    fetched = _Fetched(["value"])
    looked_up: exp.Expr = fetched.column("value")
    if step.default is not None:
        looked_up = exp.Coalesce(this=looked_up, expressions=[literal(step.default)])
    outputs = replaced(bench.relation.columns, [Output(Column(step.field, value.type), looked_up)])
    label = f"lookup {step.field} in {step.reference}"
    bench.builder.project(label, outputs, source=_left_join(bench, single, condition, fetched))


def compile_join(step: t.Join, bench: Workbench) -> None:
    link = bench.link(step.reference)
    condition = _join_condition(step, bench, link)
    keys = set(step.key or (step.on if not isinstance(step.on, str) else ()))
    names = list(step.fields or [c.name for c in link.columns if c.name not in keys])
    fetched = _Fetched([*names, MATCHED])
    outputs = []
    for name in names:
        found = bench.link_column(link, name)
        value: exp.Expr = fetched.column(name)
        if step.defaults.get(name) is not None:
            value = exp.Coalesce(this=value, expressions=[literal(step.defaults[name])])
        outputs.append(Output(Column(f"{step.prefix}{name}", found.type), value))
    right = exp.select(exp.Star(), alias(exp.true(), MATCHED)).from_(table(step.reference)).subquery(RIGHT)
    bench.builder.project(
        f"{step.type} join {step.reference}",
        replaced(bench.relation.columns, outputs),
        where=is_not_null(fetched.column(MATCHED)) if step.type == "inner" else None,
        source=_left_join(bench, right, condition, fetched),
        effect="changes" if step.type == "inner" else "adds",
    )


def compile_union(step: t.Union, bench: Workbench) -> None:
    """The links' rows are data of their own: they join the accepted rows and are checked by what follows."""
    for name in step.links:
        link = bench.link(name)
        bench.barrier()
        relation = bench.relation
        ours = exp.select(*[column(c.name) for c in relation.columns]).from_(table(relation.name))
        theirs = exp.select(*[_from_link(c, link) for c in relation.columns]).from_(table(name))
        query = exp.union(ours, theirs, distinct=False)
        bench.builder.append(f"union {name}", query, [keep(c) for c in relation.columns], [], "adds")


def _from_link(wanted: Column, link: Relation) -> exp.Expr:
    found = link.find(wanted.name)
    if found is None:
        return alias(null_of(wanted.type), wanted.name)
    if not same_type(found.type, wanted.type):
        raise SqlProblem(
            "LL221",
            f"`{wanted.name}` of link `{link.name}` has another type than that of the source",
            "bring both to the same type first",
        )
    return column(wanted.name)


def _join_condition(step: t.Join, bench: Workbench, link: Relation) -> exp.Expr:
    if isinstance(step.on, str):
        parsed = parse_expression(step.on, bench.contract.dialect)
        for node in list(parsed.find_all(exp.Column)):
            side = RIGHT if node.table == step.reference else LEFT
            if not node.table and bench.relation.find(node.name) is None:
                side = RIGHT
            (bench.link_column(link, node.name) if side == RIGHT else bench.require(node.name))
            node.replace(_of(side, node.name))
        return parsed
    keys = step.key or step.on
    if len(keys) != len(step.on):
        raise SqlProblem("LL236", "`on` and `key` of a join must have the same number of columns")
    pairs = []
    for ours, theirs in zip(step.on, keys, strict=True):
        _require_same_family(bench.require(ours), bench.link_column(link, theirs))
        pairs.append(exp.EQ(this=_of(LEFT, ours), expression=_of(RIGHT, theirs)))
    return all_of(pairs)


def _require_same_family(ours: Column, theirs: Column) -> None:
    kinds = {family(ours.type), family(theirs.type)}
    if len(kinds - {"unknown"}) > 1:
        raise SqlProblem(
            "LL221",
            f"`{ours.name}` ({family(ours.type)}) is compared with `{theirs.name}` ({family(theirs.type)}) of the link",
            "declare or cast one of them",
        )


def _of(side: str, name: str) -> exp.Column:
    return column(name, table=side)


class _Fetched:
    """The link's columns inside the join, under names that cannot meet ours."""

    def __init__(self, names: list[str]) -> None:
        self.names = {name: f"_lakelogic_joined_{index}" for index, name in enumerate(names)}

    def column(self, name: str) -> exp.Column:
        return column(self.names[name])


def _left_join(bench: Workbench, right: exp.Subquery, condition: exp.Expr, fetched: _Fetched) -> exp.Subquery:
    ours = exp.Column(this=exp.Star(), table=exp.to_identifier(LEFT, quoted=True))
    theirs = [alias(_of(RIGHT, name), inner) for name, inner in fetched.names.items()]
    left = exp.alias_(table(bench.relation.name), LEFT, table=True, quoted=True)
    failed = bench.builder.failed()
    if not isinstance(failed, exp.Boolean):
        for node in failed.find_all(exp.Column):
            node.set("table", exp.to_identifier(LEFT, quoted=True))
        # A failed row matches nothing, so that it stays one row.
        condition = all_of([negate(failed), condition])
    return exp.select(ours, *theirs).from_(left).join(right, on=condition, join_type="left").subquery("joined")
