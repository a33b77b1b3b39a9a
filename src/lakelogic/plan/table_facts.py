"""A table as it is, or as a contract wants it: what two of them are compared by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakelogic.plan.model import Column

# Which columns the rows are merged by; Delta has no primary key, so `ddl` keeps it as a property.
KEY_PROPERTY = "lakelogic.primaryKey"


@dataclass(frozen=True, slots=True)
class TableFacts:
    """Shape and a few numbers; types of both sides are spelled alike, so that they can be compared."""

    columns: tuple[Column, ...]
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    description: str | None = None
    rows: int | None = None  # None: not known
    nulls: Mapping[str, int] = field(default_factory=dict)  # by column; one that is not here was not counted

    def find(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)
