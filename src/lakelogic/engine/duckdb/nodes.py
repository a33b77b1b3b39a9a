"""Small builders that the rewrites share."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lakelogic.core.errors import CapabilityError

# Calls that `typed` replaces once it knows the types of their operands.
WAITING = frozenset({"ll_divide", "ll_multiply", "ll_round", "ll_moved", "ll_to_json"})
Rewrite = Callable[[exp.Expr], exp.Expr]


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def refused(what: str) -> CapabilityError:
    return CapabilityError(
        f"the DuckDB engine cannot compute `{what}` the way Spark does",
        hint="write it with other functions, or use engine: spark",
    )


def macro(name: str, *keys: str) -> Rewrite:
    """A call of a macro with the node's arguments under these keys; a list under `expressions` is spread."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        allowed = set(keys)
        for key, value in node.args.items():
            if key not in allowed and isinstance(value, exp.Expr):
                raise refused(node.sql("databricks"))
        return call(name, *[node.args[key] for key in keys])

    return rewrite


def literal(node: exp.Expr | None, what: exp.Expr) -> str:
    if not isinstance(node, exp.Literal):
        raise refused(f"{what.sql('databricks')} with a pattern that is not a text in quotes")
    return str(node.this)


def text(value: str) -> exp.Expr:
    return exp.Literal.string(value)
