"""Listing the objects of a source: page by page, in the order of their keys.

A store has no folders, so a folder is every key that begins with it. Objects without a byte are what tools leave to
show a folder, and hold no rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from lakelogic.core.errors import RunError
from lakelogic.core.slices import SourceFile
from lakelogic.storage.files import FoundFile, find_file, list_names, walk_files

_GLOB = re.compile(r"[*?\[]")


def list_remote(path: str, is_data: Callable[[str], bool]) -> Iterator[tuple[SourceFile, str]]:
    """Pairs of a file and its path below the place where the listing began."""
    root = path.rstrip("/")
    named = None if path.endswith("/") else find_file(root)
    if named is not None and named.size:
        # A file that is named whole is wanted, whatever its name looks like: hidden, or as a pattern (`a[1].csv`).
        yield _source_file(named), os.path.basename(root)
    elif _GLOB.search(path):
        yield from _matching(path, is_data)
    else:
        yield from _below(root, is_data)


def _below(root: str, is_data: Callable[[str], bool]) -> Iterator[tuple[SourceFile, str]]:
    for file in walk_files(root):
        relative = file.path.removeprefix(f"{root}/")
        if file.size and all(is_data(part) for part in relative.split("/")):
            yield _source_file(file), relative


def _matching(path: str, is_data: Callable[[str], bool]) -> Iterator[tuple[SourceFile, str]]:
    """Files that a pattern names, and those below folders that it names."""
    base = path[: _GLOB.search(path).start()].rsplit("/", 1)[0]  # type: ignore[union-attr]
    patterns = path.rstrip("/").removeprefix(f"{base}/").split("/")
    for file, relative in _below(base, is_data):
        names = relative.split("/")
        matched = _matched(names, patterns)
        if matched is not None:
            yield file, "/".join(names[matched:]) or names[-1]


def _matched(names: Sequence[str], patterns: Sequence[str]) -> int | None:
    """How many names, from the first, the patterns match; `**` stands for any number of them."""
    if not patterns:
        return 0
    if patterns[0] == "**":
        ends = ((skipped, _matched(names[skipped:], patterns[1:])) for skipped in range(len(names) + 1))
        return next((skipped + found for skipped, found in ends if found is not None), None)
    if not names or not fnmatchcase(names[0], patterns[0]):
        return None
    found = _matched(names[1:], patterns[1:])
    return None if found is None else found + 1


def missing_remote(path: str, base: str) -> RunError:
    """The place that a source names has nothing in it."""
    parent = base.rstrip("/").rsplit("/", 1)[0]
    names = sorted(list_names(parent))[:5] if "://" in parent and not parent.endswith(":/") else []
    hint = f"`{parent}` has {', '.join(f'`{name}`' for name in names)}" if names else f"`{parent}` is empty"
    return RunError(f"the source `{path}` does not exist", code="LL430", hint=hint)


def _source_file(file: FoundFile) -> SourceFile:
    return SourceFile(file.path, file.size, file.mtime_ns, file.etag)
