"""Arrays and structs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
from sqlglot import exp

from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.logic import unified
from lakelogic.engine.polars.texts import constant_text, whole_of
from lakelogic.engine.polars.types import Type, is_floating, is_null
from lakelogic.engine.polars.values import Compile, Handler, Value, call, call_all, null, refused
from lakelogic.plan.nested import WITH

_INT, _BOOLEAN = pl.Int32(), pl.Boolean()
ITEM = "\0item"
_ROW, _MADE = "\0row", "\0made"


def list_of(node: exp.Expr, value_of: Compile) -> Value:
    value = value_of(node)
    if is_null(value.type):
        return null(pl.List(pl.Null()))
    if not isinstance(value.type, pl.List):
        raise refused(f"{node.sql('databricks')} as an array")
    return value


def inner_of(value: Value) -> Type:
    inner: Any = value.type.inner  # type: ignore[attr-defined]
    return inner  # type: ignore[no-any-return]


def _array(node: exp.Expr, value_of: Compile) -> Value:
    if not node.expressions:
        return Value(pl.lit([], dtype=pl.List(pl.Null())), pl.List(pl.Null()))
    items = unified([value_of(item) for item in node.expressions], node, value_of)
    if isinstance(items[0].type, pl.List):
        # concat_list would join them.
        return call_all(lambda *lists: list(lists), items, pl.List(items[0].type), value_of.guard)
    return Value(pl.concat_list([item.expr for item in items]), pl.List(items[0].type))


def _struct(node: exp.Expr, value_of: Compile) -> Value:
    fields: list[tuple[str, Value]] = []
    for number, part in enumerate(node.expressions, start=1):
        match part:
            case exp.PropertyEQ():
                fields.append((part.this.name, value_of(part.expression)))
            case exp.Alias():
                fields.append((part.alias, value_of(part.this)))
            case exp.Column():
                fields.append((part.name, value_of(part)))
            case _:
                fields.append((f"col{number}", value_of(part)))
    if len({name for name, _ in fields}) < len(fields):
        raise refused(node)
    made = pl.struct([value.expr.alias(name) for name, value in fields])
    return Value(made, pl.Struct([pl.Field(name, value.type) for name, value in fields]))


def field_of(value: Value, name: str, node: exp.Expr) -> Value:
    """A field of a struct; Spark does not care about case where it is no matter."""
    if not isinstance(value.type, pl.Struct):
        raise refused(node)
    fields: Any = value.type.fields
    found = [f for f in fields if f.name == name] or [f for f in fields if f.name.lower() == name.lower()]
    if len(found) != 1:
        raise refused(node)
    return Value(value.expr.struct.field(found[0].name), found[0].dtype)


def _dot(node: exp.Expr, value_of: Compile) -> Value:
    return field_of(value_of(node.this), node.expression.name, node)


def _bracket(node: exp.Expr, value_of: Compile) -> Value:
    """Items count from 0 after `[`, from 1 in element_at."""
    base, index = value_of(node.this), node.expressions[0]
    if isinstance(base.type, pl.Struct):
        return field_of(base, constant_text(index, node), node)
    if not isinstance(base.type, pl.List):
        raise refused(node)
    place = whole_of(index, value_of)
    if not node.args.get("offset"):
        if place.constant is None:
            raise refused(f"{node.sql('databricks')}; use get() or element_at() for an index that is not a number")
        return _item(base, place.expr)
    # element_at(list, -1) is the last one; 0 is none.
    at = place.expr
    return _item(base, pl.when(at > 0).then(at - 1).when(at < 0).then(at))


def _item(base: Value, at: pl.Expr) -> Value:
    return Value(base.expr.list.get(at, null_on_oob=True), inner_of(base))


def _get(node: exp.Expr, value_of: Compile) -> Value:
    base, index = list_of(node.expressions[0], value_of), whole_of(node.expressions[1], value_of)
    return _item(base, pl.when(index.expr >= 0).then(index.expr))


def _plain(function: Callable[[pl.Expr], pl.Expr]) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        value = list_of(node.this, value_of)
        return Value(function(value.expr), value.type)

    return compiled


def _distinct(value: pl.Expr) -> pl.Expr:
    return value.list.unique(maintain_order=True)


def _size(node: exp.Expr, value_of: Compile) -> Value:
    inner = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    return Value(list_of(inner, value_of).expr.list.len().cast(_INT), _INT)


def _sort(node: exp.Expr, value_of: Compile) -> Value:
    if node.args.get("expression") is not None:
        raise refused(node)
    value = list_of(node.this, value_of)
    down = _is_false(node.args.get("asc"))
    last = down or _is_false(node.args.get("nulls_first"))
    return Value(value.expr.list.sort(descending=down, nulls_last=last), value.type)


def _is_false(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Boolean) and not node.this


def _contains(node: exp.Expr, value_of: Compile) -> Value:
    """Unknown where the item is not found and there is a NULL in its place."""
    value, item = _list_and_item(node, value_of)
    found = value.expr.list.contains(item.expr)
    unknown = value.expr.list.eval(pl.element().is_null()).list.any()
    known = value.expr.is_not_null() & item.expr.is_not_null()
    return Value(pl.when(known & found).then(True).when(known & ~unknown).then(False), _BOOLEAN)


def _list_and_item(node: exp.Expr, value_of: Compile) -> tuple[Value, Value]:
    value, item = list_of(node.this, value_of), value_of(node.expression)
    wanted = inner_of(value)
    if is_null(item.type) or item.type != wanted:
        item = unified([item, null(wanted)], node, value_of)[0]
        if item.type != wanted:
            value, item = cast(value, pl.List(item.type)), item
    return value, item


def _position(node: exp.Expr, value_of: Compile) -> Value:
    value, item = _list_and_item(node, value_of)
    find = lambda items, wanted: items.index(wanted) + 1 if wanted in items else 0  # noqa: E731
    return call(find, [value, item], pl.Int64(), value_of.guard)


def _remove(node: exp.Expr, value_of: Compile) -> Value:
    value, item = _list_and_item(node, value_of)
    return call(lambda items, gone: [i for i in items if i != gone], [value, item], value.type, value_of.guard)


def _two_lists(function: Callable[[list[Any], list[Any]], list[Any]]) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        parts = node.expressions if len(node.expressions) == 2 else [node.this, node.expression]
        values = unified([list_of(part, value_of) for part in parts], node, value_of)
        if is_floating(inner_of(values[0])):
            raise refused(node)
        return call(function, values, values[0].type, value_of.guard)

    return compiled


def _union(left: list[Any], right: list[Any]) -> list[Any]:
    return _once([*left, *right])


def _except(left: list[Any], right: list[Any]) -> list[Any]:
    return [item for item in _once(left) if item not in right]


def _intersect(left: list[Any], right: list[Any]) -> list[Any]:
    return [item for item in _once(left) if item in right]


def _once(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def _join(node: exp.Expr, value_of: Compile) -> Value:
    value, mark, other = list_of(node.this, value_of), value_of(node.expression), node.args.get("null")
    if inner_of(value) != pl.String or not isinstance(mark.constant, str):
        raise refused(node)
    items = value.expr
    if other is None:
        items = items.list.drop_nulls()
    else:
        instead = value_of(other).constant
        if not isinstance(instead, str):
            raise refused(node)
        items = items.list.eval(pl.element().fill_null(pl.lit(instead)))
    return Value(items.list.join(mark.constant), pl.String())


def _extreme(greatest: bool) -> Handler:
    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        value = list_of(node.this, value_of)
        # By sorting: NaN is the greatest number, and Polars' own functions pass over it.
        ordered = value.expr.list.drop_nulls().list.sort(descending=greatest)
        return Value(ordered.list.get(0, null_on_oob=True), inner_of(value))

    return compiled


def _flatten(node: exp.Expr, value_of: Compile) -> Value:
    value = list_of(node.this, value_of)
    inner = inner_of(value)
    if not isinstance(inner, pl.List):
        raise refused(node)
    join = lambda lists: None if None in lists else [item for items in lists for item in items]  # noqa: E731
    return call(join, [value], inner, value_of.guard)


def _slice(node: exp.Expr, value_of: Compile) -> Value:
    value = list_of(node.this, value_of)
    start, size = whole_of(node.args["start"], value_of).expr, whole_of(node.args["end"], value_of).expr
    length = value.expr.list.len().cast(pl.Int64)
    first = pl.when(start < 0).then(length + start).otherwise(start.cast(pl.Int64) - 1)
    # A start before the first item gives an empty array.
    cut = value.expr.list.slice(first.clip(0), pl.when(first >= 0).then(size).otherwise(0))
    return Value(cut, value.type)


def _arguments(node: exp.Expr, value_of: Compile) -> tuple[Value, Value]:
    """An array and what a lambda of one argument gives for its items, as an array of the same length."""
    parts = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.expression]
    value, function = list_of(parts[0], value_of), parts[1]
    if not isinstance(function, exp.Lambda) or len(function.expressions) != 1:
        raise refused(node)
    name = function.expressions[0].name
    item = Value(pl.col(ITEM), inner_of(value))
    made = value_of.with_names({name: item})(function.this)
    if is_null(made.type):
        made = null(_BOOLEAN)
    return value, each_item(value, made)


def each_item(value: Value, made: Value) -> Value:
    """An expression over ITEM, and maybe over columns of the row, computed for every item of an array."""
    columns = [name for name in made.expr.meta.root_names() if name != ITEM]
    gives = pl.List(made.type)

    def run(series: Sequence[pl.Series]) -> pl.Series:
        height = max(len(one) for one in series)
        given = {name: one if len(one) == height else one.extend_constant(one[0], height - 1)
                 for name, one in zip([ITEM, *columns], series, strict=True)}  # fmt: skip
        rows = pl.DataFrame(given).with_row_index(_ROW)
        items = rows.explode(ITEM, empty_as_null=False, keep_nulls=False)
        lists = items.select(_ROW, made.expr.cast(made.type).alias(_MADE)).group_by(_ROW).agg(_MADE)
        found = rows.select(_ROW, ITEM).join(lists, on=_ROW, how="left", maintain_order="left")
        empty = pl.when(pl.col(ITEM).is_not_null()).then(pl.lit([], dtype=gives))
        return found.select(pl.coalesce(pl.col(_MADE), empty).cast(gives)).to_series()

    inputs = [value.expr, *[pl.col(name) for name in columns]]
    return Value(pl.map_batches(inputs, run, return_dtype=gives, is_elementwise=True), gives)


def _with(node: exp.Expr, value_of: Compile) -> Value:
    """A value that an expression uses many times, computed once."""
    value, function = value_of(node.expressions[0]), node.expressions[1]
    made = value_of.with_names({function.expressions[0].name: Value(pl.col(ITEM), value.type)})(function.this)

    def run(series: pl.Series) -> pl.Series:
        return series.alias(ITEM).to_frame().select(made.expr.cast(made.type).alias(_MADE)).to_series()

    return Value(value.expr.map_batches(run, return_dtype=made.type, is_elementwise=True), made.type)


def _transform(node: exp.Expr, value_of: Compile) -> Value:
    return _arguments(node, value_of)[1]


def _filter(node: exp.Expr, value_of: Compile) -> Value:
    value, tests = _arguments(node, value_of)
    kept = lambda items, keep: [item for item, yes in zip(items, keep, strict=True) if yes]  # noqa: E731
    return call(kept, [value, tests], value.type, value_of.guard)


def _any_all(wanted: bool) -> Handler:
    """exists() and forall(): unknown where no item decides and one is unknown."""

    def compiled(node: exp.Expr, value_of: Compile) -> Value:
        value, tests = _arguments(node, value_of)
        decides = tests.expr.list.eval(pl.element().eq_missing(pl.lit(wanted))).list.any()
        unknown = tests.expr.list.eval(pl.element().is_null()).list.any()
        known = value.expr.is_not_null()
        return Value(pl.when(known & decides).then(wanted).when(known & ~unknown).then(not wanted), _BOOLEAN)

    return compiled


def _array_and_values(node: exp.Expr, value_of: Compile) -> Value:
    return _any_all(True)(node, value_of) if node.expression is not None else _refuse(node)


def _refuse(node: exp.Expr) -> Value:
    raise refused(node)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Array: _array, exp.Struct: _struct, exp.Dot: _dot, exp.Bracket: _bracket, exp.ArraySize: _size,
    exp.ArrayCompact: _plain(lambda x: x.list.drop_nulls()), exp.ArrayDistinct: _plain(_distinct),
    exp.ArraySort: _sort, exp.ArrayContains: _contains, exp.ArrayPosition: _position, exp.ArrayRemove: _remove,
    exp.ArrayExcept: _two_lists(_except), exp.ArrayIntersect: _two_lists(_intersect), exp.ArrayToString: _join,
    exp.ArrayMax: _extreme(True), exp.ArrayMin: _extreme(False), exp.Flatten: _flatten, exp.ArraySlice: _slice,
    exp.Transform: _transform, exp.ArrayFilter: _filter, exp.Exists: _array_and_values,
    exp.StructExtract: lambda node, value_of: field_of(value_of(node.this), node.expression.name, node),
}  # fmt: skip
NAMED: dict[str, Handler] = {
    "ARRAY_UNION": _two_lists(_union), "CARDINALITY": _size, "FORALL": _any_all(False), "GET": _get, WITH: _with,
}  # fmt: skip
