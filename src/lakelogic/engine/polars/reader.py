"""A slice as the relation `source`: every format, its columns, its hidden columns and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.core.slices import RUN_ID_COLUMN, DatabaseSlice, FileSlice, FrameSlice, Slice, TableSlice, TopicSlice
from lakelogic.engine.file_columns import ParquetColumns, has_nulls, read_columns
from lakelogic.engine.local.frames import arrow_of
from lakelogic.engine.local.options import parse_options
from lakelogic.engine.local.orc_files import open_orc
from lakelogic.engine.local.places import filled_files, guess_format, list_files, visible_names
from lakelogic.engine.local.read_database import inspect_database
from lakelogic.engine.local.read_delta import dataset_of, masking_of, open_delta, read_delta
from lakelogic.engine.local.spark_text import read_again
from lakelogic.engine.local.text_source import TEXT_FORMATS, TextSource, keeps_records, text_names
from lakelogic.engine.polars.expressions import Compiler, Scope, ScopeColumn
from lakelogic.engine.polars.files import scan_parquet
from lakelogic.engine.polars.logic import condition
from lakelogic.engine.polars.read_database import read_database
from lakelogic.engine.polars.relations import Relations, one_row, rows_of
from lakelogic.engine.polars.rows import Rows
from lakelogic.engine.polars.types import Type, readable, text_columns, to_columns, typed_nulls
from lakelogic.engine.protocol import ReadSpec
from lakelogic.plan.model import HIDDEN_PREFIX, MALFORMED_COLUMN, SOURCE_COLUMN, LinkRead, SourceFacts


@dataclass(frozen=True, slots=True)
class Read:
    """Rows, and the text stream behind them that knows what it skipped."""

    rows: Rows
    text: TextSource | None = None
    again: bool = False  # they may be read twice, and will be the same


def inspect_source(relations: Relations, spec: ReadSpec, slice_: Slice) -> SourceFacts:
    """Names and types; no row moves."""
    if spec.database is not None:
        return SourceFacts(inspect_database(spec.database), text=False)
    parse_options(spec.format, spec.options)
    if spec.format in TEXT_FORMATS:
        names = visible_names(text_names(spec, filled_files(slice_)), spec)
        return SourceFacts(text_columns(names), text=True, records=keeps_records(spec))
    types = _types(spec, slice_)
    columns = to_columns((name, types[name]) for name in visible_names(list(types), spec))
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
        # A text source gives NULL for a column that it has not; `required` speaks about that.
        names = visible_names(text_names(spec, paths), spec) if spec.columns is None else list(spec.columns)
        text = TextSource(spec, paths, tuple(names))
        return Read(relations.spill(text.open()), text, again=True)
    return Read(_typed(relations, spec, slice_), again=spec.format == "parquet" and isinstance(slice_, FileSlice))


def _types(spec: ReadSpec, slice_: Slice) -> dict[str, Type]:
    """The columns that a typed source has, as they will be read."""
    match slice_:
        case TableSlice():
            return _arrow_types(read_delta(slice_).schema)
        case FrameSlice(frame):
            found = _frame(frame)
            return dict(found.types) if isinstance(found, Rows) else _arrow_types(found.schema)
        case FileSlice() if spec.format == "orc":
            files = open_orc([file.path for file in slice_.files])
            return dict(_together([_empty(file.schema) for file in files]).types)
        case FileSlice():
            return dict(_parquet(spec.format, [file.path for file in slice_.files]).types)
        case TopicSlice():
            raise CapabilityError("the Polars engine cannot read Kafka yet", hint="use engine: spark")
        case DatabaseSlice():
            raise AssertionError("read in another way")


def _arrow_types(schema: pa.Schema) -> dict[str, Type]:
    found = {}
    for column in schema:
        if "map<" in str(column.type):
            raise CapabilityError(
                f"the Polars engine cannot read the map of column `{column.name}`", hint="use engine: spark or duckdb"
            )
        empty: Any = pl.from_arrow(pa.array([], column.type))
        found[column.name] = readable(column.name, empty.dtype)
    return found


def _typed(relations: Relations, spec: ReadSpec, slice_: Slice) -> Rows:
    match slice_:
        case TableSlice():
            rows = _spilled(relations, read_delta(slice_), spec, (RUN_ID_COLUMN,) if slice_.run_ids else ())
            if slice_.run_ids:
                chosen = rows.frame.filter(pl.col(RUN_ID_COLUMN).is_in(list(slice_.run_ids)))
                rows = Rows(chosen, rows.types)
            return _chosen(_stamped(rows, slice_.path), spec)
        case FrameSlice(frame):
            found = _frame(frame)
            rows = found if isinstance(found, Rows) else _spilled(relations, found, spec)
            return _chosen(_stamped(rows, "dataframe"), spec)
        case FileSlice() if spec.format == "orc":
            paths = [file.path for file in slice_.files]
            opened = zip(paths, open_orc(paths), strict=True)
            return _chosen(_together([_stamped(_spilled(relations, o, spec), path) for path, o in opened]), spec)
        case FileSlice():
            return _chosen(_parquet(spec.format, [file.path for file in slice_.files]), spec)
        case _:
            raise CapabilityError("the Polars engine cannot read this source yet", hint="use engine: spark")


def _chosen(rows: Rows, spec: ReadSpec) -> Rows:
    names = visible_names(list(rows.types), spec)
    kept = [name for name in names if name != SOURCE_COLUMN and (spec.columns is None or name in spec.columns)]
    kept.append(SOURCE_COLUMN)
    return Rows(rows.frame.select(kept), {name: rows.types[name] for name in kept})


def _frame(frame: Any) -> Rows | Any:
    if isinstance(frame, pl.DataFrame):
        return rows_of(frame.lazy())
    if isinstance(frame, pl.LazyFrame):
        return rows_of(frame)
    return arrow_of(frame)


def _spilled(relations: Relations, found: Any, spec: ReadSpec | None, more: Sequence[str] = ()) -> Rows:
    """An Arrow dataset, table or stream, by the columns that are asked for."""
    if isinstance(found, pa.RecordBatch):
        found = pa.Table.from_batches([found])
    if isinstance(found, ds.Dataset):
        names = found.schema.names
        asked = None if spec is None or spec.columns is None else [n for n in names if n in {*spec.columns, *more}]
        return relations.spill(found.scanner(columns=asked).to_reader())
    if isinstance(found, pa.Table):
        return relations.spill(found.to_reader())
    return relations.spill(found)


def _empty(schema: pa.Schema) -> Rows:
    types = _arrow_types(schema)
    return Rows(pl.LazyFrame(schema=types), types)


def _parquet(format_: str, paths: Sequence[str]) -> Rows:
    if format_ != "parquet":
        raise CapabilityError(f"the Polars engine cannot read format `{format_}` from files", hint="use engine: spark")
    if not paths:
        raise RunError("there is no file to read")
    files = read_columns(paths)
    frames = [_as_spark(file) for file in files]
    read = _with_typed_nulls(frames) if has_nulls(files) else frames
    return _together([_stamped(rows_of(frame), file.path) for frame, file in zip(read, files, strict=True)])


def _with_typed_nulls(frames: Sequence[pl.LazyFrame]) -> list[pl.LazyFrame]:
    """Columns of NULLs in the type that they have in another file, or else in the one that Spark reads them as."""
    found = [frame.collect_schema() for frame in frames]
    known = {name: type_ for types in found for name, type_ in types.items() if typed_nulls(type_) == type_}
    return [
        frame.with_columns(
            pl.col(name).cast(known.get(name, typed_nulls(type_)))
            for name, type_ in types.items()
            if typed_nulls(type_) != type_
        )
        for frame, types in zip(frames, found, strict=True)
    ]


def _as_spark(file: ParquetColumns) -> pl.LazyFrame:
    """A file with the types that its footer says; Polars follows what the writer held in memory."""
    frame = scan_parquet(file.path)
    found = frame.collect_schema()
    dates = [pl.col(name).cast(pl.Date) for name in sorted(file.dates) if found[name] != pl.Date]
    instants = [pl.col(name).dt.replace_time_zone("UTC") for name in sorted(file.instants)]
    return frame.with_columns([*dates, *instants]) if dates or instants else frame


def _together(parts: Sequence[Rows]) -> Rows:
    """All columns of all files; one that a file has not is NULL there."""
    if len(parts) == 1:
        return parts[0]
    return rows_of(pl.concat([part.frame for part in parts], how="diagonal_relaxed"))


def _stamped(rows: Rows, source: str) -> Rows:
    types = {name: type_ for name, type_ in rows.types.items() if name != SOURCE_COLUMN}
    frame = rows.frame.select(list(types)).with_columns(pl.lit(source).alias(SOURCE_COLUMN))
    return Rows(frame, {**types, SOURCE_COLUMN: pl.String()})


def read_link(relations: Relations, link: LinkRead) -> Rows:
    """A further relation; a malformed record in it is an error, as no quarantine would show it."""
    rows = _open_link(relations, link)
    found = [name for name in rows.types if not name.startswith(HIDDEN_PREFIX)]
    names = link.columns or tuple(found)
    missing = [name for name in names if name not in found]
    if missing:
        raise PlanError(f"link `{link.name}` has no column `{missing[0]}`", hint=f"it has: {', '.join(found)}")
    frame = rows.frame
    if link.filter is not None:
        columns = tuple(ScopeColumn(link.name, name, name, type_) for name, type_ in rows.types.items())
        compiler = Compiler(Scope(frame, columns), relations.masks)
        frame = frame.filter(condition(read_again(link.filter), compiler).expr)
    return Rows(frame.select(names), {name: rows.types[name] for name in names})


def link_types(relations: Relations, link: LinkRead) -> dict[str, Type]:
    """Names and types of a link; of a text file only its head is looked at."""
    format_ = link.format or guess_format(link.path)
    if format_ in TEXT_FORMATS:
        spec = ReadSpec(format_, link.options, declared=link.columns)
        return {name: pl.String() for name in link.columns or text_names(spec, list_files(link.path))}
    if format_ == "delta":
        types = _arrow_types(dataset_of(open_delta(link.path, link.version), link.path).schema)
        names = link.columns or tuple(name for name in types if not name.startswith(HIDDEN_PREFIX))
        return {name: types[name] for name in names if name in types}
    return dict(read_link(relations, link).types)


def _open_link(relations: Relations, link: LinkRead) -> Rows:
    format_ = link.format or guess_format(link.path)
    if format_ == "delta":
        parse_options("delta", link.options)
        return _spilled(relations, dataset_of(open_delta(link.path, link.version), link.path), None)
    if format_ == "table":
        raise CapabilityError(f"the Polars engine has no catalog for link `{link.name}`", hint="give its path")
    parse_options(format_, link.options)
    paths = list_files(link.path)
    if not paths:
        raise RunError(f"link `{link.name}`: there is no file at `{link.path}`")
    if format_ in TEXT_FORMATS:
        return _text_link(relations, link, ReadSpec(format_, link.options, declared=link.columns), paths)
    if format_ == "orc":
        return _together([_spilled(relations, file, None) for file in open_orc(paths)])
    return _parquet(format_, paths)


def _text_link(relations: Relations, link: LinkRead, spec: ReadSpec, paths: tuple[str, ...]) -> Rows:
    rows = relations.spill(TextSource(spec, paths, text_names(spec, paths)).open())
    bad = one_row(rows.frame.select(pl.col(MALFORMED_COLUMN).count()))[0]
    if bad:
        raise RunError(f"link `{link.name}` has {bad} malformed records")
    return rows
