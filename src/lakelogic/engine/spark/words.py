"""Names and texts as words of Spark SQL."""

from __future__ import annotations

from sqlglot import exp


def quote(name: str) -> str:
    """A column or view name as an identifier of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    return exp.Literal.string(text).sql(dialect="spark")
