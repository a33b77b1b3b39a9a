"""What an engine without a JVM asks a database for, and gets back as a stream of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.slices import DatabaseSlice
from lakelogic.engine.protocol import DatabaseRead
from lakelogic.plan.database_sql import MARK_COLUMN, TAIL_COLUMN, select_rows
from lakelogic.plan.database_types import ReadColumn
from lakelogic.plan.expressions import column
from lakelogic.plan.model import Column
from lakelogic.plan.types import named, string_type


@dataclass(slots=True)
class DatabaseRows:
    """A stream that can be read once, and keeps why it ended early: an engine may tell of that in words of its own."""

    reader: pa.RecordBatchReader
    rows: int | None = field(default=None)
    failure: LakeLogicError | None = field(default=None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        told = pa.RecordBatchReader.from_batches(self.reader.schema, self._batches())
        return told.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.reader
        except LakeLogicError as error:
            self.failure = error
            raise


def inspect_database(read: DatabaseRead) -> tuple[Column, ...]:
    """Names and types, as the client was told them."""
    if not read.relation.columns:
        raise CapabilityError(f"{read.url.kind} cannot be read without Spark", hint="use engine: spark")
    return tuple(Column(column.name, column.type) for column in read.relation.columns)


def open_database(slice_: DatabaseSlice, read: DatabaseRead, names: Sequence[str]) -> tuple[list[Column], Any]:
    """The columns that are asked for, and the stream of their rows; with the marks that tell which were read before."""
    known = {column.name: column for column in read.relation.columns}
    asked = [known[name] for name in names]
    if slice_.bounds is not None:
        asked.append(ReadColumn(MARK_COLUMN, column(MARK_COLUMN), string_type()))
        asked.append(ReadColumn(TAIL_COLUMN, column(TAIL_COLUMN), named("bigint")))
    sql = select_rows(read.relation, names, slice_.bounds, read.within)
    return [Column(name, known[name].type) for name in names], read.open_stream(sql, asked, read.fetch_size)
