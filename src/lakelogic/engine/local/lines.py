"""Lines of text files as Spark's text source sees them, one at a time."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, cast

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import open_file

_BOM = b"\xef\xbb\xbf"
_UNREADABLE = {".zst", ".snappy", ".lz4", ".deflate"}
NOT_UTF8 = "not UTF-8"
_CHUNK = 4 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """One line; where it is not UTF-8, `text` shows every byte beyond ASCII as \\xNN."""

    text: str
    valid: bool = True


def read_lines(path: str, encoding: str = "utf-8") -> Iterator[Line]:
    """The lines of a file; they end at LF, CR LF or CR, and a byte order mark is no part of the first."""
    first = True
    for raw in _raw_lines(path):
        body = raw.removeprefix(_BOM) if first else raw
        first = False
        for part in _split(body):
            yield decode(part, encoding)


def read_blocks(path: str) -> Iterator[bytes]:
    """The bytes of a file in blocks of whole lines, which all end at LF, and without a byte order mark."""
    begun: list[bytes] = []  # of a line whose end is yet to come
    for number, read in enumerate(read_chunks(path)):
        chunk = read if number else read.removeprefix(_BOM)
        # A CR at the very end may be half of a line's end.
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r", 0, len(chunk) - 1)) + 1
        if end:
            yield _with_line_feeds(b"".join([*begun, chunk[:end]]))
            begun = []
        if end < len(chunk):
            begun.append(chunk[end:])
    if begun:
        yield _with_line_feeds(b"".join(begun))


def portions(block: bytes, most: int) -> Iterator[bytes]:
    """A block in parts of not many more lines than that."""
    if block.count(b"\n") <= most:
        yield block
        return
    half = len(block) // 2
    middle = block.find(b"\n", half, -1) + 1 or block.rindex(b"\n", 0, half) + 1
    yield from portions(block[:middle], most)
    yield from portions(block[middle:], most)


def read_whole(path: str, encoding: str) -> Line:
    return decode(b"".join(_raw_lines(path)), encoding)


def decode(raw: bytes, encoding: str = "utf-8") -> Line:
    try:
        return Line(raw.decode(encoding))
    except UnicodeDecodeError:
        return Line("".join(chr(byte) if byte < 128 else f"\\x{byte:02X}" for byte in raw), valid=False)


def local_path(path: str) -> Path:
    return Path(path.removeprefix("file://") if path.startswith("file://") else path.removeprefix("file:"))


def _raw_lines(path: str) -> Iterator[bytes]:
    try:
        with _open(path) as stream:
            yield from stream
    except (OSError, EOFError, zlib.error) as error:
        raise RunError(f"cannot read `{path}`: {error}") from error


def read_chunks(path: str) -> Iterator[bytes]:
    """The bytes of a file, some at a time."""
    try:
        with _open(path) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except (OSError, EOFError, zlib.error) as error:
        raise RunError(f"cannot read `{path}`: {error}") from error


def _with_line_feeds(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


def _open(path: str) -> IO[bytes]:
    suffix = PurePath(path).suffix.lower()
    if suffix in _UNREADABLE:
        raise CapabilityError(
            f"`{suffix}` files cannot be unpacked without Spark", hint="use .gz, .bz2 or engine: spark"
        )
    stream = open_file(path) if is_remote(path) else local_path(path).open("rb")
    match suffix:
        case ".gz":
            return cast(IO[bytes], gzip.open(stream, "rb"))
        case ".bz2":
            return cast(IO[bytes], bz2.open(stream, "rb"))
        case _:
            return stream


def _split(raw: bytes) -> list[bytes]:
    body = raw.removesuffix(b"\n").removesuffix(b"\r")
    return body.split(b"\r") if b"\r" in body else [body]
