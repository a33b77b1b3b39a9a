"""The SQL that authors write: Spark's, under ANSI rules, as Spark itself understands it.

sqlglot reads some functions of Spark into nodes from which their meaning cannot be told again. These are read here in a
way that Spark gets what the author wrote; tests/integration/spark/test_dialect.py compares all examples of its manual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.helper import seq_get
from sqlglot.parsers.databricks import DatabricksParser

from lakelogic.plan.expressions import cast
from lakelogic.plan.types import named

Build = Callable[[list[Any]], exp.Expr]


def _date_diff(args: list[Any]) -> exp.Expr:
    """`datediff(end, start)` counts midnights and is an INT; `datediff(unit, start, end)` is another name of
    `timestampdiff`: whole units that have gone by, a BIGINT. sqlglot makes one node of both."""
    if len(args) == 3:
        unit, start, end = args
        return exp.TimestampDiff(this=end, expression=start, unit=exp.var(unit.name.upper()))
    sides = [cast(each, named("date")) for each in args]
    return exp.DateDiff(this=seq_get(sides, 0), expression=seq_get(sides, 1), unit=exp.var("DAY"))


def _as_written(name: str) -> Build:
    return lambda args: exp.Anonymous(this=name, expressions=args)


def _as_written_with(count: int, name: str) -> Build:
    """A call with so many arguments as it is written; with another number sqlglot has the right node."""
    usual: Build = DatabricksParser.FUNCTIONS[name]
    return lambda args: _as_written(name)(args) if len(args) == count else usual(args)


_JOINED_TEXTS, _OF_THE_MOST = ("LISTAGG", "STRING_AGG"), ("MAX_BY", "MIN_BY")
_FUNCTIONS: dict[str, Build] = {
    "DATEDIFF": _date_diff,
    "DATE_DIFF": _date_diff,
    # The format would be lost, and the value with it.
    **{name: _as_written(name) for name in ("TO_CHAR", "TO_VARCHAR")},
    # Without a separator nothing stands between the texts; sqlglot writes a comma.
    **{name: _as_written(name) for name in _JOINED_TEXTS},
    # With a number they give an array of so many values; sqlglot forgets the number.
    **{name: _as_written_with(3, name) for name in _OF_THE_MOST},
    # sqlglot makes approximations of them, in another type.
    **{name: _as_written(name) for name in ("PERCENTILE_CONT", "PERCENTILE_DISC")},
    # An INT; sqlglot makes it a difference, which is a BIGINT.
    "UNIX_DATE": _as_written("UNIX_DATE"),
}


class LakeLogicSpark(Databricks):
    """sqlglot's `spark` reads CAST as TRY_CAST; its `databricks` does not."""

    class Parser(DatabricksParser):
        FUNCTIONS: ClassVar = {**DatabricksParser.FUNCTIONS, **_FUNCTIONS}
        FUNCTION_PARSERS: ClassVar = {
            name: parse for name, parse in DatabricksParser.FUNCTION_PARSERS.items() if name not in _FUNCTIONS
        }


SPARK: Final = "lakelogicspark"  # the name under which sqlglot knows the class
