"""Plain Parquet with whole commits: a folder per version, and a link that names the one that readers see.

`lake/orders` is a symbolic link to `lake/.orders.versions/v00000003`. A commit makes the next folder out of hard
links (to files that stay, and to staged ones) and then replaces the link, which is one atomic step: a reader that
opens the table sees one version, whole, and one that has opened it goes on reading the former. A folder that the
link does not name is what a killed process left, and is made again. The newest batch of each dataset stands in a
file inside the version itself, so that it becomes visible with its rows and never without them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.core.events import Event
from lakelogic.plan.files import StagedFile
from lakelogic.plan.writes import Write, WriteAppend, WriteOverwrite
from lakelogic.table.delta_schema import delta_schema
from lakelogic.table.protocol import Commit, CommitId, EvolutionPolicy, TableLocation, TableShape

STATE_FILE = "_lakelogic.json"  # readers skip names that begin with an underscore
EMPTY_FILE = "empty.parquet"
# Readers that opened a former version finish with it long before so many further commits.
KEPT_VERSIONS = 3
_VERSION = re.compile(r"^v(\d{8})$")


@dataclass(frozen=True, slots=True)
class State:
    """What a version says of itself."""

    version: int = 0
    batches: dict[str, int] = field(default_factory=dict)  # newest batch of each dataset
    committed: dict[str, int] = field(default_factory=dict)  # the version that it came with
    columns: dict[str, str] = field(default_factory=dict)
    partition_by: list[str] = field(default_factory=list)


class ParquetTable:
    """A folder of Parquet files that changes as a whole; local disks only."""

    def __init__(self, location: TableLocation) -> None:
        self.location = location

    def find_committed(self, app_id: str) -> int | None:
        state = self._state()
        return state.batches.get(app_id) if state else None

    def check(
        self, write: Write, files: Sequence[StagedFile], shape: TableShape, *, policy: EvolutionPolicy
    ) -> tuple[Event, ...]:
        if not isinstance(write, WriteAppend | WriteOverwrite):
            raise CapabilityError("Parquet takes append and overwrite only", hint="use format delta", code="LL372")
        if os.path.exists(self.location.path) and not os.path.islink(self.location.path):
            raise PlanError(
                f"`{self.location.path}` is there already and was not made by LakeLogic",
                hint="write to another target_path",
                code="LL373",
            )
        state = self._state()
        if state is not None and isinstance(write, WriteAppend):
            _check_columns(state, _state_of(shape))
        return ()

    def commit(self, write: Write, files: Sequence[StagedFile], shape: TableShape, commit_id: CommitId) -> Commit:
        """Show the files' rows, together with all that are there or instead of them."""
        before = self._state()
        if before is not None and before.batches.get(commit_id.app_id, 0) >= commit_id.batch:
            return Commit(before.committed[commit_id.app_id], skipped=True)
        state = _next_state(before, shape, commit_id)
        try:
            self._make_version(state, before, files, shape, keeps=isinstance(write, WriteAppend))
            self._show(state.version)
            self._remove_former(state.version, files)
        except OSError as error:
            raise RunError(
                f"the commit to `{self.location.path}` failed: {error.strerror or error}", code="LL441", retryable=True
            ) from error
        return Commit(state.version, metrics={"numFiles": len(files), "numOutputRows": sum(f.rows for f in files)})

    def _state(self) -> State | None:
        try:
            with open(os.path.join(self.location.path, STATE_FILE), encoding="utf-8") as file:
                return State(**json.load(file))
        except FileNotFoundError:
            return None

    def _folder(self, version: int) -> str:
        return os.path.join(self.location.root, f"v{version:08d}")

    def _make_version(
        self, state: State, before: State | None, files: Sequence[StagedFile], shape: TableShape, *, keeps: bool
    ) -> None:
        folder = self._folder(state.version)
        shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed before its link
        os.makedirs(folder)
        if keeps and before is not None:
            former = self._folder(before.version)
            for name in _data_files(former):
                _link(os.path.join(former, name), os.path.join(folder, name))
        batch = state.version
        for file in files:
            parts = [f"{key}={_escaped(file.partition.get(key))}" for key in shape.partition_by]
            name = os.path.join(*parts, f"{batch:08d}-{os.path.basename(file.path)}")
            _link(os.path.join(self.location.root, file.path), os.path.join(folder, name))
        if not any(True for _ in _data_files(folder)):
            # A folder without a file has no columns, and readers would fail on it.
            schema = pa.schema(delta_schema(shape.columns).to_arrow())
            pq.write_table(schema.empty_table(), os.path.join(folder, EMPTY_FILE))
        _write_whole(os.path.join(folder, STATE_FILE), json.dumps(_as_dict(state)))

    def _show(self, version: int) -> None:
        """The one step that readers see."""
        link = os.path.join(self.location.root, "next")
        if os.path.lexists(link):
            os.unlink(link)
        parent = os.path.dirname(self.location.path)
        os.symlink(os.path.relpath(self._folder(version), parent), link)
        os.replace(link, self.location.path)

    def _remove_former(self, version: int, files: Sequence[StagedFile]) -> None:
        staged = files[0].path.split("/")[0] if files else None
        for name in os.listdir(self.location.root):
            found = _VERSION.match(name)
            old = found is not None and int(found[1]) <= version - KEPT_VERSIONS
            if old or (staged is not None and _is_earlier(name, staged)):
                shutil.rmtree(os.path.join(self.location.root, name), ignore_errors=True)


def _is_earlier(name: str, staged: str) -> bool:
    """Whether a folder was staged by an earlier batch of the same dataset; its files are linked into versions."""
    mine, other = staged.split("-"), name.split("-")
    return len(other) == len(mine) == 4 and (other[0], other[2]) == (mine[0], mine[2]) and other[1] < mine[1]


def _check_columns(there: State, wanted: State) -> None:
    if (there.columns, there.partition_by) == (wanted.columns, wanted.partition_by):
        return
    changed = sorted(set(there.columns.items()) ^ set(wanted.columns.items()))
    what = f"column `{changed[0][0]}` differs" if changed else "it is partitioned otherwise"
    raise PlanError(
        f"the batch does not fit the Parquet files that are there: {what}",
        hint="plain Parquet has no schema that could grow: use strategy overwrite, format delta, or a new target_path",
        code="LL374",
    )


def _state_of(shape: TableShape) -> State:
    fields = json.loads(delta_schema(shape.columns).to_json())["fields"]
    columns = {f["name"]: f["type"] if isinstance(f["type"], str) else json.dumps(f["type"]) for f in fields}
    return State(columns=columns, partition_by=list(shape.partition_by))


def _next_state(before: State | None, shape: TableShape, commit_id: CommitId) -> State:
    version = before.version + 1 if before else 0
    made = _state_of(shape)
    return State(
        version,
        {**(before.batches if before else {}), commit_id.app_id: commit_id.batch},
        {**(before.committed if before else {}), commit_id.app_id: version},
        made.columns,
        made.partition_by,
    )


def _as_dict(state: State) -> dict[str, Any]:
    return {name: getattr(state, name) for name in State.__slots__}


def _data_files(folder: str) -> Iterator[str]:
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".parquet") and name != EMPTY_FILE:
                yield os.path.relpath(os.path.join(where, name), folder)


def _link(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.link(source, target)


def _write_whole(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _escaped(value: str | None) -> str:
    """A partition value as Hive and Spark write it into a folder's name."""
    if value is None:
        return "__HIVE_DEFAULT_PARTITION__"
    return re.sub(r"[\x00-\x1f\"#%'*/:=?\\\x7f{\[\]^]", lambda found: f"%{ord(found[0]):02X}", value)
