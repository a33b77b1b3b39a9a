"""The least and the greatest of doubles: 0.0 and -0.0 are equal, and which of them an engine has seen first is chance.

Spark's own answer depends on the order in which it meets rows. So the answer that is zero is 0.0, everywhere.
"""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.expressions import cast, number
from lakelogic.plan.types import is_floating, named

_CHOICES = (exp.Min, exp.Max, exp.Least, exp.Greatest)
_AROUND = (exp.Filter, exp.Window)


def without_negative_zeros(typed: exp.Expr) -> exp.Expr:
    """The tree with such choices plus zero, which leaves every other number as it is; queries inside included."""
    for node in reversed(list(typed.find_all(*_CHOICES))):  # inner ones first: outer ones make copies of them
        whole: exp.Expr = node
        while isinstance(whole.parent, _AROUND) and whole.parent.this is whole:
            whole = whole.parent
        if node.type is None or not is_floating(node.type):
            continue
        made = _plus_zero(whole, node.type)
        if whole is typed:
            typed = made
        else:
            whole.replace(made)
    return typed


def _plus_zero(value: exp.Expr, type_: exp.DataType) -> exp.Expr:
    zero = number(0)
    zero.type = named("int")  # so that nobody asks whether the cast may fail
    made = exp.paren(exp.Add(this=value.copy(), expression=cast(zero, type_)), copy=False)
    for node in (made, made.this, made.this.expression):
        node.type = type_
    return made
