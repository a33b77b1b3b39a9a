"""The Spark engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from lakelogic.core.keys import MaskKeys
from lakelogic.core.slices import Slice
from lakelogic.engine.protocol import KeptLink, ReadSpec, StageInput
from lakelogic.engine.registry import EngineOptions
from lakelogic.engine.spark.conf import find_jars
from lakelogic.engine.spark.failures import translated
from lakelogic.engine.spark.files import read_staged
from lakelogic.engine.spark.kept_links import keep_link
from lakelogic.engine.spark.masking import apply_masking
from lakelogic.engine.spark.quarantine import write_rejected
from lakelogic.engine.spark.reader import inspect_source, read_link, read_source
from lakelogic.engine.spark.relations import Relations, open_relations
from lakelogic.engine.spark.session import (
    OpenSession,
    close_session,
    fork_session,
    interrupt_session,
    new_tag,
    open_session,
    settings_for_call,
    tag_thread,
)
from lakelogic.engine.spark.stage import run_stage
from lakelogic.engine.spark.stores import let_in, require_jars
from lakelogic.engine.spark.types import to_columns
from lakelogic.plan.dataset_rules import one_row
from lakelogic.plan.files import Staged, StagedFile
from lakelogic.plan.model import (
    DECRYPT_FUNCTION,
    Column,
    LinkRead,
    Plan,
    SourceFacts,
    Stage,
)


class SparkEngine:
    """Carries out plans on one Spark session."""

    name = "spark"

    def __init__(self, session: OpenSession, keys: MaskKeys, jars: Sequence[Path] = ()) -> None:
        self._session = session
        self._keys = keys
        self._jars = jars
        self._tag = new_tag()

    @classmethod
    def open(cls, options: EngineOptions) -> SparkEngine:
        session = open_session(
            options.settings,
            master=options.master,
            remote=options.remote,
            spark=options.session,
            conf=options.conf,
        )
        return cls(session, options.keys, find_jars(options.settings) if session.local else ())

    def reach(self, paths: Sequence[str]) -> None:
        if self._session.local:
            require_jars(paths, self._jars)
        let_in(self._session.spark, paths, ours=self._session.local)

    def inspect(self, spec: ReadSpec, slice: Slice) -> SourceFacts:
        with self._call("looking at the source"):
            return inspect_source(self._session.spark, spec, slice)

    def sample(self, spec: ReadSpec, slice: Slice, rows: int) -> pa.Table:
        with self._call("looking at some rows"):
            return read_source(self._session.spark, spec, slice).frame.limit(rows).toArrow()

    def inspect_link(self, link: LinkRead) -> tuple[Column, ...]:
        with self._call(f"looking at link `{link.name}`"):
            return to_columns(read_link(self._session.spark, link).schema)

    def keep_link(self, link: LinkRead, folder: str) -> KeptLink:
        with self._call(f"reading link `{link.name}`"):
            return keep_link(self._session.spark, link)

    def refuse(self, plan: Plan) -> Sequence[str]:
        return ()

    def stage(self, stage: Stage, source: StageInput, links: Sequence[LinkRead], *, root: str, folder: str) -> Staged:
        with self._call("staging rows") as relations:
            return run_stage(relations, stage, source, links, self._keys, (root, folder))

    def write_quarantine(
        self,
        stage: Stage,
        rejected: StageInput,
        *,
        root: str,
        folder: str,
    ) -> tuple[tuple[StagedFile, ...], Mapping[str, int]]:
        if not rejected.staged or stage.unfold is None or stage.quarantine is None:
            return (), {}
        with self._call("writing the quarantine") as relations:
            return write_rejected(relations, stage, rejected, self._keys, (root, folder))

    def evaluate(self, values: Mapping[str, exp.Expr], accepted: StageInput) -> Mapping[str, float | None]:
        if not values:
            return {}
        with self._call("evaluating dataset checks") as relations:
            relations.add("accepted", read_staged(self._session.spark, accepted))
            found = relations.query(one_row(list(values.values()))).collect()[0]
            return {name: None if value is None else float(value) for name, value in zip(values, found, strict=True)}

    def frame(self, files: StageInput, *, decrypt: Sequence[str] = ()) -> DataFrame:
        with self._call("reading staged rows") as relations:
            staged = read_staged(self._session.spark, files)
            relations.add("staged", staged)
            query = exp.select(*[_shown(column, decrypt) for column in files.columns]).from_("staged")
            return relations.query(apply_masking(query, self._keys, relations)) if decrypt else staged

    def fork(self, pool: str, conf: Mapping[str, str]) -> SparkEngine:
        """An engine for the calling thread: another session of the same application, which it leaves running."""
        with translated("opening a session"):
            return SparkEngine(
                OpenSession(fork_session(self._session.spark, pool, conf), own=self._session.local),
                self._keys,
                self._jars,
            )

    @property
    def spark(self) -> SparkSession:
        """The session, for tables that commit through it."""
        return self._session.spark

    def make_interruptible(self) -> None:
        tag_thread(self._session.spark, self._tag)

    def interrupt(self) -> None:
        interrupt_session(self._session.spark, self._tag)

    def close(self) -> None:
        close_session(self._session)

    @contextmanager
    def _call(self, doing: str) -> Iterator[Relations]:
        """What every call does: translate errors, hold our settings, leave no view behind."""
        spark = self._session.spark
        with translated(doing), settings_for_call(spark), open_relations(spark) as relations:
            yield relations


def _shown(column: Column, decrypt: Sequence[str]) -> exp.Expr:
    value: exp.Expr = exp.column(column.name, quoted=True)
    if column.name in decrypt:
        value = exp.Anonymous(this=DECRYPT_FUNCTION, expressions=[value])
    return exp.alias_(value, column.name, quoted=True)
