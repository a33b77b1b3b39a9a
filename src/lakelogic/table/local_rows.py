"""The row work of a table's write without a JVM: queries over its files, carried out by the engine that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from sqlglot import exp

from lakelogic.plan.files import RowInput, StagedFile
from lakelogic.plan.model import Column


@runtime_checkable
class RowWriter(Protocol):
    """What an engine of this process does for a table; queries are trees of Spark SQL over the names of the inputs.

    Both calls may be repeated, keep nothing behind but the files asked for, and commit nothing.
    """

    def write_rows(
        self,
        query: exp.Query,
        inputs: Mapping[str, RowInput],
        columns: Sequence[Column],
        *,
        root: str,
        folder: str,
        partition_by: Sequence[str] = (),
    ) -> tuple[StagedFile, ...]:
        """Write the rows of a query, with these columns in their types, to files below root/folder.

        The folder is this call's own: all files that lie in it afterwards are given back. A file without rows is not
        written.
        """

    def read_rows(self, query: exp.Query, inputs: Mapping[str, RowInput]) -> list[tuple[Any, ...]]:
        """The rows of a query that comes to a few: counts, not data."""
