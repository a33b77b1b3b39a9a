"""Functions of text: Spark's nodes in DuckDB's words."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.engine.duckdb.casts import to_text
from lakelogic.engine.duckdb.nodes import Rewrite, call, refused, text
from lakelogic.engine.local.likes import find_like_mistake

_FAR = 2147483647


def change_case(macro: str) -> Rewrite:
    """Of `upper(lower(x))` Spark's optimizer keeps the outer function only, which is another text for `ß`."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        inner = node.this.unnest()
        if isinstance(inner, exp.Anonymous) and inner.name in ("ll_upper", "ll_lower"):
            inner = inner.expressions[0]
        return call(macro, to_text(inner))

    return rewrite


def like(node: exp.Expr) -> exp.Expr:
    """Spark's LIKE has `\\` as its escape; DuckDB's has none until it is told."""
    if isinstance(node.parent, exp.Escape):
        return node
    return _like(node, "\\")


def escaped_like(node: exp.Expr) -> exp.Expr:
    escape = node.expression
    if not isinstance(escape, exp.Literal) or len(escape.this) != 1:
        raise refused(node.sql("databricks"))
    return _like(node.this, str(escape.this))


def _like(node: exp.Expr, escape: str) -> exp.Expr:
    pattern = node.expression
    if not isinstance(pattern, (exp.Literal, exp.Column)):
        raise refused(node.sql("databricks"))
    written = str(pattern.this) if isinstance(pattern, exp.Literal) else None
    if written is not None and find_like_mistake(written, escape):
        raise refused(f"{node.sql('databricks')}: {find_like_mistake(written, escape)}")
    fresh = node.copy()
    if isinstance(node, exp.ILike):
        # Spark lowers both sides, and a letter may become two.
        lowered = text(written.lower()) if written is not None else call("ll_lower", to_text(pattern))
        fresh = exp.Like(this=call("ll_lower", to_text(node.this)), expression=lowered, negate=node.args.get("negate"))
    if written is not None and escape not in written:
        return fresh
    matched = exp.Escape(this=fresh, expression=text(escape))
    if written is not None:
        return matched
    # Spark ends the run at such a pattern; DuckDB would take the sign behind the escape for itself.
    sign = f"\\x{{{ord(escape):X}}}"
    right = call("regexp_full_match", pattern.copy(), text(f"(?s)(?:[^{sign}]|{sign}[%_{sign}])*"))
    wrong = exp.If(this=exp.Not(this=right), true=call("ll_refuse", text("LIKE with such an escape in its pattern")))
    return exp.Case(ifs=[wrong], default=matched)


def substring(node: exp.Expr) -> exp.Expr:
    start = node.args["start"]
    size = node.args.get("length") or exp.Literal.number(_FAR)
    if isinstance(start, exp.Literal) and start.name.isdigit() and isinstance(size, exp.Literal):
        first = exp.Literal.number(max(int(start.name), 1))
        return call("substring", to_text(node.this), first, size)
    return call("ll_substring", to_text(node.this), start, size)


def end(name: str) -> Rewrite:
    """The first or the last letters."""
    return lambda node: call(name, to_text(node.this), node.expression)


def pad(node: exp.Expr) -> exp.Expr:
    fill = node.args.get("fill_pattern") or text(" ")
    name = "lpad" if node.args.get("is_left") else "rpad"
    value, size = to_text(node.this), exp.cast(node.expression, "int")
    if isinstance(fill, exp.Literal) and fill.this:
        return call(name, value, size, fill)
    return call(f"ll_{name}", value, size, fill)


def position(node: exp.Expr) -> exp.Expr:
    """`locate` with a start; without one it is DuckDB's own, which counts in BIGINT."""
    start = node.args.get("position")
    if node.args.get("occurrence") is not None:
        raise refused(node.sql("databricks"))
    if start is None:
        return exp.Cast(this=node.copy(), to=exp.DataType.build("int"))
    return exp.cast(call("ll_locate", to_text(node.this), to_text(node.args["substr"]), start), "int")


def levenshtein(node: exp.Expr) -> exp.Expr:
    if any(value for key, value in node.args.items() if key not in ("this", "expression")):
        raise refused("levenshtein() with a limit")
    return exp.cast(call("ll_levenshtein", to_text(node.this), to_text(node.expression)), "int")


def replace(node: exp.Expr) -> exp.Expr:
    new = node.args.get("replacement")
    return call("replace", to_text(node.this), to_text(node.expression), text("") if new is None else to_text(new))


def concat_ws(node: exp.Expr) -> exp.Expr:
    return node if len(node.expressions) > 1 else call("ll_nothing", node.expressions[0])


def character(node: exp.Expr) -> exp.Expr:
    return call("ll_chr", node.expressions[0] if node.expressions else node.this)


def substring_index(node: exp.Expr) -> exp.Expr:
    """DuckDB joins texts with a constant only."""
    mark = node.args["delimiter"]
    name = "ll_substring_index" if isinstance(mark, exp.Literal) else "ll_any_substring_index"
    return call(name, to_text(node.this), to_text(mark), node.args["count"])
