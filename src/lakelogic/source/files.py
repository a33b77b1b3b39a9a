"""Files of a source: which there are, which are new, and what format they have.

A file is identified by path, size and modification time. It is never compared with a maximum: a late file
with an old time is new when its identity is, and a file replaced under the same name is new too.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.core.slices import FileSlice, Slice, SourceFile

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
_GLOB = re.compile(r"[*?\[]")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")


def list_files(path: str, *, pattern: str | None = None) -> tuple[SourceFile, ...]:
    """Find the data files below a path, directory or glob, sorted by path; directories are walked whole.

    Hidden names (`.x`), names that start with `_` and temporary names are not data. `pattern` is matched
    against the file's name, or against its path below the folder when it has a slash in it.
    """
    _refuse_remote(path)
    root = path.removeprefix("file://")
    found = sorted(file for file, relative in _walk(root) if pattern is None or _matches(relative, pattern))
    if not found and not _exists(root):
        raise _missing(root)
    return tuple(_identify(file) for file in found)


def new_files(files: Collection[SourceFile], seen: Collection[SourceFile]) -> tuple[SourceFile, ...]:
    """Files whose identity was in no committed batch."""
    known = frozenset(seen)
    return tuple(file for file in files if file not in known)


def changed_file(slice_: Slice) -> str | None:
    """A file of the slice that is no longer the one that was listed: replaced, still growing, or gone."""
    if not isinstance(slice_, FileSlice):
        return None
    for file in slice_.files:
        try:
            status = os.stat(file.path)
        except OSError:
            return file.path
        if (status.st_size, status.st_mtime_ns) != (file.size, file.mtime_ns):
            return file.path
    return None


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


def _walk(root: str) -> Iterator[tuple[str, str]]:
    """Pairs of file and its path below the place where the walk began."""
    if os.path.isfile(root):
        # A file that is named whole is wanted, whatever its name looks like.
        yield root, os.path.basename(root)
        return
    if os.path.isdir(root):
        yield from _walk_folder(root)
        return
    if _GLOB.search(root):
        for match in glob.glob(root, recursive=True):
            if os.path.isdir(match) and not root.endswith("**"):
                yield from _walk_folder(match)
            elif os.path.isfile(match) and _is_data(os.path.basename(match)):
                yield match, os.path.basename(match)


def _walk_folder(root: str) -> Iterator[tuple[str, str]]:
    for folder, subfolders, names in os.walk(root, followlinks=True):
        subfolders[:] = [name for name in subfolders if _is_data(name)]
        for name in names:
            file = os.path.join(folder, name)
            if _is_data(name) and os.path.isfile(file):
                yield file, os.path.relpath(file, root)


def _is_data(name: str) -> bool:
    # A partition folder may start with an underscore (`_day=2026-01-01`); it holds data.
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return not hidden and not name.lower().endswith(TEMPORARY_SUFFIXES)


def _matches(relative: str, pattern: str) -> bool:
    return fnmatchcase(relative if "/" in pattern else os.path.basename(relative), pattern)


def _identify(file: str) -> SourceFile:
    try:
        status = os.stat(file)
    except OSError as error:
        raise RunError(
            f"`{file}` vanished while the source was listed",
            code="LL431",
            hint="run again when the upload or clean-up that changes the folder is over",
            retryable=True,
        ) from error
    return SourceFile(os.path.abspath(file), status.st_size, status.st_mtime_ns)


def _exists(root: str) -> bool:
    if not _GLOB.search(root):
        return os.path.exists(root)
    # An empty match is no mistake as long as the folder that the glob starts from is there.
    return os.path.isdir(_glob_base(root))


def _glob_base(root: str) -> str:
    fixed = root[: _GLOB.search(root).start()] if _GLOB.search(root) else root  # type: ignore[union-attr]
    return os.path.dirname(fixed) or "."


def _missing(root: str) -> RunError:
    lost = Path(_glob_base(root) if _GLOB.search(root) else root)
    parent = next((folder for folder in lost.parents if folder.is_dir()), Path())
    wanted = lost.relative_to(parent).parts[0] if lost != parent and lost.is_relative_to(parent) else lost.name
    names = sorted(entry.name for entry in parent.iterdir() if not entry.name.startswith("."))
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    hint = f"`{parent}` has {', '.join(f'`{name}`' for name in near or names[:5])}" if names else f"`{parent}` is empty"
    return RunError(f"the source `{root}` does not exist", code="LL430", hint=hint)


def _refuse_remote(path: str) -> None:
    if _SCHEME.match(path) and not path.startswith("file://"):
        raise CapabilityError(
            f"files at `{path}` are not supported yet",
            hint="give a local path; object stores come with a later version",
        )
