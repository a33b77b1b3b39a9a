"""The Spark engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType
from sqlglot import exp

from lakelogic.core.keys import MaskKeys
from lakelogic.core.slices import Slice
from lakelogic.engine.protocol import ReadSpec, StageInput
from lakelogic.engine.registry import EngineOptions
from lakelogic.engine.spark.failures import translated
from lakelogic.engine.spark.files import join_path, list_written, read_staged
from lakelogic.engine.spark.masking import apply_masking
from lakelogic.engine.spark.reader import inspect_source, read_link
from lakelogic.engine.spark.relations import Relations, open_relations
from lakelogic.engine.spark.session import OpenSession, close_session, open_session, settings_for_call
from lakelogic.engine.spark.stage import observe, read_observations, run_stage, write_files
from lakelogic.engine.spark.types import to_columns
from lakelogic.plan.dataset_rules import one_row
from lakelogic.plan.files import Staged, StagedFile
from lakelogic.plan.model import (
    DECRYPT_FUNCTION,
    REJECTED_COLUMN,
    Column,
    LinkRead,
    Observation,
    Plan,
    SourceFacts,
    Stage,
)

# Bytes that are not UTF-8, as \xNN: the record stays whole and the file stays valid.
_READABLE = (
    "CASE WHEN record IS NULL OR is_valid_utf8(record) THEN record ELSE array_join(transform("
    "split(decode(CAST(record AS BINARY), 'ISO-8859-1'), ''), "
    r"c -> CASE WHEN ascii(c) > 127 THEN concat('\\x', hex(encode(c, 'ISO-8859-1'))) ELSE c END), '') END"
)


class SparkEngine:
    """Carries out plans on one Spark session."""

    name = "spark"

    def __init__(self, session: OpenSession, keys: MaskKeys) -> None:
        self._session = session
        self._keys = keys

    @classmethod
    def open(cls, options: EngineOptions) -> SparkEngine:
        session = open_session(
            options.settings,
            master=options.master,
            remote=options.remote,
            spark=options.session,
            conf=options.conf,
        )
        return cls(session, options.keys)

    def inspect(self, spec: ReadSpec, slice: Slice) -> SourceFacts:
        with self._call("looking at the source"):
            return inspect_source(self._session.spark, spec, slice)

    def inspect_link(self, link: LinkRead) -> tuple[Column, ...]:
        with self._call(f"looking at link `{link.name}`"):
            return to_columns(read_link(self._session.spark, link).schema)

    def refuse(self, plan: Plan) -> Sequence[str]:
        return ()

    def stage(self, stage: Stage, source: StageInput, links: Sequence[LinkRead], *, root: str, folder: str) -> Staged:
        with self._call("staging rows") as relations:
            return run_stage(relations, stage, source, links, self._keys, (root, folder))

    def write_quarantine(
        self,
        query: exp.Query,
        columns: tuple[Column, ...],
        rejected: StageInput,
        observations: Sequence[Observation],
        *,
        root: str,
        folder: str,
    ) -> tuple[tuple[StagedFile, ...], Mapping[str, int]]:
        if not rejected.staged:
            return (), {}
        with self._call("writing the quarantine") as relations:
            spark = self._session.spark
            frame, tally = observe(_with_readable_records(read_staged(spark, rejected)), observations)
            relations.add("rejected", frame)
            rows = relations.query(apply_masking(query, self._keys, relations))
            write_files(rows, join_path(root, folder))
            files = tuple(file for file in list_written(spark, root, folder) if file.rows > 0)
            return files, read_observations(observations, tally)

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

    @property
    def spark(self) -> SparkSession:
        """The session, for tables that commit through it."""
        return self._session.spark

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


def _with_readable_records(frame: DataFrame) -> DataFrame:
    """Records that hold bytes which are no text become readable; in an array the record stands first."""
    if REJECTED_COLUMN not in frame.columns:
        return frame
    if isinstance(frame.schema[REJECTED_COLUMN].dataType, ArrayType):
        mended = _READABLE.replace("record", f"{REJECTED_COLUMN}[0]")
        rest = f"slice({REJECTED_COLUMN}, 2, size({REJECTED_COLUMN}) - 1)"
        return frame.withColumn(REJECTED_COLUMN, sf.expr(f"concat(array({mended}), {rest})"))
    record = sf.expr(_READABLE.replace("record", f"{REJECTED_COLUMN}.record"))
    return frame.withColumn(REJECTED_COLUMN, sf.col(REJECTED_COLUMN).withField("record", record))
