"""GROUP BY with ROLLUP, CUBE and GROUPING SETS: Spark's spellings in DuckDB's terms, and no total of no rows."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from lakelogic.engine.duckdb.nodes import call

_SPECIAL = (exp.Rollup, exp.Cube, exp.GroupingSets)


def with_groups(select: exp.Select) -> exp.Select:
    """The same groups as in Spark."""
    group = select.args.get("group")
    if group is None:
        return select
    named = list(group.expressions)
    _spell_out(group)
    if not any(isinstance(node, _SPECIAL) for node in group.expressions):
        return select
    keys = list(dict.fromkeys(_keys(named if named != group.expressions else group.expressions)))
    for part in (*select.expressions, *(select.args.get(name) for name in ("having", "qualify", "order"))):
        if part is not None:
            _name_bits(part, keys)
    if keys:
        # DuckDB has a row for the set without keys also where there are no rows at all.
        some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        select.having(some, append=True, copy=False)
    return select


def _spell_out(group: exp.Group) -> None:
    """GROUP BY a, b WITH ROLLUP and GROUP BY a, b GROUPING SETS (...): DuckDB has not the first, and takes the second
    for something else.
    """
    behind = [node for part in ("rollup", "cube", "grouping_sets") for node in group.args.get(part) or []]
    if len(behind) != 1:
        return
    special = behind[0].copy()
    if isinstance(special, (exp.Rollup, exp.Cube)) and not special.expressions:
        special.set("expressions", [key.copy() for key in group.expressions])
    for part in ("rollup", "cube", "grouping_sets"):
        group.set(part, None)
    group.set("expressions", [special])


def _keys(nodes: list[exp.Expr]) -> Iterator[exp.Expr]:
    for node in nodes:
        if isinstance(node, (*_SPECIAL, exp.Tuple)):
            yield from _keys(node.expressions)
        else:
            yield node.unnest()


def _name_bits(part: exp.Expr, keys: list[exp.Expr]) -> None:
    """grouping() is a byte in Spark; grouping_id() without arguments means all keys."""
    for node in list(part.find_all(exp.Grouping, exp.GroupingId)):
        wanted = "tinyint" if isinstance(node, exp.Grouping) else "bigint"
        bits = call("grouping", *[each.copy() for each in node.expressions or keys])
        node.replace(exp.Cast(this=bits, to=exp.DataType.build(wanted)))
