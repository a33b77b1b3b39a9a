"""What the changes of a batch do to its table: which files they touch, and how many rows of which kind."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from lakelogic.plan.files import StagedFile
from lakelogic.storage.tables import open_parquet
from lakelogic.table.history_layout import OLD_FILE, OP


@dataclass(frozen=True, slots=True)
class Effect:
    """What changes do to a table."""

    marks: frozenset[int]  # of the files that they touch
    updated: int
    deleted: int
    inserted: int

    def metrics(self, touched: Sequence[StagedFile], written: Sequence[StagedFile]) -> dict[str, int]:
        """In the words of Delta's MERGE."""
        return {
            "numTargetRowsInserted": self.inserted,
            "numTargetRowsUpdated": self.updated,
            "numTargetRowsDeleted": self.deleted,
            "numTargetRowsCopied": sum(file.rows for file in touched) - self.updated - self.deleted,
            "numTargetFilesAdded": len(written),
            "numTargetFilesRemoved": len(touched),
            "numTargetBytesAdded": sum(file.size for file in written),
            "numTargetBytesRemoved": sum(file.size for file in touched),
        }


def find_effect(root: str, files: Sequence[StagedFile]) -> Effect:
    """Counted from two narrow columns of the scratch files, a part at a time."""
    marks: set[int] = set()
    rows = known = updated = 0
    for file in files:
        with open_parquet(os.path.join(root, file.path)) as parquet:
            for part in parquet.iter_batches(columns=[OLD_FILE, OP]):
                there = pc.is_valid(part.column(OLD_FILE))
                rows += part.num_rows
                known += pc.sum(there).as_py() or 0
                updated += pc.sum(pc.and_(there, part.column(OP))).as_py() or 0
                marks.update(pc.unique(part.column(OLD_FILE)).drop_null().to_pylist())
    return Effect(frozenset(marks), updated, known - updated, rows - known)
