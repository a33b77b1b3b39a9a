"""One stage as one Spark job: read, run the segments, write files split by verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, DataFrameWriter
from pyspark.sql import functions as sf
from sqlglot import exp

from lakelogic.core.keys import MaskKeys
from lakelogic.core.slices import FileSlice
from lakelogic.engine.protocol import StageInput
from lakelogic.engine.spark.attempts import watch_attempts
from lakelogic.engine.spark.constants import find_constants, statistics_off
from lakelogic.engine.spark.files import join_path, list_written, plain_folder, read_staged
from lakelogic.engine.spark.instants import by_reference
from lakelogic.engine.spark.lines import Source
from lakelogic.engine.spark.masking import apply_masking
from lakelogic.engine.spark.optimizing import without_constraints
from lakelogic.engine.spark.reader import read_link, read_source
from lakelogic.engine.spark.relations import Relations
from lakelogic.engine.spark.render import render
from lakelogic.engine.spark.splits import even_tasks
from lakelogic.engine.spark.tally import Delivered, Tally, take_delivery, take_tally
from lakelogic.engine.spark.types import aligned, to_columns
from lakelogic.engine.spark.words import quote
from lakelogic.plan.files import Staged, StagedFile
from lakelogic.plan.model import ACCEPTED, REJECTED, VERDICT_COLUMN, LinkRead, Observation, Segment, Stage

SKIPPED = "skipped"  # in Staged.counts: headers and blank lines, which are no rows
_ROWS = "rows"


@dataclass(frozen=True, slots=True)
class _Counted:
    """Where the rows of a relation are counted: itself, or the relation it has the same rows as."""

    tally: Tally | None = None
    same_as: str | None = None


def run_stage(
    relations: Relations,
    stage: Stage,
    source: StageInput,
    links: Sequence[LinkRead],
    keys: MaskKeys,
    place: tuple[str, str],
) -> Staged:
    """Write the stage's rows below root/folder and say what was written."""
    read = _read_input(relations, source)
    relations.add(stage.input, read.frame)
    for link in links:
        relations.add(link.name, read_link(relations.spark, link))
    last, counted, observed = _run_segments(relations, stage, keys)
    last = aligned(last, stage.output)
    constants = find_constants(stage, source)
    with even_tasks(relations.spark, _input_bytes(source)), without_constraints(relations.spark):
        delivered = _write(last, join_path(*place), stage.partition_by, statistics_off(constants))
    rows, skipped = read.count(delivered)
    accepted = _list_verdict(place, ACCEPTED)
    return Staged(
        accepted=tuple(replace(file, constants=constants) for file in accepted),
        rejected=_list_verdict(place, REJECTED),
        counts={**_read_counts(stage.input, rows, counted, delivered), SKIPPED: skipped},
        observations=read_observations(stage.observations, observed, delivered),
        columns=() if accepted else to_columns(last.schema),
    )


def _read_input(relations: Relations, source: StageInput) -> Source:
    if source.spec is not None and source.slice is not None:
        return read_source(relations.spark, source.spec, source.slice)
    return Source(read_staged(relations.spark, source), rows=sum(file.rows for file in source.staged))


def _input_bytes(source: StageInput) -> int:
    if isinstance(source.slice, FileSlice):
        return sum(file.size for file in source.slice.files)
    return sum(file.size for file in source.staged)


def _run_segments(
    relations: Relations, stage: Stage, keys: MaskKeys
) -> tuple[DataFrame, dict[str, _Counted], Tally | None]:
    counted: dict[str, _Counted] = {}
    origins = {stage.input: stage.input}  # relation -> the counted relation whose rows it has, one for one
    observed: Tally | None = None
    frame = relations.spark.range(0).toDF("id")
    for segment in stage.segments:
        query = by_reference(segment.query) if segment is stage.segments[-1] else segment.query
        frame = relations.query(apply_masking(query, keys, relations))
        origin = _find_origin(segment, origins)
        if segment.counted and origin is None:
            frame, tally = take_tally(frame, {_ROWS: sf.count(sf.lit(1))})
            counted[segment.name], origin = _Counted(tally=tally), segment.name
        elif segment.counted:
            counted[segment.name] = _Counted(same_as=origin)
        if origin is not None:
            origins[segment.name] = origin
        if segment.name == stage.observed_at:
            frame, observed = observe(frame, stage.observations)
        relations.add(segment.name, frame)
    return frame, counted, observed


def _find_origin(segment: Segment, origins: Mapping[str, str]) -> str | None:
    """The counted relation with the same rows; each count saved is one break less in the generated code."""
    base = segment.query.find(exp.From)
    if segment.effect != "same" or base is None or not isinstance(base.this, exp.Table):
        return None
    return origins.get(base.this.name)


def observe(frame: DataFrame, observations: Sequence[Observation]) -> tuple[DataFrame, Tally | None]:
    """Make a frame give these numbers while its rows pass."""
    if not observations:
        return frame, None
    # Names such as "failed:amount > 0" are no column names; their position is.
    aggregates = {f"o{n}": sf.expr(render(o.aggregate)) for n, o in enumerate(observations)}
    return take_tally(frame, aggregates)


def read_observations(observations: Sequence[Observation], tally: Tally | None, delivered: Delivered) -> dict[str, int]:
    """The numbers, after the job that moved the rows."""
    if tally is None:
        return {}
    numbers = tally.read(delivered)
    return {observation.name: numbers[f"o{n}"] for n, observation in enumerate(observations)}


def _read_counts(name: str, rows: int, counted: dict[str, _Counted], delivered: Delivered) -> dict[str, int]:
    counts = {name: rows}
    for segment, where in counted.items():
        counts[segment] = where.tally.read(delivered)[_ROWS] if where.tally else counts[where.same_as or name]
    return counts


def _write(frame: DataFrame, path: str, partition_by: Sequence[str], options: Mapping[str, str]) -> Delivered:
    # A boolean is cheaper to compare for every row than the two words.
    split = frame.withColumn(VERDICT_COLUMN, sf.col(VERDICT_COLUMN) == sf.lit(REJECTED))
    # Rejected rows lie together: their partition may be why they are rejected, such as one too long for a folder.
    for name in partition_by:
        split = split.withColumn(name, sf.when(~sf.col(VERDICT_COLUMN), sf.col(quote(name))))
    with watch_attempts(frame.sparkSession) as attempts:
        _writer(split).options(**options).partitionBy(VERDICT_COLUMN, *partition_by).parquet(path)
    return take_delivery(split, repeated=attempts.repeated)


def write_files(frame: DataFrame, path: str) -> Delivered:
    """Write plain files, for tables that are not split by verdict."""
    with watch_attempts(frame.sparkSession) as attempts:
        _writer(frame).parquet(path)
    return take_delivery(frame, repeated=attempts.repeated)


def _writer(frame: DataFrame) -> DataFrameWriter:
    # No marker file: the folder belongs to a table, which would see it as a stranger.
    return frame.write.mode("error").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")


def _list_verdict(place: tuple[str, str], verdict: str) -> tuple[StagedFile, ...]:
    root, folder = place
    written = f"{VERDICT_COLUMN}={str(verdict == REJECTED).lower()}"
    plain = plain_folder(root, folder, written, verdict)
    files = list_written(root, f"{folder.strip('/')}/{plain}")
    return tuple(file for file in files if file.rows > 0)
