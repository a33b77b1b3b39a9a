"""The author's SQL: parsed once, checked to be a plain question, freed of clocks."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar, TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.parsers.databricks import DatabricksParser

from lakelogic.core.errors import Place, Problem
from lakelogic.plan.expressions import cast, placeholder
from lakelogic.plan.model import HIDDEN_PREFIX
from lakelogic.plan.types import named


def _date_diff(arguments: list[exp.Expr]) -> exp.Expr:
    """Of two arguments datediff() counts midnights between dates, of three whole units between moments."""
    if len(arguments) != 2:
        unit, start, end = arguments
        return exp.TimestampDiff(this=end, expression=start, unit=exp.var(unit.name.upper()))
    end, start = (cast(argument, named("date")) for argument in arguments)
    return exp.DateDiff(this=end, expression=start, unit=exp.var("DAY"))


class LakeLogicSpark(Databricks):
    """Spark SQL under ANSI rules: sqlglot's `spark` reads CAST as TRY_CAST, its `databricks` does not."""

    class Parser(DatabricksParser):
        FUNCTIONS: ClassVar = {**DatabricksParser.FUNCTIONS, "DATEDIFF": _date_diff, "DATE_DIFF": _date_diff}


PARSE_DIALECTS = {"spark": "lakelogicspark"}
# Names keep their case; the default would fold `custId` to `custid`.
RESOLVE_DIALECT = "databricks, normalization_strategy = case_sensitive"

_UNSTABLE = (exp.Rand, exp.Randn, exp.Uuid)
_UNSTABLE_NAMES = {"rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id", "spark_partition_id",
                   "input_file_name", "current_user", "session_user", "gen_random_uuid", "randstr",
                   "uniform"}  # fmt: skip
_FORBIDDEN_NAMES = {"raise_error", "assert_true", "reflect", "java_method", "try_reflect", "secret", "read_files",
                    "read_csv", "read_parquet", "read_text", "getvariable", "getenv"}  # fmt: skip
_STATEMENT = re.compile(
    r"\s*(insert|update|delete|merge|drop|create|alter|truncate|grant|revoke|copy|call|set|use|vacuum|optimize)\s+[\w`]",
    re.I,
)
_NOW_NAMES = {"now", "getdate", "current_timestamp", "localtimestamp"}
_TIMES_OF_TEXT = (exp.Cast, exp.TsOrDsToDate, exp.StrToTime, exp.StrToDate, exp.TimeStrToTime, exp.Date, exp.Timestamp)
_WORDS_OF_TIME = {"epoch", "now", "today", "tomorrow", "yesterday"}
_WRITES = (exp.DDL, exp.DML, exp.Command, exp.Drop, exp.Alter, exp.TruncateTable, exp.Set, exp.Use, exp.Describe)


_Tree = TypeVar("_Tree", bound=exp.Expr)


class SqlProblem(Exception):  # noqa: N818 - it becomes a Problem
    """A mistake in the author's SQL; becomes a Problem at the place of the text."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint

    def at(self, place: Place | None) -> Problem:
        return Problem(self.code, self.message, place, self.hint)


def parse_expression(sql: str, dialect: str = "spark") -> exp.Expr:
    """Parse one scalar expression such as a rule or a filter."""
    return _parsed_expression(sql, dialect).copy()


# A contract's SQL is asked for many times: what it makes, what it reads, what it means.
@lru_cache(maxsize=1024)
def _parsed_expression(sql: str, dialect: str) -> exp.Expr:
    tree = _parse_one(sql, dialect)
    if isinstance(tree, exp.Alias):
        raise SqlProblem("LL211", f"`{sql}` must not name its result", "leave out `AS ...`")
    if isinstance(tree, exp.Query):
        raise SqlProblem("LL212", f"`{shorten(sql)}` must be an expression, not a query", "write only the condition")
    _refuse_forbidden(tree)
    if tree.find(exp.Query):
        raise SqlProblem(
            "LL213",
            f"`{shorten(sql)}` has a subquery",
            "use `referential_integrity`, a `lookup` or a `join` with a link instead",
        )
    return _without_positions(fix_clock(tree))


def peek_expression(sql: str, dialect: str = "spark") -> exp.Expr:
    """The same tree that others are given copies of: to look at, never to change."""
    return _parsed_expression(sql, dialect)


def peek_query(sql: str, dialect: str = "spark") -> exp.Query:
    """The same for a SELECT."""
    return _parsed_query(sql, dialect)


def parse_query(sql: str, dialect: str = "spark") -> exp.Query:
    """Parse a SELECT over `source`; a list of columns without FROM becomes one that keeps all other columns."""
    return _parsed_query(sql, dialect).copy()


@lru_cache(maxsize=1024)
def _parsed_query(sql: str, dialect: str) -> exp.Query:
    if found := _STATEMENT.match(sql):
        raise SqlProblem("LL203", f"`{found[1].upper()}` is not allowed here", "a contract only reads: use SELECT")
    if re.match(r"\s*(select|with)\b", sql, re.IGNORECASE):
        tree = _parse_one(sql, dialect)
    else:
        tree = _parse_one(f"SELECT *, {sql} FROM source", dialect, shown=sql)
    if not isinstance(tree, exp.Query) or isinstance(tree, exp.Subquery):
        raise SqlProblem("LL210", f"`{shorten(sql)}` is not a SELECT", "write one SELECT ... FROM source")
    if not tree.find(exp.From):
        columns = re.sub(r"(?i)^\s*select\b", "", sql, count=1)
        tree = _parse_one(f"SELECT *, {columns} FROM source", dialect, shown=sql)
    assert isinstance(tree, exp.Query)
    _refuse_forbidden(tree)
    return _without_positions(fix_clock(tree))


def _without_positions(tree: _Tree) -> _Tree:
    """Forget where words stood in the text: every copy of the tree would copy that too."""
    for node in tree.walk():
        node._meta = None
    return tree


def shorten(sql: str, limit: int = 80) -> str:
    flat = " ".join(sql.split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."


def fix_clock(tree: _Tree) -> _Tree:
    """Put the run's clock in place of the engine's, so that a retry and every engine see the same instant."""
    timestamp = named("timestamp")
    date = named("date")

    def replace(node: exp.Expr) -> exp.Expr:
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, (exp.CurrentTimestamp, exp.Localtimestamp)) or name in _NOW_NAMES:
            return cast(placeholder("now"), timestamp)
        if isinstance(node, exp.CurrentDate) or name in {"curdate", "today"}:
            return cast(placeholder("today"), date)
        return node

    replaced: _Tree = tree.transform(replace, copy=False)  # type: ignore[assignment]
    return replaced


def _parse_one(sql: str, dialect: str, shown: str | None = None) -> exp.Expr:
    try:
        trees = [tree for tree in sqlglot.parse(sql, dialect=PARSE_DIALECTS.get(dialect, dialect)) if tree is not None]
    except TokenError as error:
        hint = "check quotes and brackets: one of them does not close"
        raise SqlProblem("LL201", f"cannot read `{shorten(shown or sql)}`: {_first_line(error)}", hint) from error
    except SqlglotError as error:
        hint = f"write {'Spark' if dialect == 'spark' else dialect} SQL; `dialect` chooses another one"
        raise SqlProblem("LL201", f"cannot parse `{shorten(shown or sql)}`: {_first_line(error)}", hint) from error
    if len(trees) != 1:
        what = "is empty" if not trees else "has more than one statement"
        raise SqlProblem("LL202", f"`{shorten(shown or sql)}` {what}", "write exactly one SELECT or expression")
    return trees[0]


def _first_line(error: Exception) -> str:
    first = re.sub(r"\x1b\[[0-9;]*m", "", str(error).splitlines()[0]).rstrip(".")
    # The parser speaks of its own classes; the author knows only the text.
    return re.sub(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>", r"\1 misses an operand", first)


def _refuse_forbidden(tree: exp.Expr) -> None:
    for node in tree.walk():
        if isinstance(node, (*_WRITES, exp.Into)):
            raise SqlProblem("LL203", f"`{node.key.upper()}` is not allowed here", "a contract only reads: use SELECT")
        if isinstance(node, exp.Func):
            _refuse_function(node)
        if isinstance(node, _TIMES_OF_TEXT):
            _refuse_word_of_time(node)
        if isinstance(node, exp.Column) and node.name.lower().startswith(HIDDEN_PREFIX):
            raise SqlProblem(
                "LL204", f"`{node.name}` is an internal column", "columns that start with `_lakelogic_` are ours"
            )


def _refuse_function(node: exp.Func) -> None:
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    if isinstance(node, _UNSTABLE) or name in _UNSTABLE_NAMES:
        raise SqlProblem(
            "LL205",
            f"`{name}()` gives another value each time it is asked",
            "a rerun must give the same rows: use a hash of the key columns instead",
        )
    if name in _FORBIDDEN_NAMES:
        raise SqlProblem("LL206", f"`{name}()` is not allowed in a contract")


def _refuse_word_of_time(node: exp.Expr) -> None:
    """Spark reads `today` by its own clock where the text stands in the query, and not at all in a column."""
    value, wanted = node.this, node.args.get("to")
    if not isinstance(value, exp.Literal) or not value.is_string:
        return
    dated = wanted is None or wanted.is_type("date", "timestamp", "timestamptz", "timestampltz", "timestampntz")
    if dated and value.name.strip().lower().split(" ")[0] in _WORDS_OF_TIME:
        raise SqlProblem(
            "LL205",
            f"`'{value.name}'` is read by the clock of the engine, or not at all",
            "write current_date() or current_timestamp(), which are the clock of the run, or a date",
        )
