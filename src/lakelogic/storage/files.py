"""Files and folders wherever they lie: a local path goes to the disk, an address to its store.

A store has no folders: a folder is there when an object lies below it, and making one does nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from lakelogic.storage import objects
from lakelogic.storage.address import is_remote, parse_address


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as its disk or store describes it."""

    path: str
    size: int
    mtime_ns: int
    etag: str | None = None


def local(path: str) -> str:
    """A local path without the scheme that it may be written with."""
    return path.removeprefix("file://")


def file_exists(path: str) -> bool:
    """Whether there is a file, not a folder."""
    return find_file(path) is not None if is_remote(path) else os.path.isfile(local(path))


def folder_exists(path: str) -> bool:
    """Whether there is a folder, on a store: one with something in it."""
    if not is_remote(path):
        return os.path.isdir(local(path))
    return next(objects.list_objects(path), None) is not None


def exists(path: str) -> bool:
    """Whether a file or a folder is there."""
    return file_exists(path) or folder_exists(path)


def find_file(path: str) -> FoundFile | None:
    """A file with its size, time and, on stores that give one, its tag."""
    if is_remote(path):
        meta = objects.find_object(path)
        return None if meta is None else _found(parse_address(path).root, meta)
    try:
        status = os.stat(local(path))
    except OSError:
        return None
    return FoundFile(path, status.st_size, status.st_mtime_ns)


def list_names(path: str) -> list[str]:
    """The names in a folder; none where there is no folder."""
    if not is_remote(path):
        return os.listdir(local(path)) if os.path.isdir(local(path)) else []
    folders, found = objects.list_level(path)
    return [*(os.path.basename(name.rstrip("/")) for name in folders), *(os.path.basename(o["path"]) for o in found)]


def list_folders(path: str) -> list[str]:
    """The names of the folders in a folder."""
    if not is_remote(path):
        return [name for name in list_names(path) if os.path.isdir(os.path.join(local(path), name))]
    return [os.path.basename(name.rstrip("/")) for name in objects.list_level(path)[0]]


def walk_files(path: str) -> Iterator[FoundFile]:
    """All files below a folder; on a store, page by page and by their keys."""
    if is_remote(path):
        root = parse_address(path).root
        for meta in objects.list_objects(path):
            yield _found(root, meta)
        return
    for folder, _, names in os.walk(local(path)):
        for name in names:
            found = find_file(os.path.join(folder, name))
            if found is not None:
                yield found


def remove_file(path: str) -> None:
    if is_remote(path):
        objects.delete_objects(path, [parse_address(path).key])
    else:
        os.unlink(local(path))


def remove_tree(path: str) -> None:
    """Remove a folder and all below it; what is gone already is no error."""
    if not is_remote(path):
        shutil.rmtree(local(path), ignore_errors=True)
        return
    if parse_address(path).key:
        objects.delete_objects(path, [meta["path"] for meta in objects.list_objects(path)])


def move_folder(source: str, target: str) -> None:
    """Give a folder another name; on a store its objects are copied by the store itself, one after the other."""
    if not is_remote(source):
        os.makedirs(os.path.dirname(local(target)), exist_ok=True)
        os.rename(local(source), local(target))
        return
    before, after = parse_address(source).key, parse_address(target).key
    for meta in list(objects.list_objects(source)):
        objects.copy_object(source, meta["path"], f"{after}{meta['path'].removeprefix(before)}")
    remove_tree(source)


def make_folder(path: str) -> None:
    if not is_remote(path):
        os.makedirs(local(path), exist_ok=True)


def write_file(path: str, data: bytes) -> None:
    """Write a file whole or not at all."""
    if is_remote(path):
        objects.write_object(path, data)
        return
    make_folder(os.path.dirname(path))
    with open(f"{local(path)}.new", "wb") as file:
        file.write(data)
    os.replace(f"{local(path)}.new", local(path))


def upload(source: str, target: str) -> None:
    """Put a local file to an address, in parts where it is large."""
    with open(source, "rb") as file:
        objects.write_object(target, file)


def read_file(path: str) -> bytes:
    """A file whole; FileNotFoundError where there is none."""
    if not is_remote(path):
        with open(local(path), "rb") as file:
            return file.read()
    found = objects.read_object(path)
    if found is None:
        raise FileNotFoundError(f"there is no object `{path}`")
    return found[0]


def open_file(path: str) -> BinaryIO:
    """A file as a stream of bytes from its begin."""
    return objects.open_object(path) if is_remote(path) else open(local(path), "rb")


def _found(root: str, meta: objects.Tag) -> FoundFile:
    mtime_ns = objects.whole_seconds_ns(meta["last_modified"])
    return FoundFile(f"{root}/{meta['path']}", meta["size"], mtime_ns, meta.get("e_tag"))
