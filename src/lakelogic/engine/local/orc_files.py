"""ORC files, through Arrow: neither DuckDB nor Polars reads them itself."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.dataset as ds

from lakelogic.engine.file_columns import refuse_differences, unreadable_files, words_of
from lakelogic.storage.tables import arrow_place


def open_orc(paths: Sequence[str]) -> list[ds.Dataset]:
    """All files; raises where one cannot be read, or where two do not go together."""
    files = [_open(path) for path in paths]
    refuse_differences([(path, words_of(file.schema)) for path, file in zip(paths, files, strict=True)])
    return files


def _open(path: str) -> ds.Dataset:
    with unreadable_files("an ORC", path):
        disk, inside = arrow_place(path)
        found = ds.dataset(inside, format="orc", filesystem=disk)
        return ds.dataset(inside, format="orc", filesystem=disk, schema=_as_spark(found.schema))


def _as_spark(schema: pa.Schema) -> pa.Schema:
    """Spark takes a timestamp of ORC for a moment, whether its writer knew a zone or not."""
    fields = [f.with_type(pa.timestamp(f.type.unit, "UTC")) if _is_naive(f.type) else f for f in schema]
    return pa.schema(fields)


def _is_naive(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) and type_.tz is None)
