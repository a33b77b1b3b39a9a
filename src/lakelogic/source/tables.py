"""Delta tables as sources: which version there is, and whether it is still the same table."""

from __future__ import annotations

import os
import re
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

_COMMIT = re.compile(r"^(\d{20})\.json$")
_CHECKPOINT = re.compile(r"^(\d{20})\.checkpoint\.")


# What a person can do where versions no longer tell what is new.
WAYS_ON = (
    "choose: `lakelogic reload` empties the target and loads all there is; or run once with "
    "--set source.load_mode=full, which reads all rows of the table and goes on from its version"
)


def is_delta_table(path: str) -> bool:
    """Whether a local folder is a Delta table."""
    return os.path.isdir(log_folder(path)) and find_version(path) is not None


def find_version(path: str) -> int | None:
    """The newest version of a table; read off the log's file names, which needs no library and no JVM."""
    log = log_folder(path)
    if not log.is_dir():
        return None
    matches = (_COMMIT.match(name) or _CHECKPOINT.match(name) for name in os.listdir(log))
    return max((int(match.group(1)) for match in matches if match), default=None)


def find_table_id(path: str) -> str | None:
    """The id that a table got when it was made; None where it cannot be told."""
    try:
        return str(DeltaTable(path.removeprefix("file://")).metadata().id)
    except (DeltaError, OSError):
        return None  # a feature that delta-rs does not know; the engine may


def log_folder(path: str) -> Path:
    return Path(path.removeprefix("file://")) / "_delta_log"
