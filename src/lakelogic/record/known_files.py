"""Which files were read: an index of the journal on disk, so that a run pays for new files and not for known ones.

The journal is the truth. The index says up to which batch it has followed it, takes in the batches after that one, and
is made anew where it is missing, damaged, or belongs to another journal. It holds digests, folder by folder: of names,
and of names with size, time and tag. The latter have 128 bits: two files with the same one would lose the rows of one.
A file that went back to an identity of its past was read with that identity, so all of them stay.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby, islice

from loguru import logger

from lakelogic.core.errors import RunError
from lakelogic.core.settings import spare_cache, user_cache
from lakelogic.core.slices import SourceFile
from lakelogic.storage.address import is_remote

_ASKED_AT_ONCE = 500  # SQLite takes this many parameters everywhere
_HELD_AT_ONCE = 100_000  # identities of one folder; reading all is five times as quick as asking for each
_TABLES = """
CREATE TABLE IF NOT EXISTS known (
    folder INTEGER, name INTEGER, identity BLOB, PRIMARY KEY (folder, name, identity)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS followed (journal TEXT, reset INTEGER, batch INTEGER);
"""


@dataclass(frozen=True, slots=True)
class JournalPoint:
    """How far an index has followed a journal: up to which batch, counted from which reset."""

    journal: str
    reset: int
    batch: int


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that no batch has read; `replaced` where one has read another file under its path."""

    file: SourceFile
    replaced: bool


def index_folder(control: str) -> str:
    """Where the index of a control folder lies: in it, or, where that is on a store, in the user's cache.

    A machine that has no index, or an old one, reads what it lacks from the journal.
    """
    if not is_remote(control):
        return control
    name = blake2b(control.rstrip("/").encode(), digest_size=16).hexdigest()
    return os.path.join(_cache(), "known_files", name)


def _cache() -> str:
    """The user's cache, or a spare one: a function on AWS Lambda can write nowhere but to the temporary folder."""
    usual, spare = str(user_cache(os.environ)), str(spare_cache())
    if _can_be_used(usual):
        return usual
    # A folder that somebody else made there could hold an index that says that files were read.
    return spare if _can_be_used(spare) else tempfile.mkdtemp(prefix="lakelogic-")


def _can_be_used(folder: str) -> bool:
    """Whether a folder is there, or can be made, is this user's and can be written to."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.stat(folder).st_uid == os.getuid() and os.access(folder, os.W_OK)
    except OSError:
        return False


class KnownFiles:
    """The index of a dataset; the caller holds the dataset's lock."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "known_files.sqlite")
        self._connection = self._open()

    def follow(self, point: JournalPoint, read_after: Callable[[int], Iterable[Sequence[SourceFile]]]) -> None:
        """Take in the files of all batches up to a point; `read_after` gives them for batches after a number."""
        try:
            self._follow(point, read_after)
        except sqlite3.DatabaseError as error:
            logger.warning(f"The index of known files is damaged and is made anew: {error}")
            self._connection = self._start_over()
            self._follow(point, read_after)

    def is_empty(self) -> bool:
        return self._connection.execute("SELECT 1 FROM known LIMIT 1").fetchone() is None

    def unread(self, files: Iterable[SourceFile]) -> Iterator[UnreadFile]:
        """Those of the files that no batch has read; only a handful is held at a time."""
        for folder, group in groupby(files, key=lambda file: os.path.dirname(file.path)):
            number = _digest(folder)
            held = self._held(number)
            while some := list(islice(group, _ASKED_AT_ONCE)):
                known = held if held is not None else self._asked(number, some)
                new = [file for file in some if _identity(file) not in known]
                yield from (UnreadFile(file, self._is_replaced(number, file)) for file in new)

    def _held(self, folder: int) -> set[bytes] | None:
        """All identities of a folder; None where there are too many."""
        cursor = self._connection.execute("SELECT identity FROM known WHERE folder = ?", (folder,))
        held = {identity for (identity,) in islice(cursor, _HELD_AT_ONCE)}
        return held if cursor.fetchone() is None else None

    def _asked(self, folder: int, files: Sequence[SourceFile]) -> set[bytes]:
        marks = ",".join("?" * len(files))
        query = f"SELECT identity FROM known WHERE folder = ? AND name IN ({marks})"
        names = [_digest(os.path.basename(file.path)) for file in files]
        return {identity for (identity,) in self._connection.execute(query, (folder, *names))}

    def _is_replaced(self, folder: int, file: SourceFile) -> bool:
        query = "SELECT 1 FROM known WHERE folder = ? AND name = ?"
        name = _digest(os.path.basename(file.path))
        return self._connection.execute(query, (folder, name)).fetchone() is not None

    def close(self) -> None:
        self._connection.close()

    def _follow(self, point: JournalPoint, read_after: Callable[[int], Iterable[Sequence[SourceFile]]]) -> None:
        row = self._connection.execute("SELECT journal, reset, batch FROM followed").fetchone()
        before = JournalPoint(*row) if row else None
        if before == point:
            return
        goes_on = before is not None and (before.journal, before.reset) == (point.journal, point.reset)
        goes_on = goes_on and before is not None and before.batch <= point.batch
        with self._connection:  # one transaction: killed here, the index is as it was
            if not goes_on:
                self._connection.execute("DELETE FROM known")
            for files in read_after(before.batch if goes_on and before else point.reset):
                self._connection.executemany("INSERT OR IGNORE INTO known VALUES (?, ?, ?)", map(_row, files))
            self._connection.execute("DELETE FROM followed")
            self._connection.execute("INSERT INTO followed VALUES (?, ?, ?)", (point.journal, point.reset, point.batch))

    def _open(self) -> sqlite3.Connection:
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            return _connect(self._path)
        except sqlite3.DatabaseError:
            return self._start_over()
        except OSError as error:
            raise RunError(
                f"the index of known files `{self._path}` cannot be made: {error}",
                code="LL460",
                hint="check that the folder can be written to, or set LAKELOGIC_STATE to another one",
            ) from error

    def _start_over(self) -> sqlite3.Connection:
        for suffix in ("", "-journal", "-wal", "-shm"):
            if os.path.exists(self._path + suffix):
                os.unlink(self._path + suffix)
        return _connect(self._path)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.executescript(_TABLES)
    return connection


def _row(file: SourceFile) -> tuple[int, int, bytes]:
    folder, name = os.path.split(file.path)
    return _digest(folder), _digest(name), _identity(file)


def _identity(file: SourceFile) -> bytes:
    return _hash(f"{os.path.basename(file.path)}|{file.size}|{file.mtime_ns}|{file.etag or ''}", 16)


def _digest(text: str) -> int:
    return int.from_bytes(_hash(text, 8), "little", signed=True)


def _hash(text: str, size: int) -> bytes:
    # A name may hold bytes that are no UTF-8; they come as surrogates.
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=size).digest()
