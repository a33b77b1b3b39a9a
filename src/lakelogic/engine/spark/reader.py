"""A slice as the relation `source`: every format, its columns, its hidden columns and its row count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lakelogic.core.errors import PlanError, RunError
from lakelogic.core.jvm import jvm_errors
from lakelogic.core.slices import DatabaseSlice, FileSlice, FrameSlice, Slice, TableSlice, TopicSlice
from lakelogic.engine.file_columns import read_columns
from lakelogic.engine.local.orc_files import open_orc
from lakelogic.engine.options import parse_csv_options, parse_encoding, parse_options
from lakelogic.engine.protocol import ReadSpec
from lakelogic.engine.spark.lines import Source, read_text, union
from lakelogic.engine.spark.paths import list_files, local_path
from lakelogic.engine.spark.read_csv import all_names, group_files, read_csv
from lakelogic.engine.spark.read_database import inspect_database, read_database
from lakelogic.engine.spark.read_json import read_json, read_jsonl, sample_keys
from lakelogic.engine.spark.read_table import open_delta, open_files, read_delta, read_files, read_frame
from lakelogic.engine.spark.read_topic import read_topic, sample_topic_keys
from lakelogic.engine.spark.read_xml import read_xml, xml_names
from lakelogic.engine.spark.render import render
from lakelogic.engine.spark.types import text_columns, to_columns
from lakelogic.engine.spark.words import literal, quote
from lakelogic.plan.model import (
    HIDDEN_PREFIX,
    MALFORMED_COLUMN,
    RECORD_COLUMN,
    SOURCE_COLUMN,
    LinkRead,
    SourceFacts,
)

TEXT_FORMATS = ("csv", "json", "jsonl", "text", "xml")
_LINES = ("csv", "json", "jsonl", "text")  # formats whose records are texts of their own
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "text",
    ".parquet": "parquet",
    ".orc": "orc",
    ".avro": "avro",
    ".xml": "xml",
}
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate"}


def inspect_source(spark: SparkSession, spec: ReadSpec, slice_: Slice) -> SourceFacts:
    """Names and types; no row moves."""
    if spec.database is not None:
        return SourceFacts(inspect_database(spark, spec.database), text=False)
    if spec.format in TEXT_FORMATS:
        names = _text_names(spark, spec, _filled(slice_))
        return SourceFacts(text_columns(_visible(names, spec)), text=True, records=_keeps_records(spec))
    if isinstance(slice_, TopicSlice):
        names = _topic_names(spark, spec, slice_)
        return SourceFacts(text_columns(_visible(names, spec)), text=True, records=spec.raw)
    with _files_named(spec, slice_):
        frame = _open_typed(spark, spec, slice_)
        columns = to_columns(frame.schema)
    wanted = set(_visible(frame.columns, spec))
    return SourceFacts(tuple(column for column in columns if column.name in wanted), text=False)


@contextmanager
def _files_named(spec: ReadSpec, slice_: Slice) -> Iterator[None]:
    """Say which file it is that Spark cannot read; its own error is a class of Java."""
    try:
        yield
    except jvm_errors(PySparkException):
        paths = [file.path for file in slice_.files] if isinstance(slice_, FileSlice) else []
        if all(local_path(path) is not None for path in paths):
            if spec.format == "parquet":
                read_columns(paths, widen=False)
            elif spec.format == "orc":
                open_orc(paths)
        raise


def read_source(spark: SparkSession, spec: ReadSpec, slice_: Slice) -> Source:
    """The relation `source` of a slice; an empty file adds no row."""
    if spec.database is not None and isinstance(slice_, DatabaseSlice):
        known = [column.name for column in inspect_database(spark, spec.database)]
        return read_database(spark, slice_, spec.database, _wanted(known, spec))
    if spec.format in TEXT_FORMATS:
        return _read_text_format(spark, spec, _filled(slice_))
    match slice_:
        case TopicSlice():
            names = _wanted_text(_topic_names(spark, spec, slice_) if spec.columns is None else (), spec)
            return read_topic(spark, slice_, spec, names) or _nothing(spark, names)
        case DatabaseSlice():
            raise AssertionError("read above")
        case TableSlice():
            parse_options("delta", spec.options)
            return read_delta(spark, slice_, _wanted(open_delta(spark, slice_).columns, spec))
        case FrameSlice(frame):
            return read_frame(frame, _wanted(frame.columns, spec))
        case FileSlice():
            frame = _open_typed(spark, spec, slice_)
            return read_files(frame, spec.format, _paths(slice_), _wanted(frame.columns, spec))


def read_link(spark: SparkSession, link: LinkRead) -> DataFrame:
    """A further relation, whole; a malformed record is an error, because no quarantine would show it."""
    frame = _open_link(spark, link)
    names = link.columns or tuple(name for name in frame.columns if not name.startswith(HIDDEN_PREFIX))
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise PlanError(f"link `{link.name}` has no column `{missing[0]}`", hint=f"it has: {', '.join(frame.columns)}")
    if link.filter is not None:
        frame = frame.where(render(link.filter))
    chosen = frame.select(*(quote(name) for name in names))
    return sf.broadcast(chosen) if link.broadcast else chosen


def _read_text_format(spark: SparkSession, spec: ReadSpec, paths: tuple[str, ...]) -> Source:
    names = _wanted_text(_text_names(spark, spec, paths), spec)
    if not paths:
        return _nothing(spark, names)
    match spec.format:
        case "csv":
            options = parse_csv_options(spec.options)
            groups = group_files(spark, paths, options, spec.declared)
            return read_csv(spark, groups, options, names, records=spec.raw) if groups else _nothing(spark, names)
        case "jsonl":
            encoding = parse_encoding(parse_options("jsonl", spec.options))
            return read_jsonl(spark, paths, encoding, names, records=spec.raw)
        case "json":
            encoding = parse_encoding(parse_options("json", spec.options))
            return union(read_json(spark, paths, encoding, names, records=spec.raw))
        case "text":
            return read_text(spark, paths, parse_encoding(parse_options("text", spec.options)), records=spec.raw)
        case _:
            return read_xml(spark, paths, parse_options("xml", spec.options), names)


def _text_names(spark: SparkSession, spec: ReadSpec, paths: tuple[str, ...]) -> tuple[str, ...]:
    match spec.format:
        case "csv":
            return all_names(group_files(spark, paths, parse_csv_options(spec.options), spec.declared)) or spec.declared
        case "jsonl" | "json":
            parse_options(spec.format, spec.options)
            return tuple(dict.fromkeys((*spec.declared, *sample_keys(spark, paths))))
        case "text":
            return ("value",)
        case _:
            given = parse_options("xml", spec.options)
            return tuple(dict.fromkeys((*spec.declared, *xml_names(spark, paths, given))))


def _keeps_records(spec: ReadSpec) -> bool:
    """Whether every record comes as it was read; one that spans lines is told by its values only."""
    spans = spec.format == "csv" and parse_csv_options(spec.options).multi_line
    return spec.raw and spec.format in _LINES and not spans


def _topic_names(spark: SparkSession, spec: ReadSpec, slice_: TopicSlice) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*spec.declared, *sample_topic_keys(spark, slice_, spec))))


def _nothing(spark: SparkSession, names: Sequence[str]) -> Source:
    hidden = (RECORD_COLUMN, MALFORMED_COLUMN, SOURCE_COLUMN)
    columns = ", ".join(f"CAST(NULL AS STRING) AS {quote(name)}" for name in (*names, *hidden))
    return Source(spark.sql(f"SELECT {columns} WHERE false"), rows=0)


def _open_typed(spark: SparkSession, spec: ReadSpec, slice_: Slice) -> DataFrame:
    given = parse_options(spec.format, spec.options)
    match slice_:
        case TableSlice():
            return open_delta(spark, slice_)
        case TopicSlice() | DatabaseSlice():
            raise AssertionError("read in another way")
        case FrameSlice(frame):
            if not isinstance(frame, type(spark.range(0))):
                raise RunError(f"the Spark engine cannot read a `{type(frame).__module__}` frame")
            return frame
        case FileSlice():
            return open_files(spark, spec.format, _paths(slice_), given)


def _open_link(spark: SparkSession, link: LinkRead) -> DataFrame:
    format_ = link.format or _guess_format(spark, link.path)
    if format_ == "table":
        # Dropping a view also uncaches what has the same plan; with a filter of its own our view has another one.
        return spark.table(link.path).where(sf.lit(True))
    if format_ == "delta":
        reader = spark.read.format("delta")
        return (reader if link.version is None else reader.option("versionAsOf", link.version)).load(link.path)
    paths = tuple(list_files(spark, link.path))
    if not paths:
        raise RunError(f"link `{link.name}`: there is no file at `{link.path}`")
    if format_ not in TEXT_FORMATS:
        return open_files(spark, format_, paths, parse_options(format_, link.options))
    source = _read_text_format(spark, ReadSpec(format_, link.options, declared=link.columns), paths).frame
    message = literal(f"link `{link.name}` has a malformed record")
    sound = f"CASE WHEN {MALFORMED_COLUMN} IS NULL THEN true ELSE raise_error({message}) END"
    return source.where(sound).drop(RECORD_COLUMN, MALFORMED_COLUMN, SOURCE_COLUMN)


def _guess_format(spark: SparkSession, path: str) -> str:
    local = local_path(path)
    if local is None and "/" not in path:
        return "table"
    if local is None or (local / "_delta_log").is_dir():
        return _suffix_format(path) or "delta"
    files = [path] if local.is_file() else list_files(spark, path)
    return (_suffix_format(files[0]) if files else None) or "delta"


def _suffix_format(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in PurePosixPath(path).suffixes if suffix.lower() not in _COMPRESSED]
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def _paths(slice_: FileSlice) -> tuple[str, ...]:
    return tuple(file.path for file in slice_.files)


def _filled(slice_: Slice) -> tuple[str, ...]:
    if not isinstance(slice_, FileSlice):
        raise PlanError("a text format is read from files", hint="give source.path a file or a folder")
    return tuple(file.path for file in slice_.files if file.size > 0)


def _visible(names: Sequence[str], spec: ReadSpec) -> list[str]:
    asked = spec.columns or ()
    return [name for name in names if not name.startswith(HIDDEN_PREFIX) or name in asked]


def _wanted(names: Sequence[str], spec: ReadSpec) -> list[str]:
    return [name for name in _visible(names, spec) if spec.columns is None or name in spec.columns]


def _wanted_text(names: Sequence[str], spec: ReadSpec) -> list[str]:
    """A text source gives NULL for a column that it has not; `required` speaks about that."""
    return _visible(names, spec) if spec.columns is None else list(spec.columns)
