"""Java's regular expressions by RE2 where it matches the same, else row by row in Python."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.engine.duckdb.casts import to_text
from lakelogic.engine.duckdb.nodes import Rewrite, call, literal, refused, text
from lakelogic.engine.local.java_regex import Regex, read_regex
from lakelogic.engine.local.java_regex.judge import Purpose

_MOST_GROUPS = 9
_MOST_COPIED = 12  # nodes of a subject that is written out once for each way of matching


def regexp_like(node: exp.Expr) -> exp.Expr:
    regex = _regex(node, "test")
    return _run(regex, to_text(node.this), "regexp_matches", [], "ll_regex_test", [])


def regexp_replace(node: exp.Expr) -> exp.Expr:
    if node.args.get("position") is not None or node.args.get("occurrence") is not None:
        raise refused(node.sql("databricks"))
    regex = _regex(node, "replace")
    written = literal(node.args.get("replacement"), node)
    parts = regex.replacement(written)
    if any(isinstance(part, int) and part > _MOST_GROUPS for part in parts):
        regex = Regex(regex.pattern, "rows")
    native = "".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in parts)
    return _run(
        regex, to_text(node.this), "regexp_replace", [text(native), text("g")], "ll_regex_replace", [text(written)]
    )


def regexp_extract(node: exp.Expr) -> exp.Expr:
    regex, group = _regex(node, "extract"), _group(node)
    regex.check_group(group)
    if group > _MOST_GROUPS:
        regex = Regex(regex.pattern, "rows")
    number = exp.Literal.number(group)
    return _run(regex, to_text(node.this), "regexp_extract", [number], "ll_regex_extract", [number.copy()])


def regexp_extract_all(node: exp.Expr) -> exp.Expr:
    regex, group = _regex(node, "rows"), _group(node)
    regex.check_group(group)
    return _run(regex, to_text(node.this), "", [], "ll_regex_extract_all", [exp.Literal.number(group)])


def by_rows(name: str) -> Rewrite:
    """A function of a text and a pattern that is always done by Python."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        if any(value for key, value in node.args.items() if key not in ("this", "expression")):
            raise refused(node.sql("databricks"))
        return _run(_regex(node, "rows"), to_text(node.this), "", [], name, [])

    return rewrite


def split(node: exp.Expr) -> exp.Expr:
    limit = _whole(node.args.get("limit"), node, -1)
    pattern = literal(node.expression, node)
    if not pattern:
        raise refused(node.sql("databricks"))
    regex = _regex(node, "rows" if limit > 0 else "split")
    return _run(regex, to_text(node.this), "string_split_regex", [], "ll_regex_split", [exp.Literal.number(limit)])


def _regex(node: exp.Expr, purpose: Purpose) -> Regex:
    return read_regex(literal(node.expression, node), purpose)


def _group(node: exp.Expr) -> int:
    return _whole(node.args.get("group"), node, 1)


def _whole(number: exp.Expr | None, node: exp.Expr, other: int) -> int:
    if number is None:
        return other
    try:
        return int(number.sql())
    except ValueError:
        raise refused(node.sql("databricks")) from None


def _run(
    regex: Regex, subject: exp.Expr, native: str, native_args: list[exp.Expr], rows: str, rows_args: list[exp.Expr]
) -> exp.Expr:
    by_row = call(rows, subject.copy(), text(regex.written), *rows_args)
    # A subject of many nodes would be written out three times, and that for each function around it.
    if regex.way == "rows" or (regex.way == "plain" and len(list(subject.walk())) > _MOST_COPIED):
        return by_row
    itself = call(native, subject.copy(), text(regex.words), *native_args)
    if regex.way == "all":
        return itself
    return exp.Case(ifs=[exp.If(this=call("ll_is_plain", subject), true=itself)], default=by_row)
