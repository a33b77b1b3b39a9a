"""Object stores for DuckDB: its own extension for them is a download, so it reads through our way in instead."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fsspec import AbstractFileSystem

from lakelogic.storage.address import SCHEMES
from lakelogic.storage.files import find_file
from lakelogic.storage.tables import arrow_place


class Stores(AbstractFileSystem):  # type: ignore[misc]
    """All stores, by whole addresses; DuckDB only reads here."""

    protocol = tuple(SCHEMES)
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        # The scheme says which store it is.
        return path

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        found = find_file(path)
        if found is None:
            raise FileNotFoundError(path)
        return {
            "name": path,
            "size": found.size,
            "type": "file",
            "mtime": datetime.fromtimestamp(found.mtime_ns / 1e9, UTC),
        }

    def exists(self, path: str, **kwargs: Any) -> bool:
        return find_file(path) is not None

    def isfile(self, path: str) -> bool:
        return self.exists(path)

    def glob(self, path: str, **kwargs: Any) -> list[str]:
        # Files come one by one with their names; none of them is a pattern.
        return [path] if self.exists(path) else []

    def modified(self, path: str) -> Any:
        return self.info(path)["mtime"]

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        if mode != "rb":
            raise PermissionError(f"`{path}` is not written by DuckDB")
        disk, inside = arrow_place(path)
        return disk.open_input_file(inside)
