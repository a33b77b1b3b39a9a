"""Slices of a journal: small ones stand in its rows, long lists of files in a Parquet file of their own.

The rows of a journal are read and compacted again and again; lists of thousands of files in them would make every run
pay for all files that were ever read.
"""

from __future__ import annotations

import io
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice, Slice, SourceFile, StoredSlice
from lakelogic.record.slice_json import decode_slice, encode_slice
from lakelogic.storage.files import read_file, write_file

INLINE_FILES = 100
_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("etag", pa.string()),
    ]
)


def store_slice(folder: str, batch: int, slice_: Slice) -> str:
    """The text that a row of the journal has for a slice; a retry of the same batch writes over what is there."""
    if not isinstance(slice_, FileSlice) or len(slice_.files) <= INLINE_FILES:
        return encode_slice(slice_)
    name = f"slices/{batch:08d}.parquet"
    path = os.path.join(folder, name)
    columns = {
        "path": [file.path for file in slice_.files],
        "size": [file.size for file in slice_.files],
        "mtime_ns": [file.mtime_ns for file in slice_.files],
        "etag": [file.etag for file in slice_.files],
    }
    body = io.BytesIO()
    pq.write_table(pa.table(columns, schema=_SCHEMA), body, compression="zstd")
    write_file(path, body.getvalue())
    return json.dumps({"kind": "stored_files", "stored": name, "count": len(slice_.files)})


def load_slice(folder: str, text: str) -> StoredSlice:
    """The slice that `store_slice` wrote."""
    if not text.startswith('{"kind": "stored_files"'):
        return decode_slice(text)
    name = json.loads(text)["stored"]
    try:
        rows = pq.read_table(io.BytesIO(read_file(os.path.join(folder, name))), schema=_SCHEMA)
    except OSError as error:
        raise RunError(
            f"the list of files `{name}` of the journal in `{folder}` cannot be read: {error}",
            code="LL460",
            hint="it was there when its batch was prepared; bring it back, or begin anew with `lakelogic reload`",
        ) from error
    identities = zip(*(rows.column(name).to_pylist() for name in _SCHEMA.names), strict=True)
    return FileSlice(tuple(SourceFile(*identity) for identity in identities))
