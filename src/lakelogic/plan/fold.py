"""What is kept of a rejected row, folded into one nullable column of the staged files.

Accepted rows carry the column too, as NULL, and a NULL costs time for every leaf below it. Where all that was read
is text, everything goes into one array of text (one leaf); else it is a struct, because types must survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from lakelogic.plan.expressions import alias, as_text, column, field, number, try_cast
from lakelogic.plan.model import FAILED_COLUMN, KEPT_COLUMN, REJECTED_COLUMN, Column
from lakelogic.plan.stage_builder import table
from lakelogic.plan.types import named, same_type, string_type

RECORD, MALFORMED, SOURCE, ID = "record", "malformed", "source", "id"
PARTS = (RECORD, MALFORMED, SOURCE, ID)
REJECTED_RELATION, UNFOLDED_RELATION = "rejected", "unfolded"


@dataclass(frozen=True, slots=True)
class Fold:
    """The layout: the parts, then the masks, then the columns as read."""

    columns: tuple[Column, ...]
    masks: int

    @property
    def flat(self) -> bool:
        return all(same_type(c.type, string_type()) for c in self.columns)

    def pack(self, parts: Sequence[exp.Expr], masks: Sequence[exp.Expr], raw: Sequence[exp.Expr]) -> exp.Expr:
        """All of a row in one value; in the order of PARTS, masks, columns."""
        if self.flat:
            return exp.Array(expressions=[*parts, *[as_text(mask) for mask in masks], *raw])
        values = [alias(value, c.name) for c, value in zip(self.columns, raw, strict=True)]
        named_parts = [alias(value, name) for name, value in zip(PARTS, parts, strict=True)]
        named_masks = [alias(mask, mask_field(index)) for index, mask in enumerate(masks)]
        return exp.Struct(expressions=[*named_parts, *named_masks, alias(exp.Struct(expressions=values), "raw")])

    def unfold(self) -> exp.Query:
        """Parts and masks as columns, once for each row; dozens of expressions speak of them."""
        parts = [alias(self._part(name), f"{KEPT_COLUMN}{name}") for name in PARTS]
        masks = [alias(self._mask(index), f"{FAILED_COLUMN}{index}") for index in range(self.masks)]
        return exp.select(*parts, *masks, column(REJECTED_COLUMN)).from_(table(REJECTED_RELATION))

    def part(self, name: str) -> exp.Expr:
        return column(f"{KEPT_COLUMN}{name}")

    def mask(self, index: int) -> exp.Expr:
        return column(f"{FAILED_COLUMN}{index}")

    def _part(self, name: str) -> exp.Expr:
        return self._item(PARTS.index(name)) if self.flat else field(column(REJECTED_COLUMN), name)

    def _mask(self, index: int) -> exp.Expr:
        if self.flat:
            return try_cast(self._item(len(PARTS) + index), named("bigint"))
        return field(column(REJECTED_COLUMN), mask_field(index))

    def raw(self, name: str) -> exp.Expr:
        if not self.flat:
            return field(column(REJECTED_COLUMN), "raw", name)
        position = [c.name for c in self.columns].index(name)
        return self._item(len(PARTS) + self.masks + position)

    def _item(self, position: int) -> exp.Expr:
        item = exp.Bracket(this=column(REJECTED_COLUMN), expressions=[number(position + 1)], offset=1, safe=True)
        item.type = string_type()
        return item


def mask_field(index: int) -> str:
    """The name of a mask inside the struct."""
    return f"{FAILED_COLUMN}{index}".removeprefix("_lakelogic_")
