"""Files of a Delta table as its log has them: paths, and the values of partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
from deltalake import DeltaTable

from lakelogic.plan.files import StagedFile
from lakelogic.table.partition_text import partition_text, partition_value
from lakelogic.table.replaced import Replaced, Values

_KEPT = "!$&'()+,-./:;=@_~"  # beside letters and digits, what delta-rs writes into the log as it is


def logged_file(row: Mapping[str, Any], partitions: Sequence[str]) -> StagedFile:
    """A row of the log's files; its path is that on the disk."""
    values = {name: partition_text(row.get(f"partition.{name}")) for name in partitions}
    return StagedFile(unquote(row["path"]), int(row["size_bytes"]), int(row["num_records"] or 0), values)


def are_spelled_oddly(actions: pa.Table) -> bool:
    """Whether a removal would spell the path of a file otherwise than the log, which would leave it in the table."""
    return any(quote(unquote(path), safe=_KEPT) != path for path in actions["path"].to_pylist())


def find_partitions(table: DeltaTable, wanted: Collection[Values]) -> tuple[StagedFile, ...] | None:
    """The files of whole partitions; None where they cannot be removed by their names."""
    names = table.metadata().partition_columns
    types = {field.name: field.type for field in pa.schema(table.schema())}
    actions = pa.table(table.get_add_actions(flatten=True))
    if are_spelled_oddly(actions):
        return None
    going = {
        tuple(_told(partition_value(text, types[name]).as_py()) for name, text in zip(names, values, strict=True))
        for values in wanted
    }
    rows = actions.to_pylist()
    found = [row for row in rows if tuple(_told(row.get(f"partition.{name}")) for name in names) in going]
    return tuple(logged_file(row, names) for row in found)


def are_whole_files(table: DeltaTable, replaced: Replaced) -> bool:
    """Whether what goes are whole files, which can be removed by their names."""
    if replaced.partitions is None:
        return replaced.filters is not None
    return not are_spelled_oddly(pa.table(table.get_add_actions()))


def _told(value: Any) -> Any:
    # NaN is no other NaN to Python.
    return "NaN" if isinstance(value, float) and value != value else value
