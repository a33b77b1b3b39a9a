"""The arguments of nodes that the compiler reads; a node with another one is refused, never half understood."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

_ALWAYS = frozenset({"this", "expression", "expressions"})
_READ: dict[Any, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        exp.Between: "low high", exp.Case: "ifs default", exp.If: "true false", exp.Nvl2: "true false",
        exp.Cast: "to", exp.TryCast: "to", exp.Alias: "alias", exp.Round: "decimals truncate",
        exp.Floor: "decimals", exp.Ceil: "decimals", exp.Substring: "start length", exp.Trim: "position",
        exp.RegexpReplace: "replacement position occurrence", exp.RegexpExtract: "group", exp.RegexpExtractAll: "group",
        exp.RegexpSplit: "limit",
        exp.Replace: "replacement", exp.StrPosition: "substr position occurrence", exp.Pad: "fill_pattern",
        exp.SubstringIndex: "delimiter count", exp.SplitPart: "delimiter part_index", exp.Translate: "from_ to",
        exp.Repeat: "times", exp.SHA2: "length", exp.TsOrDsAdd: "unit", exp.DateAdd: "unit", exp.DateSub: "unit",
        exp.DateDiff: "unit", exp.TimestampDiff: "unit", exp.TimestampAdd: "unit", exp.TimestampTrunc: "unit",
        exp.DateTrunc: "unit", exp.TimeToStr: "format", exp.TsOrDsToDate: "format", exp.StrToDate: "format",
        exp.StrToTime: "format", exp.StrToUnix: "format", exp.UnixToStr: "format",
        exp.GenerateSeries: "start end step", exp.ArraySort: "asc nulls_first", exp.ArrayToString: "null",
        exp.ArraySlice: "start end", exp.ArgMax: "count", exp.ArgMin: "count", exp.Quantile: "quantile",
        exp.In: "query unnest", exp.Column: "table db",
    }.items()
}  # fmt: skip
_NEGATED = (exp.Like, exp.ILike, exp.Is)


def find_unread(node: exp.Expr) -> str | None:
    """The name of an argument that nobody would look at."""
    read = _READ.get(type(node), frozenset())
    for name, value in node.args.items():
        if name == "negate" and value and not isinstance(node, _NEGATED):
            return name
        if isinstance(value, exp.Expr) and name not in _ALWAYS and name not in read:
            return name
    return None
