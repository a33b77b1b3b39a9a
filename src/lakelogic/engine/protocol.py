"""The laws of an engine.

An engine reads a slice, runs the segments of a stage over named relations, and writes files split by verdict.
It never commits to a table, never decides what a bad row is, and never brings data rows to the driver.

* ``inspect`` looks at names and types only. It may be called at any time and moves no rows.
* ``stage`` runs once per attempt and writes only below the folder it is given; a second attempt gets another folder.
* ``stage`` reads each source once, however many checks there are.
* All relations, settings and caches that a call makes are gone when it returns.
* Queries arrive as sqlglot trees with Spark semantics and with placeholders already bound; the engine renders them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from sqlglot import exp

from lakelogic.core.database_url import DatabaseUrl
from lakelogic.core.slices import Slice
from lakelogic.plan.database_sql import DatabaseRelation, Within
from lakelogic.plan.files import Staged, StagedFile
from lakelogic.plan.model import Column, LinkRead, Plan, SourceFacts, Stage


@dataclass(frozen=True, slots=True)
class Split:
    """Parts of a relation that are read side by side: every row fulfils exactly one of the conditions."""

    field: str
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatabaseRead:
    """All that an engine needs to read a relation of a database."""

    relation: DatabaseRelation
    url: DatabaseUrl
    open_stream: Callable[..., Any] = field(repr=False)  # (sql, columns, fetch_size) -> Arrow, for engines without JDBC
    fetch_size: int = 10_000
    within: Within | None = None  # the window of the run, where the database can judge it
    parts: tuple[str, int] | None = None  # the column to split by, and into how many
    split: Split | None = None  # known only while the rows are read
    snapshot: str | None = None  # a state that all connections read


@dataclass(frozen=True, slots=True)
class ReadSpec:
    """How to read a slice: what the contract's `source` says, resolved."""

    format: str  # csv | json | jsonl | parquet | delta | avro | orc | xml | text | kafka | database | frame
    options: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None  # only these leave the source; None: all
    declared: tuple[str, ...] = ()  # model order, for headerless text
    database: DatabaseRead | None = None
    raw: bool = False  # RECORD_COLUMN is to hold every record that is a line of text or a message


@dataclass(frozen=True, slots=True)
class StageInput:
    """What the first relation of a stage is read from: a slice of the source, or staged files."""

    spec: ReadSpec | None = None
    slice: Slice | None = None
    staged_root: str | None = None  # folder that `staged` paths are relative to
    staged: tuple[StagedFile, ...] = ()
    columns: tuple[Column, ...] = ()  # schema of the staged files


@runtime_checkable
class SamplesRows(Protocol):
    """An engine that shows some rows of a source, for guessing what a contract could say about it."""

    def sample(self, spec: ReadSpec, slice: Slice, rows: int) -> Any:
        """At most so many rows, as an Arrow table, with the hidden columns of the source."""


@dataclass(frozen=True, slots=True)
class KeptLink:
    """A link whose rows were read already: how to read them again, and how to let go of them."""

    link: LinkRead
    release: Callable[[], None] = field(repr=False)


@runtime_checkable
class KeepsLinks(Protocol):
    """An engine that can read a link once for several contracts, also for those in other threads.

    The rows stay the same until `release`, whatever happens to the files that they were read from.
    """

    def keep_link(self, link: LinkRead, folder: str) -> KeptLink:
        """Read a link now; a folder for scratch files of this process is given."""


class Engine(Protocol):
    name: str

    def reach(self, paths: Sequence[str]) -> None:
        """Be able to read and write at these paths; called before any of them is used, as often as wanted."""

    def inspect(self, spec: ReadSpec, slice: Slice) -> SourceFacts: ...

    def inspect_link(self, link: LinkRead) -> tuple[Column, ...]: ...

    def refuse(self, plan: Plan) -> Sequence[str]:
        """What of this plan the engine cannot do; empty when it can do all."""

    def stage(self, stage: Stage, source: StageInput, links: Sequence[LinkRead], *, root: str, folder: str) -> Staged:
        """Run one stage; write accepted and rejected files under root/folder."""

    def write_quarantine(
        self,
        stage: Stage,
        rejected: StageInput,
        *,
        root: str,
        folder: str,
    ) -> tuple[tuple[StagedFile, ...], Mapping[str, int]]:
        """Turn the rejected files of a stage into files of the quarantine table; say how often each check failed."""

    def evaluate(self, values: Mapping[str, exp.Expr], accepted: StageInput) -> Mapping[str, float | None]:
        """Dataset checks: one row of numbers over relation `accepted`, in one query."""

    def frame(self, files: StageInput, *, decrypt: Sequence[str] = ()) -> Any:
        """The staged rows as the engine's own frame, for RunResult.good and .bad; `decrypt` these columns."""

    def make_interruptible(self) -> None:
        """Have `interrupt` reach what the calling thread does from here on."""

    def interrupt(self) -> None:
        """Break off what is under way, from another thread; it then raises. Does nothing where nothing is."""

    def close(self) -> None: ...
