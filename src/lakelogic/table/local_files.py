"""The files of a Delta table that row work reads and replaces, by what the table's log says of them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence

import pyarrow as pa
from deltalake import DeltaTable

from lakelogic.core.errors import CapabilityError
from lakelogic.plan.files import StagedFile
from lakelogic.storage.files import list_names, remove_tree
from lakelogic.table.logged_files import are_spelled_oddly, logged_file
from lakelogic.table.obstacles import adoption_obstacle
from lakelogic.table.protocol import TableShape
from lakelogic.table.pruning import Range, overlaps

FILE_BYTES = 64 * 1024 * 1024
_FED = "a change data feed"


def refuse_rewrite(table: DeltaTable, *, why: str, appends: bool = False) -> None:
    """Raise where files of a table cannot be read and replaced as they lie; or only read, where a write appends."""
    found = adoption_obstacle(table, overwrite=True) if appends else rewrite_obstacle(table)
    if found is not None:
        raise _refusal(table.table_uri, found, why)


def refuse_new(path: str, shape: TableShape, *, why: str) -> None:
    """Raise where the table that a first batch is to make could not take a second one."""
    if _is_fed(shape.properties):
        raise _refusal(path, _FED, why)


def _refusal(path: str, found: str, why: str) -> CapabilityError:
    return CapabilityError(
        f"the table `{path}` has {found}, which {why} cannot honour without Spark",
        code="LL311",
        hint="run this contract with engine spark",
    )


def _is_fed(properties: Mapping[str, str]) -> bool:
    # Rows that are only copied would be told as deleted and inserted.
    return properties.get("delta.enableChangeDataFeed", "false").lower() == "true"


def rewrite_obstacle(table: DeltaTable) -> str | None:
    """Why files of this table cannot be read and replaced as they lie, in words; None when they can."""
    if obstacle := adoption_obstacle(table, overwrite=True):
        return obstacle
    if _is_fed(table.metadata().configuration):
        return _FED
    odd = are_spelled_oddly(pa.table(table.get_add_actions()))
    return "a file whose path is spelled in the log as only Spark does" if odd else None


def find_files(table: DeltaTable, ranges: Mapping[str, Sequence[Range]]) -> tuple[StagedFile, ...]:
    """The table's files that may hold a row with all these columns in their ranges; paths are those on the disk."""
    actions = pa.table(table.get_add_actions(flatten=True))
    partitions = table.metadata().partition_columns
    chosen = actions.filter(pa.array(overlaps(actions, ranges), pa.bool_()))
    return tuple(logged_file(row, partitions) for row in chosen.to_pylist())


def group_files(files: Sequence[StagedFile], most: int = FILE_BYTES) -> list[tuple[StagedFile, ...]]:
    """Files in groups that are rewritten together: small ones become one, and no group grows much beyond a file."""
    groups: list[list[StagedFile]] = []
    size = 0
    for file in files:
        if not groups or size + file.size > most:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.size
    return [tuple(group) for group in groups]


def new_folder(root: str, staged: Sequence[StagedFile]) -> str:
    """A folder for files that the table will show; what an attempt left that ended before its commit is removed.

    It bears the name of the batch whose staged files these are.
    """
    if not staged:
        return f"batch-{uuid.uuid4().hex}"
    prefix = f"batch-{staged[0].path.split('/')[0].removeprefix('merge-')}-"
    for name in list_names(root):
        if name.startswith(prefix):
            remove_tree(os.path.join(root, name))
    return prefix + uuid.uuid4().hex[:8]


def scratch_folder(staged: Sequence[StagedFile], name: str) -> str:
    """A new folder beside staged files, which is removed with them."""
    return f"{staged[0].path.split('/')[0]}/{name}-{uuid.uuid4().hex[:8]}"
