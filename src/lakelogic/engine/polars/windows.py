"""Window functions: the rows are sorted once for each window, then every function looks along them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce

import polars as pl
from sqlglot import exp

from lakelogic.engine.polars import aggregates
from lakelogic.engine.polars.casts import cast
from lakelogic.engine.polars.logic import unified
from lakelogic.engine.polars.numbers import divided
from lakelogic.engine.polars.types import is_decimal, is_floating, is_number
from lakelogic.engine.polars.values import Compile, Value, refused

_BIGINT, _INT = pl.Int64(), pl.Int32()
_MOST_SHIFTS = 200
_EDGES = (exp.FirstValue, exp.LastValue, exp.First, exp.Last)
_RUNNING = (exp.Sum, exp.Count, exp.Avg, exp.Min, exp.Max)


class Window:
    """One window: rows sorted by partition and order, and columns that functions made on the way."""

    def __init__(self, node: exp.Window, value_of: Compile, frame: pl.LazyFrame) -> None:
        self.node = node
        self.value_of = value_of
        order = node.args.get("order")
        self.ordered = list(order.expressions) if order is not None else []
        self.made: list[str] = []
        self.frame = frame
        parts = [value_of(part).expr for part in node.args.get("partition_by") or []] or [pl.lit(0)]
        self.keys = [self._column(part) for part in parts]
        self.order_keys = [self._column(self._order(item)) for item in self.ordered]
        if self.ordered:
            down = [False] * len(self.keys) + [bool(item.args.get("desc")) for item in self.ordered]
            last = [True] * len(self.keys) + [not item.args.get("nulls_first") for item in self.ordered]
            by = [*self.keys, *self.order_keys]
            self.frame = self.frame.sort(by, descending=down, nulls_last=last, maintain_order=True)

    def put(self, expression: pl.Expr) -> pl.Expr:
        """A column of its own: a window inside of a window would look at other rows."""
        return pl.col(self._column(expression))

    def _column(self, expression: pl.Expr) -> str:
        name = f"\0w{len(self.made)}"
        self.frame = self.frame.with_columns(expression.alias(name))
        self.made.append(name)
        return name

    def _order(self, item: exp.Expr) -> pl.Expr:
        value = self.value_of(item.this)
        if value.type.is_nested():
            raise refused(self.node)
        return value.expr

    def over(self, expression: pl.Expr) -> pl.Expr:
        return self.put(expression.over(self.keys))

    def over_peers(self, expression: pl.Expr) -> pl.Expr:
        """Over the rows that are equal in the order, too."""
        return self.put(expression.over([*self.keys, *self.order_keys]))

    @cached_property
    def part(self) -> pl.Expr:
        """A number for each partition. Rows are sorted by it: neighbours tell what a group would, and cost less."""
        changes = [pl.col(key).ne_missing(pl.col(key).shift(1)) for key in self.keys]
        return self.put(pl.any_horizontal(changes).cast(pl.Int64).cum_sum())

    @cached_property
    def starts(self) -> pl.Expr:
        return self.put(self.part.ne_missing(self.part.shift(1)))

    @cached_property
    def row(self) -> pl.Expr:
        if not self.ordered:
            return self.over(pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
        return self.counted(pl.lit(1, dtype=pl.Int64))

    def counted(self, number: pl.Expr) -> pl.Expr:
        """The sum of whole numbers from the first row of the partition on."""
        if not self.ordered:
            return self.over(number.cum_sum())
        one = self.put(number + 0 * self.part)
        total = self.put(one.cum_sum())
        return self.put(total - pl.when(self.starts).then(total - one).forward_fill())

    def shifted(self, value: pl.Expr, by: int) -> pl.Expr:
        if not self.ordered:
            return self.over(value.shift(by))
        moved = self.put(value)
        return self.put(pl.when(self.part == self.part.shift(by)).then(moved.shift(by)))

    def next_known(self, value: pl.Expr, by: int) -> pl.Expr:
        """The nearest value that is not NULL, before (1) or after (-1) the row."""
        here = self.put(value)
        part = self.put(pl.when(here.is_not_null()).then(self.part))
        near, of = (x.forward_fill() if by > 0 else x.backward_fill() for x in (here, part))
        return self.put(pl.when(self.part == of.shift(by)).then(near.shift(by)))

    @cached_property
    def rank(self) -> pl.Expr:
        return self.over_peers(self.row.first())


def window_value(window: Window) -> Value:
    """The value of one window function, over the frame that the window holds then."""
    function, node = window.node.this, window.node
    if isinstance(function, exp.IgnoreNulls) and isinstance(function.this, (exp.Lag, exp.Lead)):
        return _next_known(window, function.this)
    if isinstance(function, exp.IgnoreNulls) and isinstance(function.this, _EDGES):
        return _edge(window, function.this, skip=True)
    if isinstance(function, (exp.Lag, exp.Lead)):
        return _shifted(window)
    if isinstance(function, _EDGES):
        return _edge(window, function, skip=False)
    if isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
        raise refused(node)
    if not aggregates.is_aggregate(function):
        return _place(window)
    if not window.ordered and node.args.get("spec") is None:
        value = window.value_of(function)
        return Value(window.over(value.expr), value.type)
    return _running(window)


def _place(window: Window) -> Value:
    """Functions that tell where a row stands among the others."""
    match window.node.this:
        case exp.RowNumber():
            return Value(window.row.cast(_INT), _INT)
        case exp.Rank():
            return Value(window.rank.cast(_INT), _INT)
        case exp.DenseRank():
            return Value(_dense(window).cast(_INT), _INT)
        case exp.Ntile():
            return _ntile(window)
        case exp.PercentRank():
            return _share(window, window.rank - 1, window.over(pl.len()) - 1)
        case exp.CumeDist():
            return _share(window, window.over_peers(window.row.last()), window.over(pl.len()))
    raise refused(window.node)


def _dense(window: Window) -> pl.Expr:
    first = window.row == window.rank
    return window.over(first.cast(pl.Int64).cum_sum())


def _ntile(window: Window) -> Value:
    number = window.value_of(window.node.this.this).constant
    if not isinstance(number, int) or number < 1:
        raise refused(window.node)
    rows, at = window.over(pl.len().cast(pl.Int64)), window.row - 1
    size, rest = rows // number, rows % number
    large = rest * (size + 1)
    small = pl.when(size > 0).then(rest + (at - large) // pl.when(size > 0).then(size).otherwise(1))
    tile = pl.when(at < large).then(at // (size + 1)).otherwise(small) + 1
    return Value(tile.cast(_INT), _INT)


def _shifted(window: Window) -> Value:
    function, value_of = window.node.this, window.value_of
    value, default = value_of(function.this), function.args.get("default")
    offset = function.args.get("offset")
    places = 1 if offset is None else value_of(offset).constant
    if not isinstance(places, int) or window.node.args.get("spec") is not None:
        raise refused(window.node)
    by = places if isinstance(function, exp.Lag) else -places
    if default is None:
        return Value(window.shifted(value.expr, by), value.type)
    value, other = unified([value, value_of(default)], window.node, value_of)
    at, rows = window.row - by, window.over(pl.len().cast(pl.Int64))
    moved = window.shifted(value.expr, by)
    return Value(pl.when((at >= 1) & (at <= rows)).then(moved).otherwise(other.expr), value.type)


def _next_known(window: Window, function: exp.Lag | exp.Lead) -> Value:
    """The nearest value before or after the row that is not NULL."""
    given = [function.args.get(part) for part in ("offset", "default")]
    if any(part is not None for part in given) or window.node.args.get("spec") or not window.ordered:
        raise refused(window.node)
    value = window.value_of(function.this)
    return Value(window.next_known(value.expr, 1 if isinstance(function, exp.Lag) else -1), value.type)


def _share(window: Window, part: pl.Expr, whole: pl.Expr) -> Value:
    """A part of the partition as a number between 0 and 1; 0 where there is nothing to compare with."""
    if not window.ordered or window.node.args.get("spec") is not None:
        raise refused(window.node)
    rows = whole.cast(_BIGINT)
    share = divided(part, pl.when(rows > 0).then(rows)).fill_null(0.0)
    return Value(window.put(share), pl.Float64())


def _edge(window: Window, function: exp.Expr, *, skip: bool) -> Value:
    """The first or last value of the frame; with `skip` of those that are not NULL."""
    if isinstance(function.this, exp.IgnoreNulls) or function.expressions:
        raise refused(window.node)
    first = isinstance(function, (exp.FirstValue, exp.First))
    value = window.value_of(function.this)
    start, end = _frame(window)
    if start is not None or (end not in (0, None, "peers")):
        raise refused(window.node)
    if end is None or (first and not skip):
        rows = value.expr.drop_nulls() if skip else value.expr
        return Value(window.over(rows.first() if first else rows.last()), value.type)
    so_far = window.over(value.expr.forward_fill()) if skip else window.put(value.expr)
    if first:  # known as soon as there is one
        so_far = window.put(pl.when(so_far.is_not_null()).then(window.over(value.expr.drop_nulls().first())))
    return Value(window.over_peers(so_far.last()) if end == "peers" else so_far, value.type)


def _frame(window: Window) -> tuple[int | None, int | str | None]:
    """First and last row of the frame, counted from the current one; None: no bound; `peers`: with its equals."""
    spec = window.node.args.get("spec")
    if spec is None:
        return None, "peers" if window.ordered else None
    kind = str(spec.args.get("kind") or "").upper()
    start = _bound(window, spec.args.get("start"), spec.args.get("start_side"))
    end = _bound(window, spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    if kind == "ROWS":
        return start, end
    if kind == "RANGE" and start is None and end in (0, None):
        return None, "peers" if end == 0 else None
    raise refused(window.node)


def _bound(window: Window, bound: exp.Expr | str | None, side: str | None) -> int | None:
    if isinstance(bound, str):
        return {"UNBOUNDED": None, "CURRENT ROW": 0}[bound.upper()]
    if not isinstance(bound, exp.Literal) or not bound.name.isdigit():
        raise refused(window.node)
    return int(bound.name) * (-1 if str(side).upper() == "PRECEDING" else 1)


def _running(window: Window) -> Value:
    function, node = window.node.this, window.node
    start, end = _frame(window)
    if start is None and end is None:
        value = window.value_of(function)
        return Value(window.over(value.expr), value.type)
    if type(function) not in _RUNNING or isinstance(function.this, exp.Distinct) or function.expressions:
        raise refused(node)
    operand = _operand(window, function)
    if start is None and end in (0, "peers"):
        made = _cumulative(window, function, operand)
        return Value(window.over_peers(made.expr.last()) if end == "peers" else made.expr, made.type)
    if start is None or end is None or isinstance(end, str) or end - start > _MOST_SHIFTS or end < start:
        raise refused(node)
    shifts = [window.over(operand.expr.shift(-by)) for by in range(start, end + 1)]
    return _across(window, function, operand, shifts)


def _operand(window: Window, function: exp.Expr) -> Value:
    if isinstance(function, exp.Count):
        counted = function.this
        if counted is None or isinstance(counted, (exp.Star, exp.Literal)):
            return Value(pl.lit(1, dtype=_BIGINT) + 0 * window.row, _BIGINT)
        return Value(window.value_of(counted).expr.is_not_null().cast(_BIGINT).replace(0, None), _BIGINT)
    value = window.value_of(function.this)
    if isinstance(function, (exp.Sum, exp.Avg)):
        if not is_number(value.type) or is_decimal(value.type):
            raise refused(window.node)
        wanted = pl.Float64() if isinstance(function, exp.Avg) or is_floating(value.type) else _BIGINT
        return cast(value, wanted)
    if is_floating(value.type) or value.type.is_nested() or value.type == pl.String:
        raise refused(window.node)  # NaN, and the order of texts: Polars' running functions do not know them
    return value


def _cumulative(window: Window, function: exp.Expr, operand: Value) -> Value:
    value = operand.expr
    number = window.counted(value.is_not_null().cast(_BIGINT))
    match function:
        case exp.Count():
            return Value(number, _BIGINT)
        case exp.Sum() | exp.Avg():
            wide = value if is_floating(operand.type) else value.cast(pl.Int128)
            total = window.over(wide.fill_null(0).cum_sum()).cast(operand.type, strict=False)
            there = pl.when(number > 0).then(total)
            return Value(divided(there, number) if isinstance(function, exp.Avg) else there, operand.type)
    running = value.cum_min() if isinstance(function, exp.Min) else value.cum_max()
    return Value(window.over(running.forward_fill()), operand.type)


def _across(window: Window, function: exp.Expr, operand: Value, shifts: Sequence[pl.Expr]) -> Value:
    number = reduce(lambda a, b: a + b, [shift.is_not_null().cast(_BIGINT) for shift in shifts])
    match function:
        case exp.Count():
            return Value(number, _BIGINT)
        case exp.Sum() | exp.Avg():
            wide = [s if is_floating(operand.type) else s.cast(pl.Int128) for s in shifts]
            total = reduce(lambda a, b: a + b, [s.fill_null(0) for s in wide]).cast(operand.type, strict=False)
            there = pl.when(number > 0).then(total)
            return Value(divided(there, number) if isinstance(function, exp.Avg) else there, operand.type)
    least = isinstance(function, exp.Min)
    return Value(pl.min_horizontal(shifts) if least else pl.max_horizontal(shifts), operand.type)
