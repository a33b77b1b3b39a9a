"""Files of a source: which there are, which are new, and what format they have.

A file is identified by path, size, modification time and, on an object store, its tag. It is never compared with a
maximum: a late file with an old time is new when its identity is, and a file replaced under the same name is new too.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice, Slice, SourceFile
from lakelogic.source.listing import Listing
from lakelogic.storage.files import find_file

COMPRESSION_SUFFIXES = (".gz", ".bz2", ".zst", ".xz", ".lz4", ".snappy", ".deflate")
FORMAT_BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".parq": "parquet",
    ".avro": "avro",
    ".orc": "orc",
    ".xml": "xml",
    ".txt": "text",
    ".text": "text",
    ".log": "text",
}


def list_files(path: str, *, pattern: str | None = None) -> tuple[SourceFile, ...]:
    """The data files of a source, sorted by path."""
    return sort_files(Listing(path, pattern))


def sort_files(files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    """By path: folders give their files in an order of their own."""
    return tuple(sorted(files, key=lambda file: file.path))


def changed_files(slice_: Slice) -> tuple[str, ...]:
    """Files of the slice that are no longer those that were listed: replaced, still growing, or gone."""
    files = slice_.files if isinstance(slice_, FileSlice) else ()
    return tuple(file.path for file in files if not _is_as_listed(file))


def _is_as_listed(file: SourceFile) -> bool:
    found = find_file(file.path)
    return found is not None and (found.size, found.mtime_ns, found.etag) == (file.size, file.mtime_ns, file.etag)


def find_format(path: str) -> str | None:
    """The format that a file's extension speaks of; a compression suffix is looked through."""
    stem, suffix = os.path.splitext(path.lower())
    if suffix in COMPRESSION_SUFFIXES:
        _, suffix = os.path.splitext(stem)
    return FORMAT_BY_SUFFIX.get(suffix)


def format_of(files: Collection[SourceFile]) -> str:
    """The one format of these files, or an error that says why there is not one."""
    formats = {find_format(file.path): file.path for file in files}
    if len(formats) == 1 and None not in formats:
        return str(next(iter(formats)))
    if None in formats:
        raise RunError(
            f"the name of `{formats[None]}` does not tell its format",
            code="LL432",
            hint="set source.format: csv | json | jsonl | parquet | delta | avro | orc | xml | text",
        )
    raise RunError(
        f"files of different formats in one source: {', '.join(sorted(str(name) for name in formats))}",
        code="LL432",
        hint="narrow source.pattern, for example '*.csv', or set source.format",
    )
