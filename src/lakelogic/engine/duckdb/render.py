"""Spark trees as DuckDB SQL: the same value, or a refusal that names the function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import sqlglot
from sqlglot import exp

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.duckdb.groups import with_groups
from lakelogic.engine.duckdb.nodes import call, refused
from lakelogic.engine.duckdb.rewrites import NAMED, REWRITES, SAME, explode_outer
from lakelogic.engine.local.spark_text import read_again

TypesOf = Callable[[str], Mapping[str, str]]
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.SafeAdd, exp.SafeSubtract, exp.SafeMultiply, exp.Mod)
_UNKNOWN = (exp.FromTimeZone, exp.AtTimeZone, exp.SimilarTo)
_MAX_INT = 2147483647
WIDENED = "duckdb_widened"  # a literal that only we cast: in decimal arithmetic its own digits count


def rewrite(tree: exp.Expr, types_of: TypesOf | None = None) -> exp.Expr:
    """The tree in DuckDB's terms; `types_of` tells the types of a relation's columns, for shorter SQL."""
    fresh = read_again(tree)
    if types_of is not None:
        _note_types(fresh, types_of)
    return _walk(fresh)


def _note_types(tree: exp.Expr, types_of: TypesOf) -> None:
    """Mark the columns of queries over one relation with their types."""
    for query in tree.find_all(exp.Select):
        source = query.args.get("from_")
        if source is None or not isinstance(source.this, exp.Table) or query.args.get("joins"):
            continue
        types = types_of(source.this.name)
        for column in query.find_all(exp.Column):
            if column.find_ancestor(exp.Select) is query and not column.table and column.name in types:
                column.meta["duckdb_type"] = types[column.name]


def sql_of(tree: exp.Expr) -> str:
    return tree.sql("duckdb", unsupported_level=sqlglot.ErrorLevel.IGNORE)


def type_sql(wanted: exp.DataType) -> str:
    """A Spark type in DuckDB's words."""
    return _with_utc(wanted.copy()).sql("duckdb")


def find_refusals(tree: exp.Expr) -> Iterator[str]:
    """What this tree needs that the engine cannot give."""
    try:
        rewrite(tree)
    except CapabilityError as error:
        yield error.problem.message


def _with_utc(wanted: exp.DataType) -> exp.DataType:
    for node in wanted.find_all(exp.DataType):
        if node.this == exp.DataType.Type.TIMESTAMPLTZ:
            node.set("this", exp.DataType.Type.TIMESTAMPTZ)
    return wanted


def _walk(node: exp.Expr) -> exp.Expr:
    """Children first, so that a rewrite sees arguments that are in DuckDB's terms already."""
    if isinstance(node, (exp.DataType, exp.Identifier, exp.JSONPath)):
        return node
    for child in list(node.iter_expressions()):
        fresh = _walk(child)
        if fresh is not child:
            child.replace(fresh)
    _widen_literals(node)
    return _moved(node) if _moves_date(node) else _one(node)


def _one(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Literal) and node.is_string and "\x00" in node.this:
        return _with_nul(node.this)
    if isinstance(node, exp.Lateral):
        return _lateral(node)
    if isinstance(node, exp.Select):
        return with_groups(node)
    if isinstance(node, exp.Anonymous):
        known = NAMED.get(node.name.upper())
        if known is not None:
            return known(node)
        if node.name.startswith(("ll_", "list", "generate_series", "regexp_")):
            return node
        raise refused(f"{node.name.lower()}()")
    if isinstance(node, exp.ExplodeOuter):
        return explode_outer(node)
    kind = type(node)
    if kind.__name__.startswith("_") and kind.__base__ is not None:
        kind = kind.__base__  # dialects derive private kinds from public ones
    handler = REWRITES.get(kind)
    if handler is not None:
        return handler(node)
    if isinstance(node, _UNKNOWN) or (isinstance(node, exp.Func) and kind not in SAME):
        raise refused(node.sql("databricks"))
    return node


def _with_nul(text: str) -> exp.Expr:
    """DuckDB's parser stops at a NUL, but its strings may hold one."""
    pieces: list[exp.Expr] = []
    for number, piece in enumerate(text.split("\x00")):
        pieces += [call("chr", exp.Literal.number(0))] if number else []
        pieces += [exp.Literal.string(piece)] if piece else []
    return pieces[0] if len(pieces) == 1 else call("concat", *pieces)


def _lateral(node: exp.Lateral) -> exp.Lateral:
    alias = node.args.get("alias")
    names = alias.args.get("columns") or [] if alias is not None else []
    if not isinstance(node.this, exp.Query) and (not node.args.get("view") or len(names) != 1):
        raise refused(node.sql("databricks"))
    if node.args.get("outer"):
        inner = node.this
        inner.set("this", call("ll_or_null", inner.this))
        node.set("outer", False)
    return node


def _widen_literals(node: exp.Expr) -> None:
    """A whole number is an INT in Spark; in DuckDB it takes the smallest type of the other operand."""
    if not isinstance(node, _ARITHMETIC) or isinstance(node.parent, (exp.Interval, exp.Bracket)):
        return
    for side in (node.this, node.args.get("expression")):
        if isinstance(side, exp.Literal) and not side.is_string and side.name.isdigit():
            wanted = "int" if int(side.name) <= _MAX_INT else "bigint"
            widened = exp.Cast(this=side.copy(), to=exp.DataType.build(wanted))
            widened.meta[WIDENED] = True
            side.replace(widened)


def _moves_date(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval)


def _moved(node: exp.Expr) -> exp.Expr:
    """A date plus days is a date in Spark and a timestamp in DuckDB: `typed` looks at the operand."""
    return call("ll_moved", node.copy())
