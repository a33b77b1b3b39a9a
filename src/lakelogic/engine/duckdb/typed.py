"""Results whose type depends on their operands: decimal products, quotients and averages, rounding of doubles.

DuckDB itself is asked for the operands' types: the enclosing query is bound, not run, with the operand as its
last column. Inner nodes are settled before the nodes around them.
"""

from __future__ import annotations

import re

import duckdb
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.duckdb.nodes import WAITING, call, refused
from lakelogic.engine.duckdb.render import WIDENED, sql_of
from lakelogic.engine.duckdb.session import Session

_WHOLE_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 20, "HUGEINT": 20}
_NODES = (exp.Avg, exp.Sum, exp.Mul, exp.Ceil, exp.Floor)
_LEFT_OUT = ("where", "order", "limit", "offset", "having", "qualify", "distinct", "with_")


def settle_types(tree: exp.Expr, session: Session) -> exp.Expr:
    """Replace each call that waits for its operands' types."""
    asking = _Asking(session)
    waiting = [node for node in tree.find_all(exp.Anonymous, *_NODES, bfs=False) if _waits(node)]
    for node in reversed(waiting):
        fresh = _settled(node, asking)
        if fresh is node:
            continue
        if node is tree:
            tree = fresh
        else:
            node.replace(fresh)
    return tree


def _waits(node: exp.Expr) -> bool:
    return isinstance(node, _NODES) or node.name in WAITING


def _settled(node: exp.Expr, asking: _Asking) -> exp.Expr:
    if isinstance(node, exp.Avg):
        return _average(node, asking)
    if isinstance(node, exp.Sum):
        return _total(node, asking)
    if isinstance(node, exp.Mul):
        return _product(node, node.this, node.expression, asking)
    if isinstance(node, _NODES):
        return _whole_decimal(node, asking)
    match node.name:
        case "ll_multiply":
            return _product(node, node.expressions[0], node.expressions[1], asking)
        case "ll_divide":
            return _quotient(node, asking)
        case "ll_moved":
            return _moved(node, asking)
        case "ll_to_json":
            return _json(node, asking)
        case _:
            return _rounded(node, asking)


def _quotient(node: exp.Expr, asking: _Asking) -> exp.Expr:
    left, right = node.expressions
    sizes = [_decimal_size(side, asking) for side in (left, right)]
    kinds = [asking.type_of(side) for side in (left, right)]
    if not any(kind.startswith("DECIMAL") for kind in kinds) or None in sizes:
        return node
    (p1, s1), (p2, s2) = sizes  # type: ignore[misc]
    scale = max(6, s1 + p2 + 1)
    precision, scale = _bounded(p1 - s1 + s2 + scale, scale)
    return _divided(left, right, precision, scale)


def _product(node: exp.Expr, left: exp.Expr, right: exp.Expr, asking: _Asking) -> exp.Expr:
    """DuckDB keeps a product of small decimals to 18 digits and fails beyond; Spark has a type for all of them."""
    sizes = [_decimal_size(side, asking) for side in (left, right)]
    kinds = [asking.type_of(side) for side in (left, right)]
    if not any(kind.startswith("DECIMAL") for kind in kinds) or sizes[0] is None or sizes[1] is None:
        return node
    (p1, s1), (p2, s2) = sizes[0], sizes[1]
    precision, scale = _bounded(p1 + p2 + 1, s1 + s2)
    if (precision, scale) != (p1 + p2 + 1, s1 + s2):
        return _calculated("ll_decimal_multiply", left, right, precision, scale)
    wide = exp.cast(left.copy(), f"DECIMAL({max(p1, min(19, 38 - p2))}, {s1})")
    product = exp.Mul(this=wide, expression=exp.cast(right.copy(), f"DECIMAL({p2}, {s2})"))
    return exp.cast(exp.paren(product), f"DECIMAL({precision}, {scale})")


def _whole_decimal(node: exp.Expr, asking: _Asking) -> exp.Expr:
    """The next whole number of a decimal has as many digits as Spark says, so that tables get the same type."""
    size = _decimal_size(node.this, asking)
    if size is None or node.args.get("decimals") or not asking.type_of(node.this).startswith("DECIMAL"):
        return node
    return exp.cast(node.copy(), f"DECIMAL({size[0] - size[1] + 1 if size[1] else size[0]}, 0)")


def _json(node: exp.Expr, asking: _Asking) -> exp.Expr:
    kind = asking.type_of(node.expressions[0])
    if any(word in kind for word in ("DOUBLE", "FLOAT", "DECIMAL", "TIMESTAMP", "BLOB", "MAP")):
        raise refused(f"to_json() of {kind}")
    return node


def _moved(node: exp.Expr, asking: _Asking) -> exp.Expr:
    sum_ = node.expressions[0]
    unit = sum_.expression.args.get("unit")
    whole_days = unit is not None and unit.name.upper().rstrip("S") in {
        "DAY",
        "WEEK",
        "MONTH",
        "QUARTER",
        "YEAR",
    }
    if whole_days and asking.type_of(sum_.this) == "DATE":
        return exp.cast(sum_.copy(), "date")
    return exp.paren(sum_.copy())


def _average(node: exp.Avg, asking: _Asking) -> exp.Expr:
    operand = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    size = _decimal_size(operand, asking)
    if size is None or not asking.type_of(operand).startswith("DECIMAL"):
        return node
    if isinstance(node.parent, (exp.Window, exp.Filter)):
        raise refused(f"{node.sql('databricks')} of decimals over a window")
    precision, scale = _bounded(size[0] + 4, size[1] + 4)
    return _divided(exp.Sum(this=node.this.copy()), exp.Count(this=node.this.copy()), precision, scale)


def _total(node: exp.Sum, asking: _Asking) -> exp.Expr:
    """DuckDB's sums of decimals have 38 digits; what is calculated with them would have other digits than in Spark."""
    if node.find_ancestor(exp.Select) is None:
        return node  # a number that is observed while rows pass by; its relation is not known here
    operand = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    size = _decimal_size(operand, asking)
    if size is None or not asking.type_of(operand).startswith("DECIMAL"):
        return node
    around: exp.Expr = node
    while isinstance(around.parent, (exp.Window, exp.Filter)):
        around = around.parent
    wanted = "DECIMAL({}, {})".format(*_bounded(size[0] + 10, size[1]))
    if around is node:
        return exp.cast(node.copy(), wanted)
    if not isinstance(around.parent, exp.Cast):
        around.replace(exp.cast(around.copy(), wanted))
    return node


def _divided(left: exp.Expr, right: exp.Expr, precision: int, scale: int) -> exp.Expr:
    return _calculated("ll_decimal_divide", left, right, precision, scale)


def _calculated(name: str, left: exp.Expr, right: exp.Expr, precision: int, scale: int) -> exp.Expr:
    """What needs more digits on its way than DuckDB has."""
    texts = [exp.cast(side.copy(), "text") for side in (left, right)]
    value = call(name, *texts, exp.Literal.number(precision), exp.Literal.number(scale))
    return exp.cast(value, f"DECIMAL({precision}, {scale})")


def _bounded(precision: int, scale: int) -> tuple[int, int]:
    """Spark's rule for results wider than 38 digits: give up digits after the point, but keep six."""
    if precision <= 38:
        return precision, scale
    return 38, max(38 - (precision - scale), min(scale, 6))


def _rounded(node: exp.Expr, asking: _Asking) -> exp.Expr:
    value, *places = node.expressions
    digits = places[0] if places else exp.Literal.number(0)
    kind = asking.type_of(value)
    if kind.startswith("DECIMAL"):
        return _rounded_decimal(value, digits, asking)
    if kind not in {"DOUBLE", "FLOAT"}:
        return call("round", value.copy(), digits.copy())
    if digits.find(exp.Column):
        raise refused("round() with a number of digits that is not constant")
    return exp.cast(call("ll_round_double", exp.cast(value.copy(), "text"), digits.copy()), kind)


def _rounded_decimal(value: exp.Expr, digits: exp.Expr, asking: _Asking) -> exp.Expr:
    """In the type that Spark gives: one more digit before the point, as 9.9 may become 10."""
    size, text = _decimal_size(value, asking), digits.sql()
    if size is None or not text.isdigit():
        raise refused("round() of decimals to digits that are not constant, or before the point")
    kept = min(size[1], int(text))
    rounded = call("round", value.copy(), exp.Literal.number(kept))
    return exp.cast(rounded, f"DECIMAL({min(38, size[0] - size[1] + 1 + kept)}, {kept})")


def _decimal_size(node: exp.Expr, asking: _Asking) -> tuple[int, int] | None:
    """Precision and scale as Spark sees the operand in decimal arithmetic; None for doubles and text."""
    inner = node.unnest()
    if isinstance(inner, exp.Cast) and inner.meta.get(WIDENED):
        inner = inner.this
    if isinstance(inner, exp.Literal) and not inner.is_string and inner.name.isdigit():
        return len(inner.name), 0
    kind = asking.type_of(node)
    found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", kind)
    if found:
        return int(found[1]), int(found[2])
    return (_WHOLE_DIGITS[kind], 0) if kind in _WHOLE_DIGITS else None


class _Asking:
    """Asks DuckDB for types, each question once: a value and the test whether it fails ask the same."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._answers: dict[str, str] = {}

    def type_of(self, node: exp.Expr) -> str:
        sql = sql_of(_probe(node))
        if sql not in self._answers:
            self._answers[sql] = self._ask(node, sql)
        return self._answers[sql]

    def _ask(self, node: exp.Expr, sql: str) -> str:
        try:
            described = self._session.run(f"DESCRIBE {sql}").fetchall()
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
    left_out = {*_LEFT_OUT, *_not_beside(node, around)}
    query = exp.Select(**{name: _copied(part) for name, part in around.args.items() if name not in left_out})
    query = query.select(exp.alias_(node.copy(), "probe"), copy=False)
    for outer in (around, *_outer_selects(around)):
        for cte in outer.ctes:
            query = query.with_(cte.alias, cte.this.copy(), copy=False)
    return _beside_outer(query, node, around)


def _beside_outer(query: exp.Select, node: exp.Expr, around: exp.Select) -> exp.Select:
    """A subquery may speak of the rows around it: their relations stand beside its own."""
    for outer in _outer_selects(around):
        known = {source.alias_or_name for source in _sources(query)}
        wanted = {column.table for column in node.find_all(exp.Column)} - known
        for source in _sources(outer):
            if source.alias_or_name in wanted:
                query = query.join(source.copy(), join_type="cross", copy=False)
    return query


def _sources(query: exp.Query) -> list[exp.Expr]:
    first = query.args.get("from_")
    joined = [join.this for join in query.args.get("joins") or []]
    return [*([first.this] if first is not None else []), *joined]


def _copied(part: object) -> object:
    if isinstance(part, list):
        return [_copied(each) for each in part]
    return part.copy() if isinstance(part, exp.Expr) else part


def _not_beside(node: exp.Expr, around: exp.Select) -> tuple[str, ...]:
    """Parts of a query that a node can do without; binding them would cost the square of the columns."""
    if _is_aggregated(node, around) or not (_mixes(node) or _named_beside(node, around)):
        return ("group", "expressions")
    return () if around.args.get("group") is not None or _named_beside(node, around) else ("expressions",)


def _mixes(node: exp.Expr) -> bool:
    """Whether a node has keys beside aggregates: only then it needs to be told what rows are grouped by."""
    if node.find(exp.AggFunc) is None:
        return False
    return any(column.find_ancestor(exp.AggFunc) is None for column in node.find_all(exp.Column))


def _named_beside(node: exp.Expr, around: exp.Select) -> bool:
    """Whether a node speaks of a column that is only made in the same query."""
    made = {each.alias for each in around.expressions if isinstance(each, exp.Alias) and each.alias != each.this.name}
    return any(not column.table and column.name in made for column in node.find_all(exp.Column))


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
