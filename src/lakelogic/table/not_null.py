"""Columns that a table declares NOT NULL, and staged rows that have NULL in one.

What the contract requires is enforced row by row. A table that somebody else made may promise more; that is looked at
before the batch is marked as staged, because a staged batch is finished by the next run, which could only fail again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from deltalake import DeltaTable

from lakelogic.core.errors import RunError
from lakelogic.plan.files import StagedFile
from lakelogic.table.protocol import TableShape
from lakelogic.table.stats import FileStats, read_stats


def find_not_null(table: DeltaTable | None, shape: TableShape) -> frozenset[str]:
    """Columns in which the table, or the one that will be made, allows no NULL."""
    if table is None:
        return frozenset(column.name for column in shape.columns if not column.nullable)
    return frozenset(field.name for field in table.schema().fields if not field.nullable)


def check_not_null(path: str, table: DeltaTable | None, files: Sequence[StagedFile], shape: TableShape) -> None:
    """Refuse a batch that the table could not take; reads footers only where the table promises more than rows do."""
    enforced = {column.name for column in shape.columns if not column.nullable}
    staged = {column.name for column in shape.columns}
    doubtful = (find_not_null(table, shape) - enforced) & staged
    for file in files if doubtful else ():
        refuse_nulls(file, read_stats(os.path.join(path, file.path), file.constants), doubtful)


def refuse_nulls(file: StagedFile, stats: FileStats, not_null: frozenset[str]) -> None:
    for name in sorted(not_null):
        in_partition = name in file.partition and file.partition[name] is None
        nulls = stats.rows if in_partition else stats.nulls.get(name, 0)
        if nulls:
            raise RunError(
                f"column `{name}` of the table is NOT NULL, and {nulls} accepted rows have NULL in it",
                code="LL443",
                hint="mark the field `required: true`, so that such rows go to quarantine",
            )
