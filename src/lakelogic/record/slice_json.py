"""Slices as JSON text, so that the journal can hand a retry exactly what the first attempt read."""

from __future__ import annotations

import json
from typing import Any, assert_never

from lakelogic.core.errors import RunError
from lakelogic.core.slices import FileSlice, FrameSlice, Slice, SourceFile, TableSlice


def encode_slice(slice_: Slice) -> str:
    """The JSON text of a slice."""
    match slice_:
        case FileSlice(files):
            # Files as lists: there may be thousands, and keys repeated for each would be most of the text.
            node: dict[str, Any] = {
                "kind": "files",
                "files": [[file.path, file.size, file.mtime_ns] for file in files],
            }
        case TableSlice(path, version, after_version):
            node = {"kind": "table", "path": path, "version": version, "after_version": after_version}
        case FrameSlice():
            raise RunError(
                "a frame in memory cannot be written to the journal",
                code="LL461",
                hint="use run_dataframe, which checks a frame without writing it",
            )
        case _:
            assert_never(slice_)
    return json.dumps(node, ensure_ascii=False, separators=(",", ":"))


def decode_slice(text: str) -> FileSlice | TableSlice:
    """The slice that `encode_slice` wrote."""
    match json.loads(text):
        case {"kind": "files", "files": list(files)}:
            return FileSlice(tuple(SourceFile(path, size, mtime_ns) for path, size, mtime_ns in files))
        case {"kind": "table", "path": path, "version": version, "after_version": after_version}:
            return TableSlice(path, version, after_version)
        case _:
            raise RunError(
                "the journal has a slice of an unknown kind",
                code="LL460",
                hint="it was written by a newer LakeLogic; run with that version",
            )
