# ruff: noqa: E501 - a table: one entry per line reads better than one that is broken up
"""Which node of a Spark tree becomes which call in DuckDB: tables, and small functions for the odd ones."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.engine.duckdb import texts
from lakelogic.engine.duckdb.casts import cast_to, to_text
from lakelogic.engine.duckdb.date_rewrites import (
    date_add,
    date_diff,
    extract_date,
    format_date,
    parse_date,
    timestamp_add,
    trunc,
    unix_date,
)
from lakelogic.engine.duckdb.nodes import Rewrite, call, macro, refused, text
from lakelogic.engine.duckdb.regex import (
    by_rows,
    regexp_extract,
    regexp_extract_all,
    regexp_like,
    regexp_replace,
    split,
)
from lakelogic.engine.local.failures import STOPPED
from lakelogic.plan.model import DECRYPT_FUNCTION, ENCRYPT_FUNCTION, ENCRYPT_SAME_FUNCTION, HMAC_FUNCTION, SURE_FUNCTION
from lakelogic.plan.nested import PARTS, WITH, over_one_item

_SPREADS = ("regr_sxx", "regr_syy")


def _concat(node: exp.Expr) -> exp.Expr:
    first, *others = [to_text(part) for part in node.expressions]
    joined = first
    for part in others:
        joined = exp.DPipe(this=joined, expression=part)
    return exp.paren(joined, copy=False)


def _pipe(node: exp.Expr) -> exp.Expr:
    return exp.DPipe(this=to_text(node.this), expression=to_text(node.expression))


def _array_sort(node: exp.Expr) -> exp.Expr:
    if node.args.get("expression") is not None:
        raise refused(node.sql("databricks"))
    inner = node.this
    if (
        isinstance(inner, exp.Anonymous)
        and inner.name == "ll_distinct"
        and isinstance(inner.expressions[0], exp.ArrayCompact)
    ):
        # The sort makes the order of appearance worthless, and there is no NULL to lose.
        inner.set("this", "list_distinct")
    if _is_false(node.args.get("asc")):
        return call("ll_sort_down", node.this)
    return call("ll_sort_nulls_last" if _is_false(node.args.get("nulls_first")) else "ll_sort", node.this)


def _is_false(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Boolean) and not node.this


def _array_join(node: exp.Expr) -> exp.Expr:
    other = node.args.get("null")
    return (
        call("ll_join_with", node.this, node.expression, other)
        if other
        else call("ll_join", node.this, node.expression)
    )


def _bracket(node: exp.Expr) -> exp.Expr:
    """Items count from 0 after `[`, from 1 in element_at; DuckDB's count from 1."""
    index = node.expressions[0]
    if node.args.get("offset") or index.is_string:
        return exp.Bracket(this=node.this, expressions=[index], offset=1)
    if isinstance(index, exp.Literal):
        return exp.Bracket(this=node.this, expressions=[exp.Literal.number(int(index.name) + 1)], offset=1)
    raise refused(f"{node.sql('databricks')}; use get() or element_at() for an index that is not a number")


def _get(node: exp.Expr) -> exp.Expr:
    base, index = node.expressions
    after = exp.paren(exp.Add(this=exp.paren(index, copy=False), expression=exp.Literal.number(1)), copy=False)
    return exp.Bracket(this=base, expressions=[after], offset=1)


def _named_value(node: exp.Expr) -> exp.Expr:
    listed = over_one_item(node)
    return exp.Bracket(this=listed.expressions[0], expressions=[exp.Literal.number(1)], offset=1)


def _json_parts(node: exp.Expr) -> exp.Expr:
    """A text that holds the value in its shape; DuckDB then only has to take it apart."""
    raw, type_ = node.expressions
    made = exp.cast(call("ll_json_parts", raw, type_), "json")
    return exp.Cast(this=made, to=exp.DataType.build(type_.name, dialect="databricks"))


def _json(node: exp.Expr) -> exp.Expr:
    path = node.expression
    written = path.sql("duckdb")
    if "*" in written or not isinstance(path, (exp.JSONPath, exp.Literal)):
        raise refused(node.sql("databricks"))
    return call("ll_json", node.this, text(written.strip("'")))


def _variant(node: exp.Expr) -> exp.Expr:
    value, path, wanted = node.expressions
    if wanted.name.lower() != "string":
        raise refused(node.sql("databricks"))
    return call("ll_variant_get", value, path)


def _sha2(node: exp.Expr) -> exp.Expr:
    length = node.args.get("length")
    bits = 256 if length is None else int(length.name)
    if bits in {0, 256}:
        return call("ll_sha256", node.this)
    return call("ll_sha2", to_text(node.this), exp.Literal.number(bits))


def _collect(node: exp.Expr) -> exp.Expr:
    """Spark leaves NULLs out and gives an empty array where DuckDB gives NULL."""
    inner = node.this
    value = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner
    distinct = isinstance(inner, exp.Distinct) or isinstance(node, exp.ArrayUniqueAgg)
    if isinstance(node.parent, (exp.Window, exp.Filter, exp.WithinGroup)) or isinstance(inner, exp.Order):
        raise refused(node.sql("databricks"))
    listed = call("list", exp.Distinct(expressions=[value]) if distinct else value)
    kept = exp.Filter(
        this=listed, expression=exp.Where(this=exp.Not(this=exp.Is(this=value.copy(), expression=exp.null())))
    )
    return exp.Coalesce(this=kept, expressions=[exp.Array(expressions=[])])


def _series(node: exp.Expr) -> exp.Expr:
    step = node.args.get("step")
    arguments = [node.args["start"], node.args["end"]]
    return call("generate_series", *arguments, step) if step is not None else call("ll_sequence", *arguments)


def _array_test(macro: str) -> Rewrite:
    def rewrite(node: exp.Expr) -> exp.Expr:
        base, test = node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.expression)
        return call(macro, call("list_transform", base, test))

    return rewrite


def _exists(node: exp.Expr) -> exp.Expr:
    return _array_test("ll_exists")(node) if node.expression is not None else node


def _log(node: exp.Expr) -> exp.Expr:
    base, value = (node.this, node.expression) if node.expression is not None else (None, node.this)
    if base is None:
        return call("ll_ln", value)
    return call("ll_log10", value) if base.name == "10" else call("ll_log", base, value)


def _quantile(node: exp.Expr) -> exp.Expr:
    return call("quantile_cont", node.this, node.args["quantile"])


def _median(node: exp.Expr) -> exp.Expr:
    return call("median", exp.cast(node.this, "double"))


def _corr(node: exp.Expr) -> exp.Expr:
    """Of one pair Spark says nothing; where one side is always the same it divides by zero, and the run ends."""
    if isinstance(node.parent, (exp.Window, exp.Filter)):
        raise refused(node.sql("databricks"))
    left, right = (exp.cast(node.args[key], "double") for key in ("this", "expression"))
    pairs = call("regr_count", left.copy(), right.copy())
    few = exp.LTE(this=pairs, expression=exp.Literal.number(1))
    zero = [exp.EQ(this=call(name, left.copy(), right.copy()), expression=exp.Literal.number(0)) for name in _SPREADS]
    arms = [(few, exp.null()), (exp.or_(*zero), call("error", text(STOPPED)))]
    known = exp.Corr(this=left, expression=right)
    return exp.Case(ifs=[exp.If(this=test, true=value) for test, value in arms], default=known)


def _count(node: exp.Expr) -> exp.Expr:
    """count(a, b): the rows where none of them is NULL."""
    if not node.expressions or isinstance(node.this, exp.Distinct):
        return node
    parts = [exp.paren(part.copy()) for part in (node.this, *node.expressions)]
    there = exp.and_(*[exp.Not(this=exp.Is(this=part, expression=exp.null())) for part in parts])
    return exp.Count(this=exp.Case(ifs=[exp.If(this=there, true=exp.Literal.number(1))]))


def explode_outer(node: exp.Expr) -> exp.Expr:
    return exp.Explode(this=call("ll_or_null", node.this))


def _cast(node: exp.Expr) -> exp.Expr:
    return cast_to(node.this, node.args["to"])


def _tried(name: str, plain: type[exp.Binary]) -> Rewrite:
    """DuckDB's TRY takes no aggregates, windows or subqueries; the operator itself raises, as Spark's does."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        if node.find(exp.AggFunc, exp.Window, exp.Query) is None:
            return macro(name, "this", "expression")(node)
        return exp.paren(plain(this=exp.paren(node.this), expression=exp.paren(node.expression)), copy=False)

    return rewrite


def _sure(node: exp.Expr) -> exp.Expr:
    failed, value = node.expressions
    return exp.Case(ifs=[exp.If(this=failed, true=call("error", text(STOPPED)))], default=value)


def _as_int(node: exp.Expr) -> exp.Expr:
    """Numbers that are INT on Spark and BIGINT here: a product with one would not overflow where Spark's does."""
    return exp.Cast(this=node.copy(), to=exp.DataType.build("int"))


REWRITES: dict[type[exp.Expr], Rewrite] = {
    exp.Cast: _cast, exp.TryCast: _cast,
    exp.Div: macro("ll_divide", "this", "expression"), exp.SafeDivide: macro("ll_divide", "this", "expression"),
    exp.SafeAdd: _tried("ll_add", exp.Add), exp.SafeSubtract: _tried("ll_subtract", exp.Sub),
    exp.SafeMultiply: _tried("ll_multiply", exp.Mul),
    exp.Mod: macro("ll_modulo", "this", "expression"), exp.IntDiv: macro("ll_whole_divide", "this", "expression"),
    exp.Ln: macro("ll_ln", "this"), exp.Log: _log, exp.IsNan: macro("ll_is_nan", "this"),
    exp.Nanvl: macro("ll_nanvl", "this", "expression"),
    # DuckDB's own gives NULL where no row counts.
    exp.CountIf: lambda node: exp.Count(this=exp.Case(ifs=[exp.If(this=node.this, true=exp.Literal.number(1))])),
    # Of the row with the greatest order, also where its value is NULL.
    exp.ArgMax: macro("arg_max_null", "this", "expression"), exp.ArgMin: macro("arg_min_null", "this", "expression"),
    exp.Upper: texts.change_case("ll_upper"), exp.Lower: texts.change_case("ll_lower"),
    exp.Initcap: lambda node: call("ll_initcap", to_text(node.this)),
    exp.Substring: texts.substring, exp.Left: texts.end("ll_left"),
    exp.Right: texts.end("ll_right"), exp.Pad: texts.pad,
    exp.SubstringIndex: texts.substring_index,
    exp.Concat: _concat, exp.DPipe: _pipe,
    exp.RegexpLike: regexp_like, exp.RegexpReplace: regexp_replace, exp.RegexpExtract: regexp_extract,
    exp.RegexpExtractAll: regexp_extract_all, exp.RegexpCount: by_rows("ll_regex_count"),
    exp.RegexpInstr: by_rows("ll_regex_place"), exp.RegexpSubstr: by_rows("ll_regex_substring"),
    exp.RegexpSplit: split, exp.Like: texts.like, exp.ILike: texts.like,
    exp.Escape: texts.escaped_like, exp.Replace: texts.replace, exp.ConcatWs: texts.concat_ws, exp.Chr: texts.character,
    exp.StrPosition: texts.position, exp.Levenshtein: texts.levenshtein,
    exp.Reverse: lambda node: call("ll_reverse", to_text(node.this)),
    exp.SplitPart: macro("ll_split_part", "this", "delimiter", "part_index"),
    exp.ToBase64: macro("ll_base64", "this"), exp.Hex: macro("ll_hex", "this"),
    exp.JSONExtractScalar: _json, exp.Bracket: _bracket,
    exp.ArrayDistinct: macro("ll_distinct", "this"), exp.ArrayContains: macro("ll_contains", "this", "expression"),
    exp.ArrayPosition: macro("ll_position", "this", "expression"),
    **dict.fromkeys((exp.Length, exp.ArraySize, exp.BitwiseCount), lambda node: _as_int(node)),
    exp.ArrayRemove: macro("ll_remove", "this", "expression"), exp.ArrayToString: _array_join,
    exp.ArrayExcept: lambda node: call("ll_except", node.this, node.expression),
    exp.ArrayIntersect: lambda node: call("ll_intersect", *node.expressions),
    exp.ArraySort: _array_sort, exp.GenerateSeries: _series, exp.Exists: _exists,
    exp.ArraySlice: lambda node: call("ll_slice", node.this, node.args["start"], node.args["end"]),
    exp.TsOrDsAdd: date_add, exp.DateAdd: date_add, exp.TimestampAdd: timestamp_add,
    exp.DateSub: macro("ll_date_sub", "this", "expression"), exp.DateDiff: date_diff,
    exp.TimestampDiff: date_diff, exp.AddMonths: macro("ll_add_months", "this", "expression"),
    exp.MonthsBetween: macro("ll_months_between", "this", "expression"),
    exp.LastDay: macro("ll_last_day", "this"), exp.TimestampTrunc: trunc("ll_date_trunc"),
    exp.DateTrunc: trunc("ll_trunc"), exp.TimeToStr: format_date, exp.TsOrDsToDate: parse_date("date"),
    exp.StrToDate: parse_date("date"), exp.StrToTime: parse_date("time"), exp.StrToUnix: unix_date, exp.UnixToStr: unix_date,
    exp.TimeStrToTime: lambda node: call("ll_cast_timestamptz", node.this), exp.Extract: extract_date,
    exp.Year: macro("ll_year", "this"), exp.Quarter: macro("ll_quarter", "this"),
    exp.Month: macro("ll_month", "this"), exp.Day: macro("ll_day", "this"),
    exp.DayOfMonth: macro("ll_day", "this"), exp.DayOfWeek: macro("ll_day_of_week", "this"),
    exp.DayOfYear: macro("ll_dayofyear", "this"), exp.WeekOfYear: macro("ll_weekofyear", "this"),
    exp.Hour: macro("ll_hour", "this"), exp.Minute: macro("ll_minute", "this"),
    exp.Second: macro("ll_second", "this"),
    exp.MD5: macro("ll_md5", "this"), exp.SHA: macro("ll_sha1", "this"), exp.SHA2: _sha2,
    exp.ArrayAgg: _collect, exp.ArrayUniqueAgg: _collect, exp.Quantile: _quantile,
    exp.Median: _median, exp.Corr: _corr, exp.Count: _count,
    exp.Round: lambda node: call("ll_round", node.this, *filter(None, [node.args.get("decimals")])),
    exp.JSONFormat: macro("ll_to_json", "this"),
}  # fmt: skip

# Functions that sqlglot knows by name only.
NAMED: dict[str, Rewrite] = {
    "PMOD": lambda node: call("ll_positive_modulo", *node.expressions),
    "TRY_MOD": lambda node: call("ll_modulo", *node.expressions),
    "TRY_TO_DATE": parse_date("date"),
    "TRY_TO_TIMESTAMP": parse_date("time"),
    "TRY_VARIANT_GET": _variant,
    "TIMESTAMP_MILLIS": lambda node: call("ll_timestamp_millis", *node.expressions),
    "TRY_PARSE_JSON": lambda node: call("ll_parse_json", *node.expressions),
    "WEEKDAY": lambda node: call("ll_weekday", *node.expressions),
    "MAKE_DATE": lambda node: call("ll_make_date", *node.expressions),
    "ARRAY_UNION": lambda node: call("ll_union", *node.expressions),
    "CARDINALITY": lambda node: _as_int(call("len", *node.expressions)),
    "FORALL": _array_test("ll_forall"),
    "GET": _get,
    PARTS: _json_parts,
    WITH: _named_value,
    "MAP_FROM_ARRAYS": lambda node: call("map", *node.expressions),
    "ISNULL": lambda node: exp.paren(exp.Is(this=node.expressions[0], expression=exp.null()), copy=False),
    "ISNOTNULL": lambda node: exp.Not(this=exp.paren(exp.Is(this=node.expressions[0], expression=exp.null()), copy=False)),
    SURE_FUNCTION: _sure,
    "EVERY": lambda node: call("bool_and", *node.expressions),
    "SOME": lambda node: call("bool_or", *node.expressions),
    "MAP_VALUES": lambda node: call("map_values", *node.expressions),
    "CHAR": texts.character,
    "BTRIM": lambda node: call("trim", *node.expressions),
    "OCTET_LENGTH": lambda node: exp.cast(call("strlen", *node.expressions), "int"),
    "TRY_URL_DECODE": lambda node: call("ll_url_decode", *node.expressions),
    "DATE_PART": lambda node: extract_date(exp.Extract(this=exp.var(node.expressions[0].name), expression=node.expressions[1])),
    **{name: (lambda node: node) for name in (
        HMAC_FUNCTION, ENCRYPT_FUNCTION, ENCRYPT_SAME_FUNCTION, DECRYPT_FUNCTION)},
}  # fmt: skip

# Written by sqlglot for DuckDB with the value that Spark gives; everything else that is a function is refused.
SAME: frozenset[type[exp.Expr]] = frozenset({
    exp.And, exp.Or, exp.Xor, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Nvl2, exp.Greatest, exp.Least,
    exp.Abs, exp.Sign, exp.Sqrt, exp.Exp, exp.Pow, exp.Cbrt, exp.Floor, exp.Ceil, exp.Pi,
    exp.Trim, exp.Repeat, exp.Translate, exp.Ascii, exp.StartsWith, exp.EndsWith, exp.Contains, exp.Space,
    exp.Array, exp.ArrayCompact, exp.ArrayMax, exp.ArrayMin, exp.Flatten, exp.Struct, exp.Map,
    exp.VarMap, exp.MapKeys, exp.Transform, exp.ArrayFilter, exp.Reduce, exp.StructExtract,
    exp.Sum, exp.Min, exp.Max, exp.Avg, exp.LogicalAnd,
    exp.LogicalOr, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop,
    exp.First, exp.Last, exp.AnyValue, exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist,
    exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue,
    exp.Explode, exp.Posexplode, exp.Unnest, exp.Exists, exp.Decode, exp.DecodeCase,
    exp.EqualNull, exp.UnixMicros, exp.Grouping, exp.GroupingId,
})  # fmt: skip
