"""Decimal arithmetic has the types that Spark gives it."""

from __future__ import annotations

import pytest

from lakelogic.plan.model import Column
from lakelogic.plan.relation import Relation, resolve
from lakelogic.plan.sql import parse_expression
from lakelogic.plan.types import parse_type, type_name
from lakelogic.plan.typing import annotate

_TYPES = {"a": "decimal(10,2)", "b": "decimal(5,3)", "n": "int", "big": "decimal(38,10)", "x": "double"}


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("a + b", "decimal(12,3)"),
        ("a - n", "decimal(13,2)"),
        ("a * b", "decimal(16,5)"),
        ("a * 2", "decimal(12,2)"),
        ("a / b", "decimal(19,8)"),
        ("a / n", "decimal(21,13)"),
        ("a % b", "decimal(5,3)"),
        ("big * big", "decimal(38,6)"),
        ("a * 0.5", "decimal(12,3)"),
        ("(a + b) / 2", "decimal(15,6)"),
        ("a * x", "double"),
        ("-a", "decimal(10,2)"),
        ("SUM(a)", "decimal(20,2)"),
        ("AVG(a)", "decimal(14,6)"),
        ("COALESCE(a, b)", "decimal(11,3)"),
        ("CASE WHEN n > 0 THEN a ELSE 0 END", "decimal(12,2)"),
        ("ROUND(a, 1)", "decimal(10,1)"),
        ("ROUND(a, 2)", "decimal(11,2)"),
        ("ROUND(a, n)", "unknown"),
        ("CEIL(a)", "decimal(9,0)"),
        ("CASE WHEN n > 0 THEN a + x END", "double"),
        ("COALESCE(ROUND(a, 1), ABS(a))", "decimal(11,2)"),
    ],
)
def test_the_type_of_decimal_arithmetic(sql: str, wanted: str) -> None:
    columns = tuple(Column(name, parse_type(type_)) for name, type_ in _TYPES.items())  # type: ignore[arg-type]
    relation = Relation("source", columns)
    typed = annotate(resolve(parse_expression(sql), relation), relation)
    assert typed.type is not None
    assert type_name(typed.type) == wanted
