"""Java's regular expressions by Rust's where they match the same, else row by row in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import polars as pl
from sqlglot import exp

from lakelogic.engine.local.java_regex import PLAIN, Regex, read_regex
from lakelogic.engine.local.java_regex import rows as by_rows
from lakelogic.engine.local.java_regex.judge import Purpose
from lakelogic.engine.polars.casts import to_text
from lakelogic.engine.polars.types import Type
from lakelogic.engine.polars.values import Compile, Handler, Value, call, refused

_STRING, _INT, _BOOLEAN, _TEXTS = pl.String(), pl.Int32(), pl.Boolean(), pl.List(pl.String())
Native = Callable[[pl.Expr, str], pl.Expr]


def _regexp_like(node: exp.Expr, value_of: Compile) -> Value:
    regex = _regex(node, "test")
    return _run(regex, node, value_of, lambda text, words: text.str.contains(words), by_rows.regex_test, (), _BOOLEAN)


def _regexp_replace(node: exp.Expr, value_of: Compile) -> Value:
    if node.args.get("position") is not None or node.args.get("occurrence") is not None:
        raise refused(node)
    regex, written = _regex(node, "replace"), _constant(node.args.get("replacement"), node)
    parts = regex.replacement(written)
    native = "".join(f"${{{part}}}" if isinstance(part, int) else part.replace("$", "$$") for part in parts)
    replaced: Native = lambda text, words: text.str.replace_all(words, native)  # noqa: E731
    return _run(regex, node, value_of, replaced, by_rows.regex_replace, (written,), _STRING)


def _regexp_extract(node: exp.Expr, value_of: Compile) -> Value:
    regex, group = _regex(node, "extract"), _whole(node.args.get("group"), node, 1)
    regex.check_group(group)
    found: Native = lambda text, words: (  # noqa: E731
        pl.when(text.is_not_null()).then(text.str.extract(words, group).fill_null(""))
    )
    return _run(regex, node, value_of, found, by_rows.regex_extract, (group,), _STRING)


def _regexp_extract_all(node: exp.Expr, value_of: Compile) -> Value:
    regex, group = _regex(node, "rows"), _whole(node.args.get("group"), node, 1)
    regex.check_group(group)
    return _run(regex, node, value_of, None, by_rows.regex_extract_all, (group,), _TEXTS)


def _by_rows(function: Callable[..., Any], gives: Type) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        return _run(_regex(node, "rows"), node, value_of, None, function, (), gives)

    return compiled


def _split(node: exp.Expr, value_of: Compile) -> Value:
    limit = _whole(node.args.get("limit"), node, -1)
    if not _constant(node.expression, node):
        raise refused(node)
    regex = _regex(node, "rows" if limit > 0 else "split")
    cut: Native = lambda text, words: text.str.split(words, literal=False)  # noqa: E731
    return _run(regex, node, value_of, cut, by_rows.regex_split, (limit,), _TEXTS)


def _regex(node: exp.Expr, purpose: Purpose) -> Regex:
    regex = read_regex(_constant(node.expression, node), purpose)
    return regex if regex.way == "rows" or _rust_reads(regex.words) else read_regex(regex.written, "rows")


@lru_cache(maxsize=256)
def _rust_reads(words: str) -> bool:
    try:
        pl.Series([""]).str.contains(words)
    except pl.exceptions.PolarsError:
        return False
    return True


def _constant(node: exp.Expr | None, what: exp.Expr) -> str:
    if not isinstance(node, exp.Literal) or not node.is_string:
        raise refused(f"{what.sql('databricks')} with a pattern that is not a text in quotes")
    return str(node.this)


def _whole(number: exp.Expr | None, node: exp.Expr, other: int) -> int:
    if number is None:
        return other
    try:
        return int(number.sql())
    except ValueError:
        raise refused(node) from None


def _run(
    regex: Regex,
    node: exp.Expr,
    value_of: Compile,
    native: Native | None,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    gives: Type,
) -> Value:
    subject = to_text(value_of(node.this), value_of.guard)
    if native is not None and regex.way == "all":
        return Value(native(subject.expr, regex.words), gives)
    run = lambda text: function(text, regex.written, *arguments)  # noqa: E731
    if native is None or regex.way == "rows":
        return call(run, [subject], gives, value_of.guard)
    odd = subject.expr.str.contains(PLAIN)
    rows = call(run, [subject], gives, odd if value_of.guard is None else value_of.guard & odd)
    return Value(pl.when(odd).then(rows.expr).otherwise(native(subject.expr, regex.words)), gives)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.RegexpLike: _regexp_like, exp.RegexpReplace: _regexp_replace, exp.RegexpExtract: _regexp_extract,
    exp.RegexpExtractAll: _regexp_extract_all, exp.RegexpSplit: _split,
    exp.RegexpCount: _by_rows(by_rows.regex_count, _INT), exp.RegexpInstr: _by_rows(by_rows.regex_place, _INT),
    exp.RegexpSubstr: _by_rows(by_rows.regex_substring, _STRING),
}  # fmt: skip
