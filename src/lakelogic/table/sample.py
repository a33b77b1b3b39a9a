"""A few rows of a Delta table for a person to look at, without an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    """The first rows that were found; no order is promised."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]


def read_sample(path: str, version: int, *, run_id: str, limit: int) -> Sample:
    """Read at most `limit` rows that one run wrote, from the table as it was at a version."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    from deltalake import DeltaTable

    if DeltaTable.is_deltatable(path):
        dataset = DeltaTable(path, version=version).to_pyarrow_dataset()
    else:
        dataset = ds.dataset(path, format="parquet", partitioning="hive")
    of_run = pc.field("_lakelogic_run_id") == run_id if "_lakelogic_run_id" in dataset.schema.names else None
    head = dataset.scanner(filter=of_run).head(limit)
    return Sample(tuple(head.column_names), tuple(head.to_pylist()))


def read_rows(path: str) -> Sample:
    """All rows of a small table; none where there is no table."""
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(path):
        return Sample((), ())
    rows = DeltaTable(path).to_pyarrow_table()
    return Sample(tuple(rows.column_names), tuple(rows.to_pylist()))


def read_types(path: str) -> dict[str, str]:
    """The columns of a table with their Delta types, as text."""
    from deltalake import DeltaTable

    fields = DeltaTable(path).schema().fields
    return {field.name: str(getattr(field.type, "type", None) or field.type.to_json()) for field in fields}
