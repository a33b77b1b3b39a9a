# ruff: noqa: E501 - a table: one entry per line reads better than one that is broken up
"""Which node of a Spark tree becomes which call in DuckDB: tables, and small functions for the odd ones."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.databricks import Databricks

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.duckdb.casts import cast_to, to_text
from lakelogic.engine.duckdb.patterns import DatetimePattern, translate_pattern
from lakelogic.engine.duckdb.regex import to_re2, to_re2_replacement
from lakelogic.plan.model import DECRYPT_FUNCTION, ENCRYPT_FUNCTION, ENCRYPT_SAME_FUNCTION, HMAC_FUNCTION

Rewrite = Callable[[exp.Expr], exp.Expr]


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def refused(what: str) -> CapabilityError:
    return CapabilityError(
        f"the DuckDB engine cannot compute `{what}` the way Spark does",
        hint="write it with other functions, or use engine: spark",
    )


def _macro(name: str, *keys: str) -> Rewrite:
    """A call of a macro with the node's arguments under these keys; a list under `expressions` is spread."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        allowed = set(keys)
        for key, value in node.args.items():
            if key not in allowed and isinstance(value, exp.Expr):
                raise refused(node.sql("databricks"))
        return call(name, *[node.args[key] for key in keys])

    return rewrite


def _literal(node: exp.Expr | None, what: exp.Expr) -> str:
    if not isinstance(node, exp.Literal):
        raise refused(f"{what.sql('databricks')} with a pattern that is not a text in quotes")
    return str(node.this)


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _regexp_like(node: exp.Expr) -> exp.Expr:
    return call("regexp_matches", node.this, _text(to_re2(_literal(node.expression, node))))


def _regexp_replace(node: exp.Expr) -> exp.Expr:
    pattern = to_re2(_literal(node.expression, node))
    text = to_re2_replacement(_literal(node.args.get("replacement"), node))
    return call("regexp_replace", node.this, _text(pattern), _text(text), _text("g"))


def _regexp_extract(node: exp.Expr) -> exp.Expr:
    group = node.args.get("group") or exp.Literal.number(1)
    return call("regexp_extract", node.this, _text(to_re2(_literal(node.expression, node))), group)


def _split(node: exp.Expr) -> exp.Expr:
    limit = node.args.get("limit")
    pattern = _literal(node.expression, node)
    if (limit is not None and limit.sql() != "-1") or not pattern:
        raise refused(node.sql("databricks"))
    return call("string_split_regex", node.this, _text(to_re2(pattern)))


def _like(node: exp.Expr) -> exp.Expr:
    """Spark's LIKE has `\\` as its escape; DuckDB's has none until it is told."""
    if isinstance(node.parent, exp.Escape):
        return node
    pattern = node.expression
    if isinstance(pattern, exp.Literal) and "\\" not in pattern.this:
        return node
    if not isinstance(pattern, (exp.Literal, exp.Column)):
        raise refused(node.sql("databricks"))
    return exp.Escape(this=node.copy(), expression=_text("\\"))


def _concat(node: exp.Expr) -> exp.Expr:
    first, *others = [to_text(part) for part in node.expressions]
    joined = first
    for part in others:
        joined = exp.DPipe(this=joined, expression=part)
    return exp.paren(joined, copy=False)


def _pipe(node: exp.Expr) -> exp.Expr:
    return exp.DPipe(this=to_text(node.this), expression=to_text(node.expression))


def _substring(node: exp.Expr) -> exp.Expr:
    start = node.args["start"]
    size = node.args.get("length") or exp.Literal.number(2147483647)
    if isinstance(start, exp.Literal) and start.name.isdigit() and isinstance(size, exp.Literal):
        first = exp.Literal.number(max(int(start.name), 1))
        return call("substring", to_text(node.this), first, size)
    return call("ll_substring", node.this, start, size)


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
    after = exp.paren(
        exp.Add(this=exp.paren(index, copy=False), expression=exp.Literal.number(1)), copy=False
    )
    return exp.Bracket(this=base, expressions=[after], offset=1)


def _json(node: exp.Expr) -> exp.Expr:
    path = node.expression
    written = path.sql("duckdb")
    if "*" in written or not isinstance(path, (exp.JSONPath, exp.Literal)):
        raise refused(node.sql("databricks"))
    return call("ll_json", node.this, _text(written.strip("'")))


_TRUNC_UNITS = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MM": "month",
    "MON": "month", "WEEK": "week", "DAY": "day", "DD": "day", "HOUR": "hour", "MINUTE": "minute",
    "SECOND": "second", "MILLISECOND": "millisecond", "MICROSECOND": "microsecond",
}  # fmt: skip


def _trunc(macro: str) -> Rewrite:
    def rewrite(node: exp.Expr) -> exp.Expr:
        unit = _TRUNC_UNITS.get(node.args["unit"].name.upper())
        if unit is None:
            raise refused(node.sql("databricks"))
        return call(macro, _text(unit), node.this)

    return rewrite


def _date_diff(node: exp.Expr) -> exp.Expr:
    """Spark's datediff(end, start) counts midnights; with a unit it counts whole units that have gone by."""
    unit = node.args.get("unit")
    name = unit.name.lower().rstrip("s") if unit is not None else "day"
    if isinstance(node, exp.DateDiff) and name == "day":
        return call("ll_days", node.this, node.expression)
    if name in {"month", "quarter", "year"}:
        months = call("ll_elapsed_months", node.expression, node.this)
        size = {"month": 1, "quarter": 3, "year": 12}[name]
        return months if size == 1 else call("ll_whole_divide", months, exp.Literal.number(size))
    if name not in {"week", "day", "hour", "minute", "second", "millisecond", "microsecond"}:
        raise refused(node.sql("databricks"))
    return call("ll_elapsed", _text(name), node.expression, node.this)


def _date_add(node: exp.Expr) -> exp.Expr:
    unit = node.args.get("unit")
    if unit is not None and unit.name.upper() not in {"DAY", "DAYS"}:
        raise refused(node.sql("databricks"))
    return call("ll_date_add", node.this, node.expression)


def _timestamp_add(node: exp.Expr) -> exp.Expr:
    unit = node.args["unit"].name.lower().rstrip("s")
    makers = {"year": "to_years", "month": "to_months", "week": "to_weeks", "day": "to_days", "hour": "to_hours",
              "minute": "to_minutes", "second": "to_seconds"}  # fmt: skip
    if unit not in makers:
        raise refused(node.sql("databricks"))
    amount = call(makers[unit], exp.cast(node.expression, "int"))
    moved = exp.Add(this=call("ll_cast_timestamptz", node.this), expression=amount)
    return exp.paren(moved, copy=False)


def _pattern(node: exp.Expr) -> DatetimePattern:
    """sqlglot has turned the pattern into strftime codes already; its own writer turns it back."""
    if not isinstance(node.args.get("format"), exp.Literal):
        raise refused(node.sql("databricks"))
    written = Databricks().generator().format_time(node)
    return translate_pattern(str(written).strip("'"))


def _parse(kind: str) -> Rewrite:
    def rewrite(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous):
            value, *patterns = node.expressions
            pattern = translate_pattern(_literal(patterns[0], node)) if patterns else None
        else:
            value, pattern = node.this, _pattern(node) if node.args.get("format") is not None else None
        if pattern is None:
            return call("ll_cast_date" if kind == "date" else "ll_cast_timestamptz", value)
        return call(f"ll_parse_{kind}", value, _text(pattern.code.replace("%-", "%")), _text(pattern.accepts))

    return rewrite


def _unix(node: exp.Expr) -> exp.Expr:
    if str(node.args["format"].this) != "%Y-%mstrict-%dstrict %Hstrict:%Mstrict:%Sstrict":
        raise refused(node.sql("databricks"))
    return call("ll_epoch" if isinstance(node, exp.StrToUnix) else "ll_from_unixtime", node.this)


def _format(node: exp.Expr) -> exp.Expr:
    return call("ll_format", node.this, _text(_pattern(node).code))


def _extract(node: exp.Expr) -> exp.Expr:
    part = node.this.name.lower()
    known = {"year", "quarter", "month", "day", "hour", "minute", "dayofweek"}
    if part not in known:
        raise refused(node.sql("databricks"))
    return call("ll_day_of_week" if part == "dayofweek" else f"ll_{part}", node.expression)


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


def _pad(node: exp.Expr) -> exp.Expr:
    fill = node.args.get("fill_pattern") or _text(" ")
    name = "lpad" if node.args.get("is_left") else "rpad"
    return call(name, to_text(node.this), exp.cast(node.expression, "int"), fill)


def explode_outer(node: exp.Expr) -> exp.Expr:
    return exp.Explode(this=call("ll_or_null", node.this))


def _cast(node: exp.Expr) -> exp.Expr:
    return cast_to(node.this, node.args["to"])


REWRITES: dict[type[exp.Expr], Rewrite] = {
    exp.Cast: _cast, exp.TryCast: _cast,
    exp.Div: _macro("ll_divide", "this", "expression"), exp.SafeDivide: _macro("ll_divide", "this", "expression"),
    exp.SafeAdd: _macro("ll_add", "this", "expression"),
    exp.SafeSubtract: _macro("ll_subtract", "this", "expression"),
    exp.SafeMultiply: _macro("ll_multiply", "this", "expression"),
    exp.Mod: _macro("ll_modulo", "this", "expression"), exp.IntDiv: _macro("ll_whole_divide", "this", "expression"),
    exp.Ln: _macro("ll_ln", "this"), exp.Log: _log, exp.IsNan: _macro("ll_is_nan", "this"),
    exp.Nanvl: _macro("ll_nanvl", "this", "expression"),
    exp.Upper: lambda node: call("ll_upper", to_text(node.this)),
    exp.Lower: lambda node: call("ll_lower", to_text(node.this)),
    exp.Initcap: lambda node: call("ll_initcap", to_text(node.this)),
    exp.Substring: _substring, exp.Left: _macro("ll_left", "this", "expression"),
    exp.Right: _macro("ll_right", "this", "expression"), exp.Pad: _pad,
    exp.SubstringIndex: _macro("ll_substring_index", "this", "delimiter", "count"),
    exp.Concat: _concat, exp.DPipe: _pipe,
    exp.RegexpLike: _regexp_like, exp.RegexpReplace: _regexp_replace, exp.RegexpExtract: _regexp_extract,
    exp.RegexpSplit: _split, exp.Like: _like, exp.ILike: _like,
    exp.ToBase64: _macro("ll_base64", "this"),
    exp.JSONExtractScalar: _json, exp.Bracket: _bracket,
    exp.ArrayDistinct: _macro("ll_distinct", "this"), exp.ArrayContains: _macro("ll_contains", "this", "expression"),
    exp.ArrayPosition: _macro("ll_position", "this", "expression"),
    exp.ArrayRemove: _macro("ll_remove", "this", "expression"), exp.ArrayToString: _array_join,
    exp.ArrayExcept: lambda node: call("ll_except", node.this, node.expression),
    exp.ArrayIntersect: lambda node: call("ll_intersect", *node.expressions),
    exp.ArraySort: _array_sort, exp.GenerateSeries: _series, exp.Exists: _exists,
    exp.ArraySlice: lambda node: call("ll_slice", node.this, node.args["start"], node.args["end"]),
    exp.TsOrDsAdd: _date_add, exp.DateAdd: _date_add, exp.TimestampAdd: _timestamp_add,
    exp.DateSub: _macro("ll_date_sub", "this", "expression"), exp.DateDiff: _date_diff,
    exp.TimestampDiff: _date_diff, exp.AddMonths: _macro("ll_add_months", "this", "expression"),
    exp.MonthsBetween: _macro("ll_months_between", "this", "expression"),
    exp.LastDay: _macro("ll_last_day", "this"), exp.TimestampTrunc: _trunc("ll_date_trunc"),
    exp.DateTrunc: _trunc("ll_trunc"), exp.TimeToStr: _format, exp.TsOrDsToDate: _parse("date"),
    exp.StrToDate: _parse("date"), exp.StrToTime: _parse("time"), exp.StrToUnix: _unix, exp.UnixToStr: _unix,
    exp.TimeStrToTime: lambda node: call("ll_cast_timestamptz", node.this), exp.Extract: _extract,
    exp.Year: _macro("ll_year", "this"), exp.Quarter: _macro("ll_quarter", "this"),
    exp.Month: _macro("ll_month", "this"), exp.Day: _macro("ll_day", "this"),
    exp.DayOfMonth: _macro("ll_day", "this"), exp.DayOfWeek: _macro("ll_day_of_week", "this"),
    exp.DayOfYear: _macro("ll_dayofyear", "this"), exp.WeekOfYear: _macro("ll_weekofyear", "this"),
    exp.Hour: _macro("ll_hour", "this"), exp.Minute: _macro("ll_minute", "this"),
    exp.Second: _macro("ll_second", "this"),
    exp.MD5: _macro("ll_md5", "this"), exp.SHA: _macro("ll_sha1", "this"), exp.SHA2: _sha2,
    exp.ArrayAgg: _collect, exp.ArrayUniqueAgg: _collect, exp.Quantile: _quantile,
    exp.Round: lambda node: call("ll_round", node.this, *filter(None, [node.args.get("decimals")])),
    exp.JSONFormat: _macro("ll_to_json", "this"),
}  # fmt: skip

# Functions that sqlglot knows by name only.
NAMED: dict[str, Rewrite] = {
    "PMOD": lambda node: call("ll_positive_modulo", *node.expressions),
    "TRY_MOD": lambda node: call("ll_modulo", *node.expressions),
    "TRY_TO_DATE": _parse("date"),
    "TRY_TO_TIMESTAMP": _parse("time"),
    "TRY_PARSE_JSON": lambda node: call("ll_parse_json", *node.expressions),
    "WEEKDAY": lambda node: call("ll_weekday", *node.expressions),
    "MAKE_DATE": lambda node: call("ll_make_date", *node.expressions),
    "ARRAY_UNION": lambda node: call("ll_union", *node.expressions),
    "CARDINALITY": lambda node: call("len", *node.expressions),
    "FORALL": _array_test("ll_forall"),
    "GET": _get,
    "ISNULL": lambda node: exp.paren(exp.Is(this=node.expressions[0], expression=exp.null()), copy=False),
    "ISNOTNULL": lambda node: exp.Not(this=exp.paren(exp.Is(this=node.expressions[0], expression=exp.null()), copy=False)),
    "EVERY": lambda node: call("bool_and", *node.expressions),
    "SOME": lambda node: call("bool_or", *node.expressions),
    "MAP_VALUES": lambda node: call("map_values", *node.expressions),
    "BTRIM": lambda node: call("trim", *node.expressions),
    "OCTET_LENGTH": lambda node: call("strlen", *node.expressions),
    "DATE_PART": lambda node: _extract(exp.Extract(this=exp.var(node.expressions[0].name), expression=node.expressions[1])),
    **{name: (lambda node: node) for name in (
        HMAC_FUNCTION, ENCRYPT_FUNCTION, ENCRYPT_SAME_FUNCTION, DECRYPT_FUNCTION)},
}  # fmt: skip

# Written by sqlglot for DuckDB with the value that Spark gives; everything else that is a function is refused.
SAME: frozenset[type[exp.Expr]] = frozenset({
    exp.And, exp.Or, exp.Xor, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Nvl2, exp.Greatest, exp.Least,
    exp.Abs, exp.Sign, exp.Sqrt, exp.Exp, exp.Pow, exp.Cbrt, exp.Floor, exp.Ceil, exp.Pi,
    exp.Length, exp.Trim, exp.ConcatWs, exp.StrPosition, exp.Replace, exp.Repeat, exp.Reverse, exp.Translate, exp.Ascii, exp.Chr,
    exp.StartsWith, exp.EndsWith, exp.Contains, exp.Levenshtein, exp.SplitPart, exp.Space,
    exp.Array, exp.ArrayCompact, exp.ArraySize, exp.ArrayMax, exp.ArrayMin, exp.Flatten, exp.Struct, exp.Map,
    exp.VarMap, exp.MapKeys, exp.Transform, exp.ArrayFilter, exp.Reduce, exp.StructExtract,
    exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg, exp.CountIf, exp.ArgMax, exp.ArgMin, exp.LogicalAnd,
    exp.LogicalOr, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop, exp.Corr, exp.Median,
    exp.First, exp.Last, exp.AnyValue, exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist,
    exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue,
    exp.Explode, exp.Posexplode, exp.Unnest, exp.BitwiseCount, exp.Exists, exp.Decode, exp.DecodeCase,
    exp.EqualNull,
})  # fmt: skip
