"""Delta tables and Parquet files, opened where they lie."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler

from lakelogic.storage.address import is_remote, parse_address
from lakelogic.storage.files import local
from lakelogic.storage.resolver import store_options


def open_delta(path: str, version: int | None = None) -> DeltaTable:
    """The Delta table at a path; errors are delta-rs's own."""
    return DeltaTable(local(path), version=version, storage_options=store_options(path))


def reopen_delta(table: DeltaTable) -> DeltaTable:
    """The same table at its newest version; the address that it gives is written as an address, with escapes."""
    return DeltaTable(table.table_uri, storage_options=store_options(table.table_uri))


def find_delta(path: str) -> DeltaTable | None:
    """The Delta table at a path, at its newest version; None where there is none."""
    options = store_options(path)
    if not DeltaTable.is_deltatable(local(path), options):
        return None
    return DeltaTable(local(path), storage_options=options)


def arrow_rows(table: DeltaTable) -> ds.Dataset:
    """The rows of a table for Arrow; errors are delta-rs's own.

    delta-rs would have Arrow's threads read through Python, and a thread that still does when the process ends brings
    it down (exit code 134 after good work). Local files need no Python.
    """
    if is_remote(table.table_uri):
        return table.to_pyarrow_dataset()
    folder = pyarrow.fs.SubTreeFileSystem(unquote(local(table.table_uri)), pyarrow.fs.LocalFileSystem())
    found = table.to_pyarrow_dataset(filesystem=folder)
    # These are written as in the log; delta-rs knows what they mean.
    return table.to_pyarrow_dataset() if any("%" in path or "://" in path for path in found.files) else found


def arrow_place(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """The file system of a path, and the path as that file system takes it."""
    if not is_remote(path):
        return pyarrow.fs.LocalFileSystem(), local(path)
    address = parse_address(path)
    options = store_options(path) or {}
    return _remote_file_system(address.root, tuple(sorted(options.items()))), address.key


@functools.lru_cache(maxsize=32)
def _remote_file_system(root: str, options: tuple[tuple[str, str], ...]) -> pyarrow.fs.FileSystem:
    return pyarrow.fs.PyFileSystem(DeltaStorageHandler(root, dict(options)))


def read_footer(path: str) -> pq.FileMetaData:
    """The footer of a Parquet file."""
    disk, inside = arrow_place(path)
    return pq.read_metadata(inside, filesystem=None if not is_remote(path) else disk)


@contextmanager
def open_parquet(path: str) -> Iterator[Any]:
    """A Parquet file to read from."""
    if not is_remote(path):
        with pq.ParquetFile(local(path)) as parquet:
            yield parquet
        return
    disk, inside = arrow_place(path)
    with disk.open_input_file(inside) as file, pq.ParquetFile(file) as parquet:
        yield parquet
