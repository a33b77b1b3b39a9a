"""Text formats as a stream of Arrow batches: every column a text, malformed records kept whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lakelogic.core.errors import LakeLogicError, RunError
from lakelogic.engine.csv_header import header_names, split_header
from lakelogic.engine.local.csv_batches import CsvFile
from lakelogic.engine.local.csv_records import RecordFile
from lakelogic.engine.local.cuts import Cut, cut_records
from lakelogic.engine.local.json_lines import object_keys, split_document
from lakelogic.engine.local.line_batches import TEXT_COLUMN, LineFile
from lakelogic.engine.local.lines import Line, read_lines, read_whole
from lakelogic.engine.local.options import CsvOptions, parse_csv_options, parse_encoding, parse_options
from lakelogic.engine.protocol import ReadSpec
from lakelogic.plan.model import MALFORMED_COLUMN, RECORD_COLUMN, SOURCE_COLUMN

TEXT_FORMATS = ("csv", "json", "jsonl", "text")
_HIDDEN = (RECORD_COLUMN, MALFORMED_COLUMN, SOURCE_COLUMN)
_SAMPLED_FILES, _SAMPLED_CHARS = 20, 1 << 20


@dataclass(slots=True)
class TextSource:
    """The records of some files, read anew for everyone who asks.

    Once they have all been read, `skipped` counts headers and blank lines, and `rows` the others.
    """

    spec: ReadSpec
    paths: tuple[str, ...]
    names: tuple[str, ...]
    skipped: int = field(default=0)
    rows: int | None = field(default=None)
    failure: LakeLogicError | None = field(default=None)  # why they cannot be read

    def open(self) -> pa.RecordBatchReader:
        schema = pa.schema([(name, pa.string()) for name in (*self.names, *_HIDDEN)])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.open().__arrow_c_stream__(requested_schema)

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._all_batches(schema)
        except LakeLogicError as error:
            self.failure = error
            raise

    def _all_batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        skipped = rows = 0
        for path in self.paths:
            source = pa.repeat(pa.scalar(path), 0)
            for cut in self._cuts(path):
                if len(source) < len(cut.batch):  # made once, as it is the same for all batches of a file
                    source = pa.repeat(pa.scalar(path), len(cut.batch))
                columns = [*cut.batch.columns, source.slice(0, len(cut.batch))]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
                skipped += cut.skipped
                rows += len(cut.batch)
        self.skipped, self.rows = skipped, rows

    def _cuts(self, path: str) -> Iterator[Cut]:
        if self.spec.format == "csv":
            return self._csv(path)
        encoding = parse_encoding(parse_options(self.spec.format, self.spec.options))
        file = LineFile(path, encoding, self.names, self.spec.raw)
        if self.spec.format == "text":
            return file.texts()
        if self.spec.format == "json" and not _object_per_line(path, encoding):
            return cut_records(_documents(path, encoding), file.members, len(self.names), raw=self.spec.raw)
        return file.objects()

    def _csv(self, path: str) -> Iterator[Cut]:
        options = parse_csv_options(self.spec.options)
        header = csv_header(path, options, self.spec.declared)
        if header is None:
            return iter(())
        if options.multi_line:
            places = {name: place for place, name in enumerate(header.names)}
            wanted = tuple(places.get(name) for name in self.names)
            return RecordFile(path, options, len(header.names), wanted).blocks()
        return CsvFile(path, options, header.names, header.line, self.names, self.spec.raw).blocks()


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


def keeps_records(spec: ReadSpec) -> bool:
    """Whether every record comes as it was read; one that spans lines is told by its values only."""
    return spec.raw and not (spec.format == "csv" and parse_csv_options(spec.options).multi_line)


def text_names(spec: ReadSpec, paths: Sequence[str]) -> tuple[str, ...]:
    """The columns of the files, all of them, in order of appearance."""
    match spec.format:
        case "csv":
            options = parse_csv_options(spec.options)
            headers = [csv_header(path, options, spec.declared) for path in paths]
            found = dict.fromkeys(name for header in headers if header for name in header.names)
            return tuple(found) or spec.declared
        case "text":
            return (TEXT_COLUMN,)
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


def _documents(path: str, encoding: str) -> Iterator[Line]:
    """The records of a document; one that is not JSON is a record as a whole."""
    document = read_whole(path, encoding)
    if not document.text.strip(" "):
        return
    records = split_document(document.text) if document.valid else None
    yield from [document] if records is None else map(Line, records)
