"""A slice as the relation `source`: every format, its columns, its hidden columns and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.core.slices import RUN_ID_COLUMN, DatabaseSlice, FileSlice, FrameSlice, Slice, TableSlice, TopicSlice
from lakelogic.engine.duckdb.read_database import read_database
from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.types import literal, quote, readable, refuse_equal_names, text_columns, to_columns
from lakelogic.engine.file_columns import ParquetColumns, has_nulls, read_columns
from lakelogic.engine.local.frames import arrow_of
from lakelogic.engine.local.lines import local_path
from lakelogic.engine.local.options import parse_options
from lakelogic.engine.local.orc_files import open_orc
from lakelogic.engine.local.places import filled_files, guess_format, list_files, visible_names
from lakelogic.engine.local.read_database import inspect_database
from lakelogic.engine.local.read_delta import dataset_of, masking_of, open_delta, read_delta
from lakelogic.engine.local.text_source import TEXT_FORMATS, TextSource, keeps_records, text_names
from lakelogic.engine.protocol import ReadSpec
from lakelogic.plan.model import HIDDEN_PREFIX, MALFORMED_COLUMN, SOURCE_COLUMN, LinkRead, SourceFacts
from lakelogic.storage.address import is_remote

_NULL_TYPE = '"NULL"'
_FEW_FILES = 100  # each is a SELECT of its own, which DuckDB binds anew wherever a view of them is used


@dataclass(frozen=True, slots=True)
class Read:
    """SQL that gives the rows, and the text stream behind it that knows what it skipped."""

    sql: str
    text: TextSource | None = None
    again: bool = False  # whether the rows can be read a second time, and their number is known without reading them


def inspect_source(relations: Relations, spec: ReadSpec, slice_: Slice) -> SourceFacts:
    """Names and types; no row moves."""
    if spec.database is not None:
        return SourceFacts(inspect_database(spec.database), text=False)
    parse_options(spec.format, spec.options)
    if spec.format in TEXT_FORMATS:
        names = visible_names(text_names(spec, filled_files(slice_)), spec)
        return SourceFacts(text_columns(names), text=True, records=keeps_records(spec))
    found = relations.describe(_typed(relations, spec, slice_))
    wanted = set(visible_names([name for name, _ in found], spec))
    columns = to_columns([pair for pair in found if pair[0] in wanted])
    masked = masking_of(slice_) if isinstance(slice_, TableSlice) else {}
    return SourceFacts(tuple(replace(c, masking=masked.get(c.name)) for c in columns), text=False)


def read_source(relations: Relations, spec: ReadSpec, slice_: Slice) -> Read:
    """The rows of a slice with their hidden columns."""
    if spec.database is not None and isinstance(slice_, DatabaseSlice):
        known = visible_names([column.name for column in inspect_database(spec.database)], spec)
        wanted = [name for name in known if spec.columns is None or name in spec.columns]
        return Read(read_database(relations, slice_, spec.database, wanted))
    parse_options(spec.format, spec.options)
    if spec.format in TEXT_FORMATS:
        paths = filled_files(slice_)
        found = text_names(spec, paths)
        # A text source gives NULL for a column that it has not; `required` speaks about that.
        names = visible_names(found, spec) if spec.columns is None else list(spec.columns)
        return _read_text(relations, TextSource(spec, paths, tuple(names)))
    rows = _typed(relations, spec, slice_)
    names = visible_names([name for name, _ in relations.describe(rows)], spec)
    kept = [name for name in names if name != SOURCE_COLUMN and (spec.columns is None or name in spec.columns)]
    again = spec.format == "parquet" and isinstance(slice_, FileSlice) and len(slice_.files) <= _FEW_FILES
    return Read(f"SELECT {', '.join(map(quote, [*kept, SOURCE_COLUMN]))} FROM ({rows})", again=again)


def sample_source(relations: Relations, spec: ReadSpec, slice_: Slice, rows: int) -> pa.Table:
    """Some rows as they are read; texts do not go through DuckDB, for which `Id` and `id` are one name."""
    if spec.format not in TEXT_FORMATS:
        source = read_source(relations, spec, slice_).sql
        return relations.session.query(f"SELECT * FROM ({source}) LIMIT {rows}").to_arrow_table()
    paths = filled_files(slice_)
    stream = TextSource(spec, paths, tuple(visible_names(text_names(spec, paths), spec))).open()
    batches, found = [], 0
    for batch in stream:
        batches.append(batch)
        found += batch.num_rows
        if found >= rows:
            break
    return pa.Table.from_batches(batches, stream.schema).slice(0, rows)


def read_link(relations: Relations, link: LinkRead) -> str:
    """SQL of a further relation; a malformed record in it is an error, as no quarantine would show it."""
    rows = _open_link(relations, link)
    found = [name for name, _ in relations.describe(rows) if not name.startswith(HIDDEN_PREFIX)]
    names = link.columns or tuple(found)
    missing = [name for name in names if name not in found]
    if missing:
        raise PlanError(f"link `{link.name}` has no column `{missing[0]}`", hint=f"it has: {', '.join(found)}")
    where = f" WHERE {relations.sql(link.filter)}" if link.filter is not None else ""
    return f"SELECT {', '.join(map(quote, names))} FROM ({rows}) AS {quote(link.name)}{where}"


def link_columns(relations: Relations, link: LinkRead) -> list[tuple[str, str]]:
    """Names and types of a link; of a text file only its head is looked at."""
    format_ = link.format or guess_format(link.path)
    if format_ not in TEXT_FORMATS:
        return relations.describe(read_link(relations, link))
    spec = ReadSpec(format_, link.options, declared=link.columns)
    names = link.columns or text_names(spec, list_files(link.path))
    return [(name, "VARCHAR") for name in names]


def _read_text(relations: Relations, text: TextSource) -> Read:
    return Read(relations.add_stream(text), text, again=True)


def _typed(relations: Relations, spec: ReadSpec, slice_: Slice) -> str:
    match slice_:
        case DatabaseSlice():
            raise AssertionError("read in another way")
        case TopicSlice():
            raise CapabilityError("the DuckDB engine cannot read Kafka yet", hint="use engine: spark")
        case TableSlice():
            rows = relations.register(read_delta(slice_))
            runs = ", ".join(literal(run) for run in slice_.run_ids)
            wanted = f" WHERE {RUN_ID_COLUMN} IN ({runs})" if runs else ""
            return _stamped(relations, f"SELECT * FROM {rows}{wanted}", slice_.path)
        case FrameSlice(frame):
            found = arrow_of(frame)
            refuse_equal_names([found.schema.names])
            return _stamped(relations, f"SELECT * FROM {relations.register(found)}", "dataframe")
        case FileSlice():
            return _typed_files(relations, spec.format, [file.path for file in slice_.files])


def _typed_files(relations: Relations, format_: str, paths: Sequence[str]) -> str:
    if not paths:
        raise RunError("there is no file to read")
    if format_ == "parquet":
        files = read_columns(paths)
        refuse_equal_names([file.names for file in files])
        read = (
            _with_typed_nulls(relations, [_parquet(file) for file in files])
            if has_nulls(files)
            else map(_parquet, files)
        )
        parts = [_stamped(relations, rows, file.path) for rows, file in zip(read, files, strict=True)]
    elif format_ == "orc":
        found = open_orc(paths)
        refuse_equal_names([each.schema.names for each in found])
        rows = [f"SELECT * FROM {relations.register(each)}" for each in found]
        parts = [_stamped(relations, sql, path) for sql, path in zip(rows, paths, strict=True)]
    else:
        raise CapabilityError(f"the DuckDB engine cannot read format `{format_}` from files", hint="use engine: spark")
    return " UNION ALL BY NAME ".join(parts)


def _parquet(file: ParquetColumns) -> str:
    place = file.path if is_remote(file.path) else str(local_path(file.path))
    moments = ", ".join(f"CAST({quote(name)} AS TIMESTAMPTZ) AS {quote(name)}" for name in sorted(file.instants))
    chosen = f"* REPLACE ({moments})" if moments else "*"
    return f"SELECT {chosen} FROM read_parquet({literal(place)}, hive_partitioning = false)"


def _with_typed_nulls(relations: Relations, files: Sequence[str]) -> list[str]:
    """Columns of NULLs in the type that they have in another file, or else in the one that Spark reads them as."""
    found = [dict(relations.describe(rows)) for rows in files]
    known = {name: type_ for types in found for name, type_ in types.items() if _NULL_TYPE not in type_}
    read = []
    for rows, types in zip(files, found, strict=True):
        casts = [
            f"CAST({quote(name)} AS {known.get(name, type_.replace(_NULL_TYPE, 'INTEGER'))}) AS {quote(name)}"
            for name, type_ in types.items()
            if _NULL_TYPE in type_
        ]
        read.append(f"SELECT * REPLACE ({', '.join(casts)}) FROM ({rows})" if casts else rows)
    return read


def _stamped(relations: Relations, rows: str, source: str) -> str:
    found = [pair for pair in relations.describe(rows) if pair[0] != SOURCE_COLUMN]
    columns = ", ".join(readable(name, duck_type) for name, duck_type in found)
    return f"SELECT {columns}, {literal(source)} AS {SOURCE_COLUMN} FROM ({rows})"


def _open_link(relations: Relations, link: LinkRead) -> str:
    format_ = link.format or guess_format(link.path)
    if format_ == "delta":
        parse_options("delta", link.options)
        return f"SELECT * FROM {relations.register(dataset_of(open_delta(link.path, link.version), link.path))}"
    if format_ == "table":
        raise CapabilityError(f"the DuckDB engine has no catalog for link `{link.name}`", hint="give its path")
    parse_options(format_, link.options)
    paths = list_files(link.path)
    if not paths:
        raise RunError(f"link `{link.name}`: there is no file at `{link.path}`")
    if format_ not in TEXT_FORMATS:
        return _typed_files(relations, format_, paths)
    return _text_link(relations, link, ReadSpec(format_, link.options, declared=link.columns), paths)


def _text_link(relations: Relations, link: LinkRead, spec: ReadSpec, paths: tuple[str, ...]) -> str:
    table = f"lakelogic_link_{link.name}"
    relations.add_table(table, _read_text(relations, TextSource(spec, paths, text_names(spec, paths))).sql)
    bad = relations.session.run(f"SELECT count({MALFORMED_COLUMN}) FROM {quote(table)}").fetchall()[0][0]
    if bad:
        raise RunError(f"link `{link.name}` has {bad} malformed records")
    return f"SELECT * FROM {quote(table)}"
