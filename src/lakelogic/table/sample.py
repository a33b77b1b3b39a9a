"""A few rows of a Delta table for a person to look at, without an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True, slots=True)
class Sample:
    """The first rows that were found; no order is promised."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]


def read_sample(path: str, version: int, *, run_id: str, limit: int) -> Sample:
    """Read at most `limit` rows that one run wrote, from the table as it was at a version."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from lakelogic.storage.tables import arrow_rows, find_delta, open_delta
    from lakelogic.table.features import arrow_obstacle

    if find_delta(path) is not None:
        table = open_delta(path, version)
        if arrow_obstacle(table) is not None:
            return _query_sample(table, run_id=run_id, limit=limit)
        dataset = arrow_rows(table)
    else:
        dataset = ds.dataset(path, format="parquet", partitioning="hive")
    of_run = pc.field("_lakelogic_run_id") == run_id if "_lakelogic_run_id" in dataset.schema.names else None
    head = dataset.scanner(filter=of_run).head(limit)
    return Sample(tuple(head.column_names), tuple(head.to_pylist()))


def _query_sample(table: DeltaTable, *, run_id: str, limit: int) -> Sample:
    """The same by delta-rs' query engine, which knows deletion vectors and column mapping."""
    import pyarrow as pa
    from deltalake import QueryBuilder

    names = [field.name for field in table.schema().fields]
    of_run = f"WHERE _lakelogic_run_id = '{run_id}' " if "_lakelogic_run_id" in names else ""
    found = QueryBuilder().register("t", table).execute(f"SELECT * FROM t {of_run}LIMIT {limit}")
    head = pa.table(found.read_all()).select(names)
    return Sample(tuple(names), tuple(head.to_pylist()))


def read_rows(path: str) -> Sample:
    """All rows of a small table; none where there is no table."""
    from lakelogic.storage.tables import arrow_rows, find_delta

    table = find_delta(path)
    if table is None:
        return Sample((), ())
    rows = arrow_rows(table).to_table()
    return Sample(tuple(rows.column_names), tuple(rows.to_pylist()))


def read_types(path: str) -> dict[str, str]:
    """The columns of a table with their Delta types, as text."""
    from lakelogic.storage.tables import open_delta

    fields = open_delta(path).schema().fields
    return {field.name: str(getattr(field.type, "type", None) or field.type.to_json()) for field in fields}
