"""Slices as JSON text, so that the journal can hand a retry exactly what the first attempt read."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, assert_never

from lakelogic.core.errors import RunError
from lakelogic.core.slices import (
    Bounds,
    DatabaseSlice,
    FileSlice,
    FrameSlice,
    OffsetRange,
    Slice,
    SourceFile,
    StoredSlice,
    TableSlice,
    TopicSlice,
)


def encode_slice(slice_: Slice) -> str:
    """The JSON text of a slice."""
    match slice_:
        case FileSlice(files):
            # Files as lists: there may be thousands, and keys repeated for each would be most of the text.
            node: dict[str, Any] = {
                "kind": "files",
                "files": [_encode_file(file) for file in files],
            }
        case TableSlice():
            node = {"kind": "table", **asdict(slice_)}
        case TopicSlice(topic, ranges, topic_id):
            offsets = [[part.partition, part.start, part.end] for part in ranges]
            node = {"kind": "topic", "topic": topic, "topic_id": topic_id, "ranges": offsets}
        case DatabaseSlice():
            node = {"kind": "database", **asdict(slice_)}
        case FrameSlice():
            raise RunError(
                "a frame in memory cannot be written to the journal",
                code="LL461",
                hint="use run_dataframe, which checks a frame without writing it",
            )
        case _:
            assert_never(slice_)
    return json.dumps(node, ensure_ascii=False, separators=(",", ":"))


def decode_slice(text: str) -> StoredSlice:
    """The slice that `encode_slice` wrote."""
    match json.loads(text):
        case {"kind": "files", "files": list(files)}:
            return FileSlice(tuple(SourceFile(*identity) for identity in files))
        case {"kind": "table", "path": path, "version": version, "after_version": after_version, **more}:
            # Slices of earlier versions have neither.
            told: Any = more
            return TableSlice(path, version, after_version, told.get("table_id"), tuple(told.get("run_ids", ())))
        case {"kind": "topic", "topic": topic, "topic_id": topic_id, "ranges": list(ranges)}:
            return TopicSlice(topic, tuple(OffsetRange(*offsets) for offsets in ranges), topic_id)
        case {"kind": "database", "relation": relation, "relation_id": relation_id, "bounds": bounds}:
            return DatabaseSlice(relation, relation_id, _decode_bounds(bounds) if bounds else None)
        case _:
            raise RunError(
                "the journal has a slice of an unknown kind",
                code="LL460",
                hint="it was written by a newer LakeLogic; run with that version",
            )


def _decode_bounds(node: dict[str, Any]) -> Bounds:
    return Bounds(**{**node, "marked": tuple(node["marked"])})


def _encode_file(file: SourceFile) -> list[str | int]:
    identity: list[str | int] = [file.path, file.size, file.mtime_ns]
    return identity if file.etag is None else [*identity, file.etag]
