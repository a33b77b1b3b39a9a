"""Delta tables as sources: which version there is, and whether it is still the same table."""

from __future__ import annotations

import re

from deltalake.exceptions import DeltaError

from lakelogic.storage.files import list_names
from lakelogic.storage.tables import open_delta

_COMMIT = re.compile(r"^(\d{20})\.json$")
_CHECKPOINT = re.compile(r"^(\d{20})\.checkpoint\.")


# What a person can do where versions no longer tell what is new.
WAYS_ON = (
    "choose: `lakelogic reload` empties the target and loads all there is; or run once with "
    "--set source.load_mode=full, which reads all rows of the table and goes on from its version"
)


def is_delta_table(path: str) -> bool:
    """Whether a folder is a Delta table."""
    return find_version(path) is not None


def find_version(path: str) -> int | None:
    """The newest version of a table; read off the log's file names, which needs no library and no JVM."""
    matches = (_COMMIT.match(name) or _CHECKPOINT.match(name) for name in list_names(log_folder(path)))
    return max((int(match.group(1)) for match in matches if match), default=None)


def find_table_id(path: str) -> str | None:
    """The id that a table got when it was made; None where it cannot be told."""
    try:
        return str(open_delta(path).metadata().id)
    except (DeltaError, OSError):
        return None  # a feature that delta-rs does not know; the engine may


def log_folder(path: str) -> str:
    return f"{path.rstrip('/')}/_delta_log"
