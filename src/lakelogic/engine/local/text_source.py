"""Text formats as a stream of Arrow batches: every column a text, malformed records kept whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from lakelogic.core.errors import RunError
from lakelogic.engine.csv_header import header_names, split_header
from lakelogic.engine.local.csv_batches import CsvFile
from lakelogic.engine.local.json_lines import NOT_JSON, object_keys, split_document, split_object
from lakelogic.engine.local.lines import NOT_UTF8, Line, read_lines, read_whole
from lakelogic.engine.local.options import CsvOptions, parse_csv_options, parse_encoding, parse_options
from lakelogic.engine.protocol import ReadSpec
from lakelogic.plan.model import MALFORMED_COLUMN, RECORD_COLUMN, SOURCE_COLUMN

TEXT_FORMATS = ("csv", "json", "jsonl", "text")
_HIDDEN = (RECORD_COLUMN, MALFORMED_COLUMN, SOURCE_COLUMN)
_BATCH_ROWS = 10_000
_SAMPLED_FILES, _SAMPLED_CHARS = 20, 1 << 20

Record = tuple[dict[str, str | None] | str, str]  # values, or why there are none; and the record as read


@dataclass(slots=True)
class TextSource:
    """The records of some files; `skipped` counts headers and blank lines once the stream has been read."""

    spec: ReadSpec
    paths: tuple[str, ...]
    names: tuple[str, ...]
    skipped: int = field(default=0)

    def open(self) -> pa.RecordBatchReader:
        schema = pa.schema([(name, pa.string()) for name in (*self.names, *_HIDDEN)])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        if self.spec.format == "csv":
            for path in self.paths:
                yield from self._csv_batches(path, schema)
            return
        rows: list[list[str | None]] = []
        for path in self.paths:
            for values, record in self._records(path):
                rows.append(self._row(values, record, path))
                if len(rows) == _BATCH_ROWS:
                    yield _batch(rows, schema)
                    rows = []
        if rows:
            yield _batch(rows, schema)

    def _row(self, values: dict[str, str | None] | str, record: str, path: str) -> list[str | None]:
        if isinstance(values, str):
            return [*[None] * len(self.names), record, values, path]
        return [*[values.get(name) for name in self.names], record if self.spec.raw else None, None, path]

    def _records(self, path: str) -> Iterator[Record]:
        encoding = parse_encoding(parse_options(self.spec.format, self.spec.options))
        match self.spec.format:
            case "text":
                return self._checked(path, encoding, lambda text: {"value": text})
            case "json" if not _object_per_line(path, encoding):
                return _documents(path, encoding)
            case _:
                return self._checked(path, encoding, split_record)

    def _checked(
        self, path: str, encoding: str, split: Callable[[str], dict[str, str | None] | str]
    ) -> Iterator[Record]:
        for line in read_lines(path, encoding):
            if not line.text:
                self.skipped += 1
            else:
                yield (split(line.text) if line.valid else NOT_UTF8), line.text

    def _csv_batches(self, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        options = parse_csv_options(self.spec.options)
        header = csv_header(path, options, self.spec.declared)
        if header is None:
            return
        places = {name: place for place, name in enumerate(header.names)}
        for cut in CsvFile(path, options, header.names, header.line).blocks():
            *fields, records, reasons = cut.batch.columns
            missing = pa.nulls(len(cut.batch), pa.string())
            columns = [fields[places[name]] if name in places else missing for name in self.names]
            if not self.spec.raw:  # a sound record is not kept beside its values
                records = pc.if_else(pc.is_null(reasons), pa.scalar(None, pa.string()), records)
            source = pa.repeat(pa.scalar(path), len(cut.batch))
            yield pa.RecordBatch.from_arrays([*columns, records, reasons, source], schema=schema)
            self.skipped += cut.skipped


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The names of a file's fields, and the line they stand on, if there is one."""

    names: tuple[str, ...]
    line: str | None


def csv_header(path: str, options: CsvOptions, declared: Sequence[str]) -> CsvHeader | None:
    """None for a file without a line."""
    if not options.header and declared:
        return CsvHeader(tuple(declared), None)
    first = _first_line(path, options.encoding)
    if first is None:
        return None
    if not first.valid:
        raise RunError(f"the first line of `{path}` is not UTF-8", hint="set source.options.encoding")
    if options.header:
        return CsvHeader(header_names(first.text, path, options), first.text)
    width = len(split_header(first.text, path, options))
    return CsvHeader(tuple(f"_c{number}" for number in range(width)), None)


def text_names(spec: ReadSpec, paths: Sequence[str]) -> tuple[str, ...]:
    """The columns of the files, all of them, in order of appearance."""
    match spec.format:
        case "csv":
            options = parse_csv_options(spec.options)
            headers = [csv_header(path, options, spec.declared) for path in paths]
            found = dict.fromkeys(name for header in headers if header for name in header.names)
            return tuple(found) or spec.declared
        case "text":
            return ("value",)
        case _:
            encoding = parse_encoding(parse_options(spec.format, spec.options))
            return tuple(dict.fromkeys((*spec.declared, *_sample_keys(paths, encoding))))


def _sample_keys(paths: Sequence[str], encoding: str) -> Iterator[str]:
    for path in paths[:_SAMPLED_FILES]:
        head, size = [], 0
        for line in read_lines(path, encoding):
            head.append(line.text)
            size += len(line.text) + 1
            if size >= _SAMPLED_CHARS:
                break
        yield from object_keys("\n".join(head))


def _first_line(path: str, encoding: str) -> Line | None:
    return next((line for line in read_lines(path, encoding) if line.text), None)


def _object_per_line(path: str, encoding: str) -> bool:
    """True when the first line alone is an object, as in a .json file that is really lines."""
    line = _first_line(path, encoding)
    if line is None or not line.text.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line.text), dict)
    except ValueError:
        return False


def _documents(path: str, encoding: str) -> Iterator[Record]:
    document = read_whole(path, encoding)
    if not document.text.strip(" "):
        return
    if not document.valid:
        yield NOT_UTF8, document.text
        return
    records = split_document(document.text)
    for record in [document.text] if records is None else records:
        yield split_record(record), record


def split_record(text: str) -> dict[str, str | None] | str:
    members = split_object(text)
    return NOT_JSON if members is None else members


def _batch(rows: list[list[str | None]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True))
    return pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], schema=schema)
