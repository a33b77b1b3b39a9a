"""GROUP BY: its keys, and with ROLLUP, CUBE and GROUPING SETS the sets of keys that rows are grouped by in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import polars as pl
from sqlglot import exp

from lakelogic.engine.polars.expressions import Scope
from lakelogic.engine.polars.trees import has_aggregate
from lakelogic.engine.polars.types import Type
from lakelogic.engine.polars.values import Value, refused

_SET = "\0set"
_BIGINT, _BYTE = pl.Int64(), pl.Int8()
_SPECIAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
Sets = list[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Grouping:
    """The keys of a GROUP BY; `sets` are the positions of keys to group by, None: by all of them."""

    keys: list[exp.Expr]
    sets: Sets | None = None


def read_grouping(tree: exp.Select, scope: Scope) -> Grouping:
    """The keys as expressions of the SELECT's rows."""
    group = tree.args.get("group")
    if group is None:
        return Grouping([])
    if group.args.get("all"):
        return Grouping([node.unalias().copy() for node in tree.expressions if not has_aggregate(node)])
    if group.args.get("totals"):
        raise refused(tree)
    reader = _Reader(tree, scope, [])
    behind = [node for part in ("rollup", "cube", "grouping_sets") for node in group.args.get(part) or []]
    if behind:
        return _hive_style(reader, group.expressions, behind)
    if not any(isinstance(node, _SPECIAL) for node in group.expressions):
        return Grouping([reader.expression(node) for node in group.expressions])
    parts = [reader.sets(node) for node in group.expressions]
    sets = [tuple(dict.fromkeys(at for part in chosen for at in part)) for chosen in product(*parts)]
    # Without any key there is a group also where there are no rows.
    return Grouping(reader.keys, sets if reader.keys or len(sets) > 1 else None)


def _hive_style(reader: _Reader, keys: Sequence[exp.Expr], behind: Sequence[exp.Expr]) -> Grouping:
    """GROUP BY a, b WITH ROLLUP, or GROUP BY a, b GROUPING SETS (...)."""
    if len(behind) != 1 or any(isinstance(node, _SPECIAL) for node in keys):
        raise refused(reader.tree)
    found = [reader.place(node) for node in keys]
    match behind[0]:
        case exp.Rollup(expressions=[]):
            return Grouping(reader.keys, _rollup([(at,) for at in found]))
        case exp.Cube(expressions=[]):
            return Grouping(reader.keys, _cube([(at,) for at in found]))
    sets = reader.sets(behind[0])
    if len(reader.keys) != len(set(found)):
        raise refused(reader.tree)  # a set with a key that GROUP BY does not name
    return Grouping(reader.keys, sets)


@dataclass(frozen=True, slots=True)
class _Reader:
    tree: exp.Select
    scope: Scope
    keys: list[exp.Expr]

    def expression(self, node: exp.Expr) -> exp.Expr:
        """GROUP BY 1 and GROUP BY an alias mean an expression of the SELECT."""
        node = node.unnest()
        if isinstance(node, exp.Literal) and not node.is_string:
            chosen: exp.Expr = self.tree.expressions[int(node.name) - 1].unalias()
            return chosen.copy()
        if isinstance(node, exp.Column) and not node.table and self.scope.find(node.name, None) is None:
            named = [e for e in self.tree.expressions if e.alias == node.name]
            return named[0].unalias().copy() if named else node.copy()
        return node.copy()

    def place(self, node: exp.Expr) -> int:
        """Where the key stands among all keys; a new one at the end."""
        key = self.expression(node)
        if key not in self.keys:
            self.keys.append(key)
        return self.keys.index(key)

    def sets(self, node: exp.Expr) -> Sets:
        if isinstance(node, exp.Rollup):
            return _rollup([self._unit(part) for part in node.expressions])
        if isinstance(node, exp.Cube):
            return _cube([self._unit(part) for part in node.expressions])
        if isinstance(node, exp.GroupingSets):
            return [each for part in node.expressions for each in self._nested(part)]
        return [(self.place(node),)]

    def _nested(self, node: exp.Expr) -> Sets:
        return self.sets(node) if isinstance(node, _SPECIAL) else [self._unit(node)]

    def _unit(self, node: exp.Expr) -> tuple[int, ...]:
        """One key, or several in parentheses that come and go together."""
        parts = node.expressions if isinstance(node, exp.Tuple) else [node]
        if any(isinstance(part, _SPECIAL) for part in parts):
            raise refused(self.tree)
        return tuple(self.place(part) for part in parts)


def _rollup(units: Sequence[tuple[int, ...]]) -> Sets:
    return [_together(units[:size]) for size in range(len(units), -1, -1)]


def _cube(units: Sequence[tuple[int, ...]]) -> Sets:
    sizes = range(len(units), -1, -1)
    return [_together(chosen) for size in sizes for chosen in combinations(units, size)]


def _together(units: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(at for unit in units for at in unit))


def group_sets(
    frame: pl.LazyFrame, keys: Sequence[tuple[str, Value]], sets: Sets, aggregated: Sequence[pl.Expr]
) -> pl.LazyFrame:
    """Rows once for each set, keys that are not in it NULL, then grouped by keys and set: as Spark does it.

    So there is no row of a grand total where there are no rows.
    """
    every = pl.LazyFrame({_SET: range(len(sets))}, schema={_SET: pl.Int32})
    frame = frame.join(every, how="cross")
    keyed = []
    for at, (name, value) in enumerate(keys):
        within = [number for number, each in enumerate(sets) if at in each]
        keyed.append(pl.when(pl.col(_SET).is_in(within)).then(value.expr).alias(name))
    return frame.group_by([*keyed, pl.col(_SET)], maintain_order=True).agg(aggregated)


def grouping_value(node: exp.Expr, grouping: Grouping) -> tuple[pl.Expr, Type]:
    """grouping(x): 1 where x is left out of the set; grouping_id(): these bits of all keys, the first one highest."""
    if grouping.sets is None:
        raise refused(node)
    given = list(node.expressions)
    if isinstance(node, exp.Grouping) and len(given) != 1:
        raise refused(node)
    places = [_place(part, grouping, node) for part in given] or list(range(len(grouping.keys)))
    if not isinstance(node, exp.Grouping) and places != list(range(len(grouping.keys))):
        raise refused(node)
    bits = [sum((at not in each) << n for n, at in enumerate(reversed(places))) for each in grouping.sets]
    type_ = _BYTE if isinstance(node, exp.Grouping) else _BIGINT
    return pl.col(_SET).replace_strict(list(range(len(bits))), bits, return_dtype=type_), type_


def _place(part: exp.Expr, grouping: Grouping, node: exp.Expr) -> int:
    if part not in grouping.keys:
        raise refused(node)
    return grouping.keys.index(part)


def is_grouping(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Grouping, exp.GroupingId))
