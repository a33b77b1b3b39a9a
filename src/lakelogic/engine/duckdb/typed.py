"""Results whose type depends on their operands: decimal quotients, decimal averages, rounding of doubles.

DuckDB itself is asked for the operands' types: the enclosing query is bound, not run, with the operand as its
last column. Inner nodes are settled before the nodes around them.
"""

from __future__ import annotations

import re

import duckdb
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.duckdb.nodes import call, refused
from lakelogic.engine.duckdb.render import sql_of
from lakelogic.engine.duckdb.session import Session

_WHOLE_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 20, "HUGEINT": 20}
_LEFT_OUT = ("order", "limit", "offset", "having", "qualify", "distinct", "with_")


def settle_types(tree: exp.Expr, session: Session) -> exp.Expr:
    """Replace each call that waits for its operands' types."""
    waiting = [node for node in tree.find_all(exp.Anonymous, exp.Avg, bfs=False) if _waits(node)]
    for node in reversed(waiting):
        fresh = _settled(node, session)
        if fresh is node:
            continue
        if node is tree:
            tree = fresh
        else:
            node.replace(fresh)
    return tree


def _waits(node: exp.Expr) -> bool:
    return isinstance(node, exp.Avg) or node.name in {"ll_divide", "ll_round", "ll_moved", "ll_to_json"}


def _settled(node: exp.Expr, session: Session) -> exp.Expr:
    if isinstance(node, exp.Avg):
        return _average(node, session)
    match node.name:
        case "ll_divide":
            return _quotient(node, session)
        case "ll_moved":
            return _moved(node, session)
        case "ll_to_json":
            return _json(node, session)
        case _:
            return _rounded(node, session)


def _quotient(node: exp.Expr, session: Session) -> exp.Expr:
    left, right = node.expressions
    sizes = [_decimal_size(side, session) for side in (left, right)]
    kinds = [_type_of(side, session) for side in (left, right)]
    if not any(kind.startswith("DECIMAL") for kind in kinds) or None in sizes:
        return node
    (p1, s1), (p2, s2) = sizes  # type: ignore[misc]
    scale = max(6, s1 + p2 + 1)
    precision, scale = _bounded(p1 - s1 + s2 + scale, scale)
    return _divided(left, right, precision, scale)


def _json(node: exp.Expr, session: Session) -> exp.Expr:
    kind = _type_of(node.expressions[0], session)
    if any(word in kind for word in ("DOUBLE", "FLOAT", "DECIMAL", "TIMESTAMP", "BLOB", "MAP")):
        raise refused(f"to_json() of {kind}")
    return node


def _moved(node: exp.Expr, session: Session) -> exp.Expr:
    sum_ = node.expressions[0]
    unit = sum_.expression.args.get("unit")
    whole_days = unit is not None and unit.name.upper().rstrip("S") in {
        "DAY",
        "WEEK",
        "MONTH",
        "QUARTER",
        "YEAR",
    }
    if whole_days and _type_of(sum_.this, session) == "DATE":
        return exp.cast(sum_.copy(), "date")
    return exp.paren(sum_.copy())


def _average(node: exp.Avg, session: Session) -> exp.Expr:
    operand = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    size = _decimal_size(operand, session)
    if size is None or not _type_of(operand, session).startswith("DECIMAL"):
        return node
    if isinstance(node.parent, (exp.Window, exp.Filter)):
        raise refused(f"{node.sql('databricks')} of decimals over a window")
    precision, scale = _bounded(size[0] + 4, size[1] + 4)
    return _divided(exp.Sum(this=node.this.copy()), exp.Count(this=node.this.copy()), precision, scale)


def _divided(left: exp.Expr, right: exp.Expr, precision: int, scale: int) -> exp.Expr:
    texts = [exp.cast(side.copy(), "text") for side in (left, right)]
    quotient = call("ll_decimal_divide", *texts, exp.Literal.number(precision), exp.Literal.number(scale))
    return exp.cast(quotient, f"DECIMAL({precision}, {scale})")


def _bounded(precision: int, scale: int) -> tuple[int, int]:
    """Spark's rule for results wider than 38 digits: give up digits after the point, but keep six."""
    if precision <= 38:
        return precision, scale
    return 38, max(38 - (precision - scale), min(scale, 6))


def _rounded(node: exp.Expr, session: Session) -> exp.Expr:
    value, *places = node.expressions
    digits = places[0] if places else exp.Literal.number(0)
    if _type_of(value, session) not in {"DOUBLE", "FLOAT"}:
        return call("round", value.copy(), digits.copy())
    if digits.find(exp.Column):
        raise refused("round() with a number of digits that is not constant")
    kind = _type_of(value, session)
    return exp.cast(call("ll_round_double", exp.cast(value.copy(), "text"), digits.copy()), kind)


def _decimal_size(node: exp.Expr, session: Session) -> tuple[int, int] | None:
    """Precision and scale as Spark sees the operand in decimal arithmetic; None for doubles and text."""
    inner = node.unnest()
    if isinstance(inner, exp.Literal) and not inner.is_string and inner.name.isdigit():
        return len(inner.name), 0
    kind = _type_of(node, session)
    found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", kind)
    if found:
        return int(found[1]), int(found[2])
    return (_WHOLE_DIGITS[kind], 0) if kind in _WHOLE_DIGITS else None


def _type_of(node: exp.Expr, session: Session) -> str:
    query = _probe(node)
    try:
        described = session.run(f"DESCRIBE {sql_of(query)}").fetchall()
    except duckdb.Error as error:
        raise CapabilityError(
            f"the DuckDB engine cannot tell the type of `{sql_of(node)}`: {str(error).splitlines()[0]}"
        ) from error
    return str(described[-1][1])


def _probe(node: exp.Expr) -> exp.Select:
    """The query around a node, with the node as its last column."""
    around = node.find_ancestor(exp.Select)
    if around is None:
        return exp.select(exp.alias_(node.copy(), "probe"))
    query = around.copy()
    for part in _LEFT_OUT:
        query.set(part, None)
    inside_aggregate = _is_aggregated(node, around)
    if inside_aggregate:
        query.set("group", None)
        query.set("expressions", [])
    query = query.select(exp.alias_(node.copy(), "probe"), copy=False)
    for outer in (around, *_outer_selects(around)):
        for cte in outer.ctes:
            query = query.with_(cte.alias, cte.this.copy(), copy=False)
    return query


def _outer_selects(node: exp.Expr) -> list[exp.Query]:
    found, at = [], node.parent
    while at is not None:
        if isinstance(at, exp.Query):
            found.append(at)
        at = at.parent
    return found


def _is_aggregated(node: exp.Expr, around: exp.Select) -> bool:
    at: exp.Expr | None = node.parent
    while at is not None and at is not around:
        if isinstance(at, exp.AggFunc):
            return True
        at = at.parent
    return isinstance(node.parent, exp.AggFunc)
