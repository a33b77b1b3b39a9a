"""A slice as the relation `source`: every format, its columns, its hidden columns and its rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lakelogic.core.errors import CapabilityError, PlanError, RunError
from lakelogic.core.slices import RUN_ID_COLUMN, DatabaseSlice, FileSlice, FrameSlice, Slice, TableSlice, TopicSlice
from lakelogic.engine.duckdb.lines import local_path
from lakelogic.engine.duckdb.options import parse_options
from lakelogic.engine.duckdb.read_database import inspect_database, read_database
from lakelogic.engine.duckdb.read_delta import dataset_of, masking_of, open_delta, read_delta
from lakelogic.engine.duckdb.relations import Relations
from lakelogic.engine.duckdb.text_source import TEXT_FORMATS, TextSource, text_names
from lakelogic.engine.duckdb.types import literal, quote, readable, text_columns, to_columns
from lakelogic.engine.protocol import ReadSpec
from lakelogic.plan.model import HIDDEN_PREFIX, MALFORMED_COLUMN, SOURCE_COLUMN, LinkRead, SourceFacts
from lakelogic.storage.address import is_remote
from lakelogic.storage.files import file_exists, folder_exists, walk_files
from lakelogic.storage.tables import arrow_place

_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
             ".txt": "text",
             ".parquet": "parquet", ".orc": "orc"}  # fmt: skip
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate"}


@dataclass(frozen=True, slots=True)
class Read:
    """SQL that gives the rows once, and the text stream behind it that knows what it skipped."""

    sql: str
    text: TextSource | None = None


def inspect_source(relations: Relations, spec: ReadSpec, slice_: Slice) -> SourceFacts:
    """Names and types; no row moves."""
    if spec.database is not None:
        return SourceFacts(inspect_database(spec.database), text=False)
    parse_options(spec.format, spec.options)
    if spec.format in TEXT_FORMATS:
        names = _visible(text_names(spec, _filled(slice_)), spec)
        return SourceFacts(text_columns(names), text=True, records=spec.raw)
    found = relations.describe(_typed(relations, spec, slice_))
    wanted = set(_visible([name for name, _ in found], spec))
    columns = to_columns([pair for pair in found if pair[0] in wanted])
    masked = masking_of(slice_) if isinstance(slice_, TableSlice) else {}
    return SourceFacts(tuple(replace(c, masking=masked.get(c.name)) for c in columns), text=False)


def read_source(relations: Relations, spec: ReadSpec, slice_: Slice) -> Read:
    """The rows of a slice with their hidden columns."""
    if spec.database is not None and isinstance(slice_, DatabaseSlice):
        known = _visible([column.name for column in inspect_database(spec.database)], spec)
        wanted = [name for name in known if spec.columns is None or name in spec.columns]
        return Read(read_database(relations, slice_, spec.database, wanted))
    parse_options(spec.format, spec.options)
    if spec.format in TEXT_FORMATS:
        paths = _filled(slice_)
        found = text_names(spec, paths)
        # A text source gives NULL for a column that it has not; `required` speaks about that.
        names = _visible(found, spec) if spec.columns is None else list(spec.columns)
        return _read_text(relations, TextSource(spec, paths, tuple(names)))
    rows = _typed(relations, spec, slice_)
    names = _visible([name for name, _ in relations.describe(rows)], spec)
    kept = [name for name in names if name != SOURCE_COLUMN and (spec.columns is None or name in spec.columns)]
    return Read(f"SELECT {', '.join(map(quote, [*kept, SOURCE_COLUMN]))} FROM ({rows})")


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
    format_ = link.format or _guess_format(link.path)
    if format_ not in TEXT_FORMATS:
        return relations.describe(read_link(relations, link))
    spec = ReadSpec(format_, link.options, declared=link.columns)
    names = link.columns or text_names(spec, _list_files(link.path))
    return [(name, "VARCHAR") for name in names]


def _read_text(relations: Relations, text: TextSource) -> Read:
    return Read(f"SELECT * FROM {relations.register(text.open())}", text)


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
            return _stamped(relations, f"SELECT * FROM {relations.register(_arrow(frame))}", "dataframe")
        case FileSlice():
            return _typed_files(relations, spec.format, [file.path for file in slice_.files])


def _typed_files(relations: Relations, format_: str, paths: Sequence[str]) -> str:
    if not paths:
        raise RunError("there is no file to read")
    parts = [_stamped(relations, _one_file(relations, format_, path), path) for path in paths]
    return " UNION ALL BY NAME ".join(parts)


def _one_file(relations: Relations, format_: str, path: str) -> str:
    if format_ == "parquet":
        place = path if is_remote(path) else str(local_path(path))
        return f"SELECT * FROM read_parquet({literal(place)}, hive_partitioning = false)"
    if format_ == "orc":
        disk, inside = arrow_place(path)
        return f"SELECT * FROM {relations.register(ds.dataset(inside, format='orc', filesystem=disk))}"
    raise CapabilityError(f"the DuckDB engine cannot read format `{format_}` from files", hint="use engine: spark")


def _stamped(relations: Relations, rows: str, source: str) -> str:
    found = [pair for pair in relations.describe(rows) if pair[0] != SOURCE_COLUMN]
    columns = ", ".join(readable(name, duck_type) for name, duck_type in found)
    return f"SELECT {columns}, {literal(source)} AS {SOURCE_COLUMN} FROM ({rows})"


def _arrow(frame: Any) -> Any:
    """A caller's frame as an Arrow table; a library that is not imported cannot have made the frame."""
    if isinstance(frame, (pa.Table, pa.RecordBatchReader, pa.RecordBatch, ds.Dataset)):
        return frame
    if hasattr(frame, "to_arrow_table"):
        return frame.to_arrow_table()
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(frame, polars.LazyFrame):
        frame = frame.collect()
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    raise RunError(
        f"the DuckDB engine cannot read a `{type(frame).__module__}.{type(frame).__name__}`",
        hint="give a pyarrow Table, a polars or pandas DataFrame, or a DuckDB relation",
    )


def _open_link(relations: Relations, link: LinkRead) -> str:
    format_ = link.format or _guess_format(link.path)
    if format_ == "delta":
        parse_options("delta", link.options)
        return f"SELECT * FROM {relations.register(dataset_of(open_delta(link.path, link.version), link.path))}"
    if format_ == "table":
        raise CapabilityError(f"the DuckDB engine has no catalog for link `{link.name}`", hint="give its path")
    parse_options(format_, link.options)
    paths = _list_files(link.path)
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


def _guess_format(path: str) -> str:
    if "/" not in path and not local_path(path).exists():
        return "table"
    if folder_exists(f"{path.rstrip('/')}/_delta_log"):
        return "delta"
    files = _list_files(path)
    return (_suffix_format(files[0]) if files else None) or "delta"


def _suffix_format(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in PurePosixPath(path).suffixes]
    plain = [suffix for suffix in suffixes if suffix not in _COMPRESSED]
    return _SUFFIXES.get(plain[-1]) if plain else None


def _list_files(path: str) -> tuple[str, ...]:
    """The data files at a path: itself, or those in the folder and below; hidden ones are not data."""
    root = path.rstrip("/") if is_remote(path) else str(local_path(path))
    if file_exists(root):
        return (root,)
    found = (file.path for file in walk_files(root))
    return tuple(sorted(file for file in found if not _hidden(file.removeprefix(f"{root}/"))))


def _hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/"))


def _filled(slice_: Slice) -> tuple[str, ...]:
    if not isinstance(slice_, FileSlice):
        raise PlanError("a text format is read from files", hint="give source.path a file or a folder")
    return tuple(file.path for file in slice_.files if file.size > 0)


def _visible(names: Sequence[str], spec: ReadSpec) -> list[str]:
    asked = spec.columns or ()
    return [name for name in names if not name.startswith(HIDDEN_PREFIX) or name in asked]
