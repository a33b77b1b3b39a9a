"""Listing the files of a source: one after the other, so that millions of them need no memory.

A file that is still being uploaded must not be read half. Names that writers use for unfinished files are left out,
and a contract can ask for more: `settle`, a time for which a file must have been left alone, or `success_marker`, a
file that says that a folder (`_SUCCESS`) or one file (`{name}.done`) is whole. On an object store a file shows when
its upload is over, and not before; there the two are for files that belong together.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from lakelogic.core.errors import RunError
from lakelogic.core.slices import SourceFile
from lakelogic.source.path_dates import DatedPaths
from lakelogic.source.remote_listing import list_remote, missing_remote
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import exists, local

# What a writer leaves while it is not done; reading it would give half a file.
TEMPORARY_SUFFIXES = (
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".crdownload",
    ".filepart",
    ".inprogress",
    ".swp",
    "~",
)
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Readiness:
    """When a file counts as whole."""

    settle_s: float = 0
    marker: str | None = None
    now_s: float = 0  # the run's clock


@dataclass(slots=True)
class Listing:
    """The data files below a path, directory or glob; directories are walked whole, in no order.

    Hidden names (`.x`), names that start with `_` and temporary names are not data. `pattern` is matched against the
    file's name, or against its path below the folder when it has a slash in it.
    """

    path: str
    pattern: str | None = None
    ready: Readiness = field(default_factory=Readiness)
    within: DatedPaths | None = None  # only these; folders of other days are not opened
    listed: int = 0  # how many were given out so far
    waiting: int = 0  # and how many were left for later
    _folders: dict[str, bool] = field(default_factory=dict)
    _base: str = ""

    def __iter__(self) -> Iterator[SourceFile]:
        self.listed = self.waiting = 0
        self._folders.clear()
        self._base = _base_of(self.path.rstrip("/") if is_remote(self.path) else os.path.abspath(local(self.path)))
        for found in self._candidates():
            if self._is_whole(found):
                self.listed += 1
                yield found
            else:
                self.waiting += 1
        if not self.listed and not self.waiting:
            self._require_place()

    def _candidates(self) -> Iterator[SourceFile]:
        if is_remote(self.path):
            found = list_remote(self.path, _is_data)
            yield from (file for file, relative in found if self._wants(file.path, relative))
            return
        for entry, relative in _walk(os.path.abspath(local(self.path)), self._leaves_out):
            identified = _identify(entry) if self._wants(os.fspath(entry), relative) else None
            if identified is not None:
                yield identified

    def _wants(self, path: str, relative: str) -> bool:
        if self.pattern is not None and not _matches(relative, self.pattern):
            return False
        if self.within is not None and not self.within.wants(self._below(path)):
            return False
        return not _is_marker(path, self.ready.marker)

    def _require_place(self) -> None:
        """Nothing to read is fine; a place that is not there is a mistake."""
        if is_remote(self.path):
            base = _glob_base(self.path) if _GLOB.search(self.path) else self.path
            if not exists(base):
                raise missing_remote(self.path, base)
        elif not _exists(local(self.path)):
            raise _missing(local(self.path))

    def _leaves_out(self, folder: str) -> bool:
        return self.within is not None and self.within.leaves_out(self._below(folder))

    def _below(self, path: str) -> str:
        """A path below the folder that the source begins with."""
        return path[len(self._base) :].lstrip("/")

    def _is_whole(self, file: SourceFile) -> bool:
        ready = self.ready
        # A time in the future was set by hand, or by a machine whose clock is wrong; it must not wait for years.
        if ready.settle_s and abs(ready.now_s - file.mtime_ns / 1e9) < ready.settle_s:
            return False
        if ready.marker is None:
            return True
        folder, name = os.path.split(file.path)
        if "{name}" in ready.marker:
            return exists(os.path.join(folder, ready.marker.replace("{name}", name)))
        if folder not in self._folders:
            self._folders[folder] = exists(os.path.join(folder, ready.marker))
        return self._folders[folder]


def _walk(root: str, leaves_out: Callable[[str], bool]) -> Iterator[tuple[os.DirEntry[str] | str, str]]:
    """Pairs of file and its path below the place where the walk began."""
    if os.path.isfile(root):
        # A file that is named whole is wanted, whatever its name looks like.
        yield root, os.path.basename(root)
    elif os.path.isdir(root):
        yield from _walk_folder(root, leaves_out)
    elif _GLOB.search(root):
        for match in glob.iglob(root, recursive=True):
            if os.path.isdir(match) and not root.endswith("**"):
                if not leaves_out(match):
                    yield from _walk_folder(match, leaves_out)
            elif os.path.isfile(match) and _is_data(os.path.basename(match)):
                yield match, os.path.basename(match)


def _walk_folder(root: str, leaves_out: Callable[[str], bool]) -> Iterator[tuple[os.DirEntry[str], str]]:
    folders = [""]
    while folders:
        below = folders.pop()
        try:
            entries = os.scandir(os.path.join(root, below) if below else root)
        except FileNotFoundError:
            continue  # cleaned up since its parent was listed
        except PermissionError as error:
            # Left out, its rows would be missing and nobody would know.
            raise RunError(
                f"the folder `{os.path.join(root, below)}` of the source cannot be read: {error.strerror}",
                code="LL430",
                hint="check its permissions",
            ) from error
        with entries:
            for entry in entries:
                if not _is_data(entry.name):
                    continue
                relative = f"{below}/{entry.name}" if below else entry.name
                if entry.is_dir():
                    if not leaves_out(entry.path):
                        folders.append(relative)
                elif entry.is_file():
                    yield entry, relative


def _is_data(name: str) -> bool:
    # A partition folder may start with an underscore (`_day=2026-01-01`); it holds data.
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return not hidden and not name.lower().endswith(TEMPORARY_SUFFIXES)


def _is_marker(file: str, marker: str | None) -> bool:
    if marker is None:
        return False
    return fnmatchcase(os.path.basename(file), glob.escape(marker).replace("{name}", "*"))


def _matches(relative: str, pattern: str) -> bool:
    return fnmatchcase(relative if "/" in pattern else os.path.basename(relative), pattern)


def _identify(file: os.DirEntry[str] | str) -> SourceFile | None:
    """None where the file is gone since its folder was listed."""
    try:
        status = os.stat(file) if isinstance(file, str) else file.stat()
    except FileNotFoundError:
        return None
    return SourceFile(os.fspath(file), status.st_size, status.st_mtime_ns)


def _exists(root: str) -> bool:
    if not _GLOB.search(root):
        return os.path.exists(root)
    # An empty match is no mistake as long as the folder that the glob starts from is there.
    return os.path.isdir(_glob_base(root))


def _glob_base(root: str) -> str:
    fixed = root[: _GLOB.search(root).start()] if _GLOB.search(root) else root  # type: ignore[union-attr]
    return os.path.dirname(fixed) or "."


def _base_of(root: str) -> str:
    """The folder that the paths of a source's files all begin with."""
    if os.path.isfile(root):
        return os.path.dirname(root)
    return _glob_base(root) if _GLOB.search(root) else root


def _missing(root: str) -> RunError:
    lost = Path(_glob_base(root) if _GLOB.search(root) else root)
    parent = next((folder for folder in lost.parents if folder.is_dir()), Path())
    wanted = lost.relative_to(parent).parts[0] if lost != parent and lost.is_relative_to(parent) else lost.name
    names = sorted(entry.name for entry in parent.iterdir() if not entry.name.startswith("."))
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"`{parent}` has {', '.join(f'`{name}`' for name in near or names[:5])}" if names else f"`{parent}` is empty"
    return RunError(f"the source `{root}` does not exist", code="LL430", hint=hint)
