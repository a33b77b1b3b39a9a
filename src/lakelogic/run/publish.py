"""Publishing: the commits of a staged batch, from its manifest alone; doing it twice changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from loguru import logger

from lakelogic.core.errors import RunError
from lakelogic.core.faults import fault_point
from lakelogic.plan.writes import WriteAppend, WriteCdc, WriteMerge
from lakelogic.run.manifest import Manifest
from lakelogic.run.places import Places
from lakelogic.run.staging import staging_prefix
from lakelogic.storage.files import file_exists, list_names, remove_tree, write_file
from lakelogic.table.protocol import Commit, CommitId, EvolutionPolicy, Table

ADOPTED_MARK = "_adopted"


@dataclass(frozen=True, slots=True)
class Tables:
    """The two tables that a batch is committed to."""

    target: Table
    quarantine: Table


@dataclass(frozen=True, slots=True)
class Published:
    """The versions that the commits left."""

    target: Commit
    quarantine: Commit | None


def check_tables(tables: Tables, manifest: Manifest, *, policy: EvolutionPolicy) -> Manifest:
    """Raise where a table will never take this batch: once it is staged, every later run would try it again.

    Gives the manifest with what will change in the target's schema told.
    """
    changes = tables.target.check(manifest.write, manifest.target_files, manifest.target, policy=policy)
    if manifest.quarantine_files:
        tables.quarantine.check(WriteAppend(), manifest.quarantine_files, manifest.quarantine, policy="allow")
    told = tuple(event.message for event in changes if event.severity == "warning")
    for message in told:
        logger.warning(message)
    return replace(manifest, events=(*manifest.events, *changes), warnings=(*manifest.warnings, *told))


def app_id(dataset: str) -> str:
    """Under which name the tables carry the batches of a dataset."""
    return f"lakelogic:{dataset}"


def newest_batch(tables: Tables, dataset: str) -> int:
    """The newest batch of a dataset that one of its tables carries; 0 before the first."""
    name = app_id(dataset)
    return max(tables.target.find_committed(name) or 0, tables.quarantine.find_committed(name) or 0)


def publish(tables: Tables, manifest: Manifest, *, dataset: str, batch: int, run_id: str) -> Published:
    """Quarantine first, then target: a reader never sees good rows whose rejected neighbours are not on record."""
    commit_id = CommitId(app_id(dataset), batch, run_id)
    quarantine = None
    if manifest.quarantine_files:
        quarantine = _commit_quarantine(tables, manifest, commit_id)
    fault_point("after_quarantine_commit")
    fault_point("before_target_commit")
    target = tables.target.commit(manifest.write, manifest.target_files, manifest.target, commit_id)
    _mark_adopted(tables, manifest, target)
    fault_point("after_target_commit")
    return Published(target, quarantine)


def _commit_quarantine(tables: Tables, manifest: Manifest, commit_id: CommitId) -> Commit:
    try:
        fault_point("before_quarantine_commit")
        return tables.quarantine.commit(WriteAppend(), manifest.quarantine_files, manifest.quarantine, commit_id)
    except OSError as error:
        raise RunError(
            f"the quarantine `{tables.quarantine.location.name}` could not be written: {error.strerror or error}",
            hint="the target was not published; run again when the quarantine can be written",
            code="LL444",
            retryable=True,
        ) from error


def _mark_adopted(tables: Tables, manifest: Manifest, commit: Commit) -> None:
    """A first batch makes the staged files the table's own; they must not be swept away as scratch."""
    # The rows of a history are made of staged ones, which stay scratch.
    merged = isinstance(manifest.write, WriteMerge | WriteCdc)
    if not merged or not manifest.target_files or "numTargetRowsInserted" in commit.metrics:
        return
    folder = manifest.target_files[0].path.split("/")[0]
    write_file(f"{tables.target.location.path}/{folder}/{ADOPTED_MARK}", b"")


def sweep_scratch(places: Places, last_batch: int, dataset: str) -> None:
    """Remove the sources of this dataset's earlier merges: their rows are in the table's own files."""
    root = places.target.path if places.target else None
    for name in list_names(root) if root else ():
        number = name.split("-")[1] if name.startswith("merge-") else ""
        folder = f"{root}/{name}"
        if not number.isdigit() or not name.startswith(staging_prefix("merge", int(number), dataset)):
            continue
        if int(number) <= last_batch and not file_exists(f"{folder}/{ADOPTED_MARK}"):
            remove_tree(folder)
