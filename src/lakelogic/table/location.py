"""Where tables lie: paths, dotted catalog names, the quarantine beside a target, and the control folder.

Textual but for `find_companions`: nothing else here looks at a disk or a catalog.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import replace

from lakelogic.core.errors import CapabilityError, PlanError
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import folder_exists, list_folders
from lakelogic.table.protocol import TableLocation

CONTROL_FOLDER = "_lakelogic"
# Also what an address would decode: `%20` is looked for as a blank.
_NOT_IN_AN_ADDRESS = re.compile(r"[\[\]\\^|]|%[0-9A-Fa-f]{2}")
SESSION_CATALOG = "spark_catalog"
_DOTTED = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*){1,2}$")
# `customers.parquet` is a file and not a table in a schema called customers.
_FILE_SUFFIXES = frozenset(("csv", "json", "jsonl", "parquet", "delta", "avro", "orc", "xml", "txt", "db",
                             "tsv", "ndjson", "log"))  # fmt: skip


def is_catalog_name(text: str) -> bool:
    """Whether a target is written as schema.table or catalog.schema.table, not as a path."""
    name = text.removeprefix("table:")
    return bool(_DOTTED.match(name)) and not _FILE_SUFFIXES & set(name.lower().split(".")[1:])


def resolve_location(name_or_path: str, *, base: str, warehouse: str, catalogs: Collection[str] = ()) -> TableLocation:
    """Find the folder of a table.

    A relative path is relative to `base`. A dotted name lies in `<warehouse>/a/b/c`; when the session has its
    catalog (`catalogs`), it also keeps the name under which that catalog will know it.
    """
    if not name_or_path.strip():
        raise PlanError("the table has no path", hint="set materialization.target_path")
    if not is_catalog_name(name_or_path):
        return TableLocation(name_or_path, _absolute(name_or_path, base))
    name = name_or_path.removeprefix("table:")
    path = os.path.join(_absolute(warehouse, base), *name.split("."))
    return TableLocation(name, path, _known_name(name, catalogs))


def resolve_quarantine(
    target: TableLocation, declared: str | None, *, base: str, warehouse: str, catalogs: Collection[str] = ()
) -> TableLocation:
    """The quarantine's place: declared, else `<target>_quarantine`, for a catalog name `a.quarantine.b_c`."""
    if declared:
        return resolve_location(declared, base=base, warehouse=warehouse, catalogs=catalogs)
    if is_catalog_name(target.name):
        name = _quarantine_name(target.name)
        return resolve_location(name, base=base, warehouse=warehouse, catalogs=catalogs)
    return replace(target, name=f"{target.name.rstrip('/')}_quarantine", path=f"{target.path}_quarantine")


def refuse_folder(path: str) -> None:
    """Raise where delta-rs could not keep a table: it takes the path for part of an address, and panics or is lost."""
    found = _NOT_IN_AN_ADDRESS.search(path)
    if found is not None:
        raise CapabilityError(
            f"no table can be kept below a folder with `{found.group()}` in its name: `{path}`",
            code="LL312",
            hint="choose another target_path, quarantine.target_path or LAKELOGIC_STATE",
        )


def find_companions(path: str) -> dict[str, TableLocation]:
    """Tables that a strategy keeps for itself in a hidden folder of the target, by name."""
    folder = os.path.join(path, CONTROL_FOLDER)
    places = {name: os.path.join(folder, name) for name in sorted(list_folders(folder))}
    return {n: TableLocation(n, p) for n, p in places.items() if folder_exists(os.path.join(p, "_delta_log"))}


def state_folder(target: TableLocation, *, state: str | None = None) -> str:
    """The folder of the run log, which the datasets beside each other share."""
    parent = state or os.path.dirname(target.path.rstrip("/"))
    return os.path.join(parent, CONTROL_FOLDER)


def control_folder(target: TableLocation, dataset: str, *, state: str | None = None) -> str:
    """The folder of one dataset's journal and lock."""
    return os.path.join(state_folder(target, state=state), _folder_name(dataset))


def _absolute(path: str, base: str) -> str:
    local = path.removeprefix("file://")
    if is_remote(local):
        return local.rstrip("/")
    if is_remote(base) and not local.startswith(("/", "~")):
        return f"{base.rstrip('/')}/{os.path.normpath(local)}"
    return os.path.normpath(os.path.join(os.path.abspath(base), os.path.expanduser(local)))


def _known_name(name: str, catalogs: Collection[str]) -> str | None:
    parts = name.split(".")
    catalog = parts[0] if len(parts) == 3 else SESSION_CATALOG
    if catalog not in catalogs:
        return None
    return name if len(parts) == 3 else f"{SESSION_CATALOG}.{name}"


def _quarantine_name(name: str) -> str:
    parts = name.split(".")
    if len(parts) == 2:
        return f"quarantine.{'_'.join(parts)}"
    return f"{parts[0]}.quarantine.{'_'.join(parts[1:])}"


def _folder_name(dataset: str) -> str:
    # A dataset's name may hold anything; a folder's may not hold a separator or climb out.
    return re.sub(r"[^\w.-]", "_", dataset).lstrip(".") or "_"
