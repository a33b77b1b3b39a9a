"""The types of a query, from the innermost SELECT outwards: what is outside sees what was corrected inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from lakelogic.plan.decimals import type_decimals, wider_decimal
from lakelogic.plan.sql import SqlProblem, shorten
from lakelogic.plan.types import family, is_decimal, is_floating, is_whole, named, type_name, widens
from lakelogic.plan.typing import annotate_query

Types = Mapping[str, exp.DataType]
_CLAUSES = ("where", "group", "having", "qualify", "order")


def type_query(query: exp.Query, tables: Mapping[str, Types]) -> Types:
    """Give every node of a qualified query its type; the result is that of its columns."""
    return _query(query, tables, {})


def _query(query: exp.Expr, tables: Mapping[str, Types], outer: Mapping[str, Types]) -> Types:
    tables = _with(query, tables, outer)
    match query:
        case exp.Subquery():
            return _query(query.this, tables, outer)
        case exp.SetOperation():
            left, right = _query(query.left, tables, outer), _query(query.right, tables, outer)
            types = [_common(*pair, query) for pair in zip(left.values(), right.values(), strict=False)]
            return dict(zip(left, types, strict=False))
        case exp.Select():
            return _Select(query, tables, outer).types()
    return {}


def _with(query: exp.Expr, tables: Mapping[str, Types], outer: Mapping[str, Types]) -> Mapping[str, Types]:
    for cte in query.ctes if isinstance(query, exp.Query) else []:
        recursive = isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive")
        if recursive and isinstance(cte.this, exp.SetOperation):
            tables = {**tables, cte.alias: _renamed(_query(cte.this.left, tables, outer), cte)}
        tables = {**tables, cte.alias: _renamed(_query(cte.this, tables, outer), cte)}
    return tables


def _renamed(types: Types, node: exp.Expr) -> Types:
    """`AS t(a, b)`: other names for the columns."""
    alias = node.args.get("alias")
    names = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
    return dict(zip(names, types.values(), strict=False)) if names else types


@dataclass(slots=True)
class _Select:
    tree: exp.Select
    tables: Mapping[str, Types]
    outer: Mapping[str, Types]

    def types(self) -> Types:
        known: dict[str, Types] = dict(self.outer)
        joins = self.tree.args.get("joins") or []
        origin = self.tree.args.get("from_")
        for source in [*([origin.this] if origin is not None else []), *[join.this for join in joins]]:
            known[source.alias_or_name] = self._source(source, known)
        for lateral in self.tree.args.get("laterals") or []:
            known[lateral.alias] = self._source(lateral, known)
        clauses = [self.tree.args.get(part) for part in _CLAUSES]
        tests = [join for join in joins if join.args.get("on") is not None]
        self._annotate([*self.tree.expressions, *filter(None, clauses)], known)
        self._annotate([join.args["on"] for join in tests], known)
        return {node.alias_or_name: _type_of(node) for node in self.tree.selects}

    def _source(self, source: exp.Expr, known: Mapping[str, Types]) -> Types:
        match source:
            case exp.Table():
                return _renamed(self.tables.get(source.name, {}), source)
            case exp.Subquery():
                return _renamed(_query(source.this, self.tables, self.outer), source)
            case exp.Lateral() if isinstance(source.this, exp.Query):
                return _renamed(_query(source.this, self.tables, known), source)
            case exp.Lateral():
                self._annotate([source.this], known)
                return _renamed(_exploded(source.this), source)
            case exp.Values():
                self._annotate(source.expressions, known)
                return _renamed(_values(source), source)
        return {}

    def _annotate(self, roots: Sequence[exp.Expr], known: Mapping[str, Types]) -> None:
        with self._stand_ins(roots, known):
            places = [(root, root.parent, root.arg_key, root.index) for root in roots]
            sources = [exp.Table(this=exp.to_identifier(name, quoted=True)) for name in known if name]
            query = exp.Select(expressions=[root for root, *_ in places])
            if sources:
                query.set("from_", exp.From(this=sources[0]))
                query.set("joins", [exp.Join(this=source, kind="CROSS") for source in sources[1:]])
            annotate_query(query, {name: dict(types) for name, types in known.items() if name and types})
            for root, parent, key, index in places:
                type_decimals(root)
                root.parent, root.arg_key, root.index = parent, key, index

    @contextmanager
    def _stand_ins(self, roots: Sequence[exp.Expr], known: Mapping[str, Types]) -> Iterator[None]:
        """Values of the right types in the place of subqueries."""
        swapped: list[tuple[exp.Expr, exp.Expr]] = []
        for root in roots:
            for node in list(root.walk(prune=lambda inner: isinstance(inner, exp.Query))):
                if isinstance(node, exp.Query) and node is not root:
                    inner = _query(node, self.tables, known)
                    type_ = next(iter(inner.values()), named("unknown"))
                    stand_in = exp.Cast(this=exp.null(), to=type_.copy())
                    node.replace(stand_in)
                    swapped.append((stand_in, node))
        yield
        for made, node in swapped:
            made.replace(node)
            node.type = made.type


def _type_of(node: exp.Expr) -> exp.DataType:
    return node.type if node.type is not None else named("unknown")


def _exploded(function: exp.Expr) -> Types:
    """The columns that a function makes of each row's array or map."""
    given = function.this.type if isinstance(function, exp.Explode) else None
    if given is None or given.this not in {exp.DataType.Type.ARRAY, exp.DataType.Type.MAP}:
        unknown = [named("unknown")] * 9
        return {f"{number}": type_ for number, type_ in enumerate(unknown)}
    items = [part.copy() for part in given.expressions]
    places = [named("int")] if isinstance(function, exp.Posexplode) else []
    return {f"{number}": type_ for number, type_ in enumerate([*places, *items])}


def _values(node: exp.Values) -> Types:
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    columns = list(zip(*rows, strict=False))
    types = []
    for column in columns:
        common = _type_of(column[0])
        for item in column[1:]:
            common = _common(common, _type_of(item), node)
        types.append(common)
    return {f"col{number}": type_ for number, type_ in enumerate(types, start=1)}


def _common(left: exp.DataType, right: exp.DataType, node: exp.Expr) -> exp.DataType:
    """The type that Spark brings both sides to."""
    if left == right:
        return left
    for one, other in ((left, right), (right, left)):
        if one.this == exp.DataType.Type.NULL:
            return other
        if is_whole(one) and is_whole(other) and widens(one, other):
            return other
    kinds = {family(left), family(right)}
    if "unknown" in kinds:
        return named("unknown")
    if kinds == {"date", "timestamp"}:
        return left if family(left) == "timestamp" else right
    if kinds == {"number"}:
        return _common_number(left, right)
    if len(kinds) > 1:
        raise SqlProblem(
            "LL221",
            f"`{shorten(node.sql('databricks').replace('`', ''))}` mixes {type_name(left)} and {type_name(right)}",
            "CAST one of them",
        )
    return named("unknown")


def _common_number(left: exp.DataType, right: exp.DataType) -> exp.DataType:
    if is_floating(left) or is_floating(right):
        return named("double")
    return wider_decimal(left, right) if is_decimal(left) or is_decimal(right) else named("unknown")
