"""Paths between the journal's spelling and Spark's."""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import BinaryIO, cast
from urllib.parse import quote as quote_url

from pyspark.sql import SparkSession

from lakelogic.core.errors import RunError
from lakelogic.engine.spark.words import literal
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import file_exists, open_file, walk_files

_GLOB = re.compile(r"([\\\[\]{}*?])")
_SAFE_IN_URL = "/:@!$&'()*+,;=~-._"
_CHUNK = 1 << 16


def exactly(paths: Sequence[str]) -> list[str]:
    """The paths as Spark must be told them: a name that holds `[`, `*` or `{` is no pattern."""
    return [_GLOB.sub(r"\\\1", path) for path in paths]


def local_path(path: str) -> Path | None:
    """The path as a file of this machine, where it is one."""
    if path.startswith("file:"):
        path = path.removeprefix("file://").removeprefix("file:")
    if "://" in path:
        return None
    found = Path(path)
    return found if found.exists() else None


def source_expression(paths: Sequence[str]) -> str:
    """SQL for the path a row came from, spelled as the journal spells it."""
    if len(paths) == 1:
        return literal(paths[0])
    path = "_metadata.file_path"
    if any(quote_url(name, safe=_SAFE_IN_URL) != name for name in paths):
        # A plus sign is itself in a path, but a blank to url_decode.
        path = f"url_decode(replace({path}, '+', '%2B'))"
    return (
        f"CASE WHEN startswith({path}, 'file:///') THEN substring({path}, 8) "
        f"WHEN startswith({path}, 'file:/') THEN substring({path}, 6) ELSE {path} END"
    )


def first_line(spark: SparkSession, path: str) -> bytes:
    """The first line that is not blank, without its end and without a byte order mark."""
    local = local_path(path)
    if (local is None and not is_remote(path)) or PurePath(path).suffix in {".zst", ".lz4", ".snappy", ".deflate"}:
        rows = spark.read.text(exactly([path])).where("value <> ''").selectExpr("CAST(value AS BINARY) AS line").head(1)
        return bytes(rows[0].line) if rows else b""
    try:
        with _open(local or path) as stream:
            return _first_of(stream)
    except (OSError, EOFError, zlib.error) as error:
        raise RunError(f"cannot read `{path}`: {error}") from error


def _first_of(stream: BinaryIO) -> bytes:
    head = b""
    while chunk := stream.read(_CHUNK):
        head = (head + chunk).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        line, *rest = head.replace(b"\r", b"\n").split(b"\n", 1)
        if rest:
            return line
    return head


def head_bytes(path: Path, size: int) -> bytes:
    with _open(path) as stream:
        return stream.read(size)


def list_files(spark: SparkSession, path: str) -> list[str]:
    """The data files at a path: itself, or those in the folder and below; hidden ones are not data."""
    local = local_path(path)
    if local is None and is_remote(path):
        return _list_remote(path.rstrip("/"))
    if local is None:
        return []
    if local.is_file():
        return [str(local)]
    found = (file for file in local.rglob("*") if file.is_file())
    return sorted(str(file) for file in found if not _hidden(file.relative_to(local)))


def _list_remote(path: str) -> list[str]:
    if file_exists(path):
        return [path]
    found = (file.path for file in walk_files(path))
    return sorted(file for file in found if not _hidden(Path(file.removeprefix(f"{path}/"))))


def _hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


def _open(path: Path | str) -> BinaryIO:
    stream = open_file(str(path))
    match PurePath(path).suffix:
        case ".gz":
            return cast(BinaryIO, gzip.open(stream, "rb"))
        case ".bz2":
            return cast(BinaryIO, bz2.open(stream, "rb"))
        case _:
            return stream
