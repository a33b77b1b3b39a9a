"""Marks: what rows at the end of a slice are known by, kept in a file so that the next run leaves them out."""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER, COLUMN = "marks", "mark"
_SCHEMA = pa.schema([pa.field(COLUMN, pa.string(), nullable=False)])
_KEPT_S = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Marks:
    """The file of some marks, and a number that is the same where they are, in whatever order they came."""

    path: str | None
    digest: str


def write_marks(control: str, rows: pa.RecordBatchReader) -> Marks:
    """Write down the marks of rows, a batch at a time."""
    folder = os.path.join(control, FOLDER)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{uuid.uuid4().hex}.parquet")
    total = count = 0
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        for batch in rows:
            hashes = [hashlib.md5(text.encode(), usedforsecurity=False) for text in batch.column(0).to_pylist()]
            total = (total + sum(int.from_bytes(each.digest(), "big") for each in hashes)) % 2**128
            count += len(hashes)
            writer.write_table(pa.table([[each.hexdigest() for each in hashes]], schema=_SCHEMA))
    if not count:
        os.unlink(path)
    return Marks(path if count else None, f"{count}:{total:032x}")


def find_marks(control: str, path: str | None) -> str | None:
    """Where a file of marks lies now; the folder may have moved since its path was written down."""
    return os.path.join(control, FOLDER, os.path.basename(path)) if path else None


def forget(path: str | None) -> None:
    """Remove marks that nobody will ask for."""
    if path is not None:
        with suppress(FileNotFoundError):
            os.unlink(path)


def sweep_marks(control: str, kept: Collection[str | None]) -> None:
    """Remove old files of marks; young ones may be those of a position that comes back when a reset is undone."""
    folder = os.path.join(control, FOLDER)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for path in (os.path.join(folder, name) for name in names):
        if path not in kept and time.time() - os.path.getmtime(path) > _KEPT_S:
            forget(path)
