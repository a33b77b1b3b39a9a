"""Frames that a caller hands over."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lakelogic.core.errors import RunError


def arrow_of(frame: Any) -> Any:
    """A caller's frame as an Arrow table; a library that is not imported cannot have made the frame."""
    if isinstance(frame, (pa.Table, pa.RecordBatchReader, pa.RecordBatch, ds.Dataset)):
        return frame
    if hasattr(frame, "to_arrow_table"):
        return frame.to_arrow_table()
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(frame, polars.LazyFrame):
        frame = frame.collect()
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    raise RunError(
        f"cannot read a `{type(frame).__module__}.{type(frame).__name__}`",
        hint="give a pyarrow Table, a polars or pandas DataFrame, or a DuckDB relation",
    )
