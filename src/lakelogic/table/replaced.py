"""Which rows of a table a batch replaces: whole partitions where it can be, else a condition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from lakelogic.plan.expressions import all_of, any_of, column, is_null, text
from lakelogic.plan.files import StagedFile
from lakelogic.plan.types import family
from lakelogic.plan.writes import WriteOverwritePartitions, WriteReplace
from lakelogic.table.protocol import TableShape

PartitionFilter = tuple[str, str, str | list[str]]
Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Replaced:
    """The rows that go; with `filters` they are all of some partitions, so no file has to be read."""

    condition: exp.Expr
    filters: tuple[PartitionFilter, ...] | None = None
    partitions: frozenset[Values] | None = None  # all of these partitions, by the texts of their values

    def sql(self, dialect: str) -> str:
        return self.condition.sql(dialect)


def find_replaced(
    write: WriteReplace | WriteOverwritePartitions, files: Sequence[StagedFile], shape: TableShape
) -> Replaced:
    """What these files take the place of."""
    if isinstance(write, WriteReplace):
        return _days(write, shape)
    held = {tuple(file.partition.get(name) for name in shape.partition_by) for file in files}
    ordered = sorted(held, key=lambda values: [value or "" for value in values])
    condition = any_of([_is_partition(shape.partition_by, values) for values in ordered])
    return Replaced(condition, _as_filters(shape.partition_by, held), frozenset(held))


def _days(write: WriteReplace, shape: TableShape) -> Replaced:
    name = write.date_column
    # A text is compared as what it is compared with, by every writer alike.
    after = exp.GTE(this=column(name), expression=text(write.start))
    before = exp.LT(this=column(name), expression=text(write.end))
    kind = next((family(c.type) for c in shape.columns if c.name == name), "unknown")
    whole = name in shape.partition_by and kind == "date"
    filters = ((name, ">=", write.start), (name, "<", write.end)) if whole else None
    return Replaced(all_of([after, before]), filters)


def _is_partition(names: Sequence[str], values: Values) -> exp.Expr:
    return all_of(
        [
            is_null(column(name)) if value is None else exp.EQ(this=column(name), expression=text(value))
            for name, value in zip(names, values, strict=True)
        ]
    )


def _as_filters(names: Sequence[str], held: set[Values]) -> tuple[PartitionFilter, ...] | None:
    """Filters are joined by AND, so they can name partitions only that are every mixture of their values."""
    by_name = [sorted({values[n] for values in held}, key=lambda v: v or "") for n in range(len(names))]
    if set(product(*by_name)) != held or any(_mixes_null(values) for values in by_name):
        return None
    return tuple(_filter(name, values) for name, values in zip(names, by_name, strict=True))


def _mixes_null(values: Iterable[str | None]) -> bool:
    # delta-rs finds NULL by `= ''`, and not in a list.
    kinds = {value is None for value in values}
    return len(kinds) > 1


def _filter(name: str, values: Sequence[str | None]) -> PartitionFilter:
    present = [value for value in values if value is not None]
    return (name, "in", present) if present else (name, "=", "")
