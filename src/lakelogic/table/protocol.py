"""The laws of a table.

A table takes staged files and shows them to readers, all of them or none, in ONE commit.

* A commit carries (app id, batch number) as an application transaction. A second commit of the same or an
  older batch changes nothing, returns the version that the first one made, and says `skipped`.
* A commit checks before it writes: a column of another type or a NULL in a NOT NULL column is an error, and
  the table is as it was. What needs a look at all rows, such as repeated merge keys, `check` finds, once:
  the caller calls it before the batch is marked as staged.
* Files of append and overwrite are adopted as they lie, below the table's folder; where the table has a
  feature that adoption cannot honour, the implementation rewrites them by its engine's writer, under the
  same laws, or refuses.
* A table that is missing is created by the first commit, with the declared types, NOT NULL, comments,
  partitioning and properties.
* Batch numbers of one app id only grow; the caller holds the dataset's lock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from lakelogic.core.events import Event
from lakelogic.plan.files import StagedFile
from lakelogic.plan.model import Column
from lakelogic.plan.writes import Write

EvolutionPolicy = Literal["allow", "compatible", "strict"]


@dataclass(frozen=True, slots=True)
class TableLocation:
    """Where a table lies: its folder, and its name in a catalog that the session has."""

    name: str  # as the contract says it, for people
    path: str
    catalog_name: str | None = None
    staging: str | None = None  # where batches are staged, if not below the table's own folder

    @property
    def root(self) -> str:
        """The folder that staged files lie below."""
        return self.staging or self.path


@dataclass(frozen=True, slots=True)
class TableShape:
    """What a table looks like when a batch has to create it."""

    columns: tuple[Column, ...]
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    description: str | None = None


@dataclass(frozen=True, slots=True)
class CommitId:
    """Which batch a commit belongs to; app id and batch are what makes it exactly once."""

    app_id: str
    batch: int
    run_id: str

    def as_metadata(self) -> str:
        """The text that the commit's `userMetadata` holds, for people and to find the commit again."""
        return json.dumps({"app_id": self.app_id, "batch": self.batch, "run_id": self.run_id})


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit left: the table's version, and numbers of the writer."""

    version: int
    skipped: bool = False  # the table carried this batch already
    metrics: Mapping[str, int] = field(default_factory=dict)


class Table(Protocol):
    location: TableLocation

    def find_committed(self, app_id: str) -> int | None:
        """The newest batch number that the table carries for an app id."""

    def check(
        self, write: Write, files: Sequence[StagedFile], shape: TableShape, *, policy: EvolutionPolicy
    ) -> tuple[Event, ...]:
        """Raise where the table will never take these files, or must not change for them; say how it will change."""

    def commit(self, write: Write, files: Sequence[StagedFile], shape: TableShape, commit_id: CommitId) -> Commit:
        """Show the files' rows to readers, in the way that `write` says."""
