"""Data files that exist but that no table shows yet: what a stage leaves, and what a commit adopts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakelogic.plan.model import Column


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A data file that no table shows yet; `path` is relative to the folder of its table."""

    path: str
    size: int
    rows: int
    partition: Mapping[str, str | None] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)  # columns with one value, which its footer is silent on


@dataclass(frozen=True, slots=True)
class Staged:
    """What a stage left behind: files, and numbers taken from the same pass."""

    accepted: tuple[StagedFile, ...]
    rejected: tuple[StagedFile, ...]
    counts: Mapping[str, int]  # rows of each counted relation: "source" and counted segment names
    observations: Mapping[str, int]
    columns: tuple[Column, ...] = ()  # where no row was accepted: the columns in the types that rows would have had

    @property
    def accepted_rows(self) -> int:
        return sum(file.rows for file in self.accepted)

    @property
    def rejected_rows(self) -> int:
        return sum(file.rows for file in self.rejected)


@dataclass(frozen=True, slots=True)
class RowInput:
    """Rows of files that a query knows by a name, with exactly these columns in exactly these types.

    A column that a file lacks is NULL. One that stands in the file's `partition` has that value in every row of it,
    whatever else the partition says.
    """

    root: str  # the folder that the files' paths are relative to
    files: tuple[StagedFile, ...]
    columns: tuple[Column, ...]
