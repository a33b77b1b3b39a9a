"""Whether a table is the history that a write would go on with."""

from __future__ import annotations

from dataclasses import replace

from lakelogic.core.errors import PlanError
from lakelogic.plan.writes import WriteScd2
from lakelogic.table.adopt import find_table
from lakelogic.table.history_layout import Layout
from lakelogic.table.history_store import check_store, history_property
from lakelogic.table.protocol import TableShape

_PROPERTY = "lakelogic.history"


def check_history(path: str, write: WriteScd2, shape: TableShape) -> None:
    """Raise where a table was not written as this history."""
    table = find_table(path)
    if table is None:
        return
    layout = layout_of(write, shape)
    there = {field.name for field in table.schema().fields}
    fixed = table.metadata().configuration.get(_PROPERTY, history_property(layout))
    if fixed != history_property(layout) or not there.issuperset(write.made):
        raise PlanError(
            "the table was not written as this history: keys, timestamp, column names or end date differ",
            code="LL339",
            hint="write to a new target, and read the source again into it",
        )
    check_store(path, shape, layout)


def layout_of(write: WriteScd2, shape: TableShape) -> Layout:
    return Layout(write, tuple(c.name for c in shape.columns))


def history_shape(shape: TableShape, layout: Layout) -> TableShape:
    """The shape of a history's table when it is created: it says what may not change while it grows."""
    return replace(shape, properties={**shape.properties, _PROPERTY: history_property(layout)})
