"""Files of links and slices: which there are, and what format they are in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from lakelogic.core.errors import PlanError
from lakelogic.core.slices import FileSlice, Slice
from lakelogic.engine.local.lines import local_path
from lakelogic.engine.protocol import ReadSpec
from lakelogic.plan.model import HIDDEN_PREFIX
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import file_exists, folder_exists, walk_files

_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
             ".txt": "text",
             ".parquet": "parquet", ".orc": "orc"}  # fmt: skip
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate"}


def guess_format(path: str) -> str:
    """The format of a link that names none."""
    if "/" not in path and not local_path(path).exists():
        return "table"
    if folder_exists(f"{path.rstrip('/')}/_delta_log"):
        return "delta"
    files = list_files(path)
    return (_suffix_format(files[0]) if files else None) or "delta"


def list_files(path: str) -> tuple[str, ...]:
    """The data files at a path: itself, or those in the folder and below; hidden ones are not data."""
    root = path.rstrip("/") if is_remote(path) else str(local_path(path))
    if file_exists(root):
        return (root,)
    found = (file.path for file in walk_files(root))
    return tuple(sorted(file for file in found if not _hidden(file.removeprefix(f"{root}/"))))


def filled_files(slice_: Slice) -> tuple[str, ...]:
    """The files of a slice that have a byte to read."""
    if not isinstance(slice_, FileSlice):
        raise PlanError("a text format is read from files", hint="give source.path a file or a folder")
    return tuple(file.path for file in slice_.files if file.size > 0)


def visible_names(names: Sequence[str], spec: ReadSpec) -> list[str]:
    """The names without those that LakeLogic adds, unless they are asked for."""
    asked = spec.columns or ()
    return [name for name in names if not name.startswith(HIDDEN_PREFIX) or name in asked]


def _suffix_format(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in PurePosixPath(path).suffixes]
    plain = [suffix for suffix in suffixes if suffix not in _COMPRESSED]
    return _SUFFIXES.get(plain[-1]) if plain else None


def _hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/"))
