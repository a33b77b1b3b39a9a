"""CSV as lines: each line is split by from_csv and kept whole where it cannot be split."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lakelogic.core.errors import RunError
from lakelogic.engine.csv_header import header_names, split_header
from lakelogic.engine.options import CsvOptions
from lakelogic.engine.spark.lines import LINE, NOT_UTF8, LineSpec, Source, final_columns, read_lines, union
from lakelogic.engine.spark.paths import exactly, first_line, source_expression
from lakelogic.engine.spark.tally import take_tally
from lakelogic.engine.spark.words import literal, quote
from lakelogic.plan.model import MALFORMED_COLUMN, SOURCE_COLUMN

_CORRUPT = "_lakelogic_corrupt"
_QUOTED, _FIELDS = "_lakelogic_quoted", "_lakelogic_fields"
_ANY = r"[\s\S]"
# A text that no file holds: so an empty field is NULL, but a quoted empty one is the empty text.
_NO_NULL = "\x01null\x01"
_MAX_FIELDS = 100_000  # the parser stops the whole job above it, so such a line never reaches the parser


@dataclass(frozen=True, slots=True)
class CsvGroup:
    """Files with the same header line; `header` is None where there is none."""

    names: tuple[str, ...]
    header: str | None
    paths: tuple[str, ...]


def group_files(
    spark: SparkSession, paths: Sequence[str], options: CsvOptions, declared: tuple[str, ...]
) -> list[CsvGroup]:
    """Group files by header, so that each file's columns are found by name."""
    if not options.header and declared:
        return [CsvGroup(declared, None, tuple(paths))] if paths else []
    groups: dict[str, list[str]] = {}
    for path in paths:
        line = _decode(first_line(spark, path), path, options)
        if line:
            groups.setdefault(line if options.header else str(len(split_header(line, path, options))), []).append(path)
    if options.header:
        return [CsvGroup(header_names(line, found[0], options), line, tuple(found)) for line, found in groups.items()]
    return [
        CsvGroup(tuple(f"_c{number}" for number in range(int(width))), None, tuple(found))
        for width, found in groups.items()
    ]


def all_names(groups: Sequence[CsvGroup]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group.names))


def read_csv(
    spark: SparkSession,
    groups: Sequence[CsvGroup],
    options: CsvOptions,
    names: Sequence[str],
    *,
    records: bool = False,
) -> Source:
    """All groups as one source; `records` that span lines cannot be kept beside their values."""
    if options.multi_line:
        return union([_read_multi_line(spark, group, options, names) for group in groups])
    return union([_read_group(spark, group, options, names, records) for group in groups])


def _read_group(
    spark: SparkSession, group: CsvGroup, options: CsvOptions, names: Sequence[str], records: bool
) -> Source:
    skip = ("",) if group.header is None else ("", group.header)
    lines, tally = read_lines(spark, LineSpec(group.paths, options.encoding, skip))
    marked = _split_lines(lines, group.names, options).selectExpr(
        "*", f"{_malformed(len(group.names), options)} AS {MALFORMED_COLUMN}"
    )
    # All fields of a line at once: a test for each would make the generated code half as long again.
    sound = f"CASE WHEN {MALFORMED_COLUMN} IS NULL THEN {_FIELDS} END AS {_FIELDS}"
    judged = marked.selectExpr(LINE, SOURCE_COLUMN, MALFORMED_COLUMN, _QUOTED, sound)
    places = {name: number for number, name in enumerate(group.names)}
    values = [_value(places[name], options) if name in places else "CAST(NULL AS STRING)" for name in names]
    return Source(judged.selectExpr(*final_columns(names, values, records=records, judged=True)), (tally,))


def _split_lines(lines: DataFrame, names: Sequence[str], options: CsvOptions) -> DataFrame:
    """The fields of each line as an array. Most lines hold no quote, and cutting them is half the parser's work."""
    quoted = f"contains({LINE}, {literal(options.quote)})" if options.quote else "false"
    told = lines.selectExpr(LINE, SOURCE_COLUMN, f"{quoted} AS {_QUOTED}")
    cut = f"split({LINE}, {literal(re.escape(options.sep))}, -1)"
    if not options.quote:
        return told.selectExpr("*", f"{cut} AS {_FIELDS}", f"false AS {_CORRUPT}")
    if not _suits_parser(options):
        return told.selectExpr("*", f"IF({_QUOTED}, {_matched(options)}, {cut}) AS {_FIELDS}", f"false AS {_CORRUPT}")
    schema = ", ".join(f"{quote(name)} STRING" for name in (*names, _CORRUPT))
    parsed = f"from_csv(IF({_QUOTED} AND NOT {_too_wide(options)}, {LINE}, NULL), {literal(schema)}"
    values = ", ".join(f"r.{quote(name)}" for name in names)
    return told.selectExpr("*", f"{parsed}, {_parser_options(options)}) AS r").selectExpr(
        LINE, SOURCE_COLUMN, _QUOTED, f"IF({_QUOTED}, array({values}), {cut}) AS {_FIELDS}",
        f"r.{_CORRUPT} IS NOT NULL AS {_CORRUPT}",
    )  # fmt: skip


def _suits_parser(options: CsvOptions) -> bool:
    """It cannot do without an escape, and loses its place among separators of more than one letter of Java's."""
    return bool(options.escape) and options.is_sure


def _matched(options: CsvOptions) -> str:
    """The fields of a line with quotes, in styles that do not suit the parser."""
    sep, mark = re.escape(options.sep), re.escape(options.quote)
    field = rf"\G{sep}({options.quoted_field}|{options.plain_field})"
    inner = f"regexp_extract(x, {literal(f'^{mark}({options.quoted_text}){mark}')}, 1)"
    escape = re.escape(options.escape)
    escaped = literal(f"{escape}([{mark}{escape}])")
    meant = f"regexp_replace({inner}, {escaped}, '$1')" if options.escape else inner
    return (
        f"transform(regexp_extract_all(concat({literal(options.sep)}, {LINE}), {literal(field)}, 1), x -> CASE "
        f"WHEN startswith(x, {literal(options.quote)}) THEN {meant} WHEN x <> '' THEN x END)"
    )


def _value(place: int, options: CsvOptions) -> str:
    """An empty field is NULL. Of lines with quotes it is already, and what is empty there was quoted."""
    value = f"get({_FIELDS}, {place})"
    nothing = f"{value} = '' AND NOT {_QUOTED}"
    if options.null_value is not None:
        nothing += f" OR {value} = {literal(options.null_value)}"
    return f"CASE WHEN {nothing} THEN NULL ELSE {value} END"


def _read_multi_line(spark: SparkSession, group: CsvGroup, options: CsvOptions, names: Sequence[str]) -> Source:
    """Records that span lines: Spark's own CSV source finds their ends."""
    schema = ", ".join(f"{quote(name)} STRING" for name in (*group.names, _CORRUPT))
    wanted = {
        **_options(options),
        "header": str(options.header).lower(),
        "multiLine": "true",
        "encoding": options.encoding,
    }
    rows = spark.read.schema(schema).options(**wanted).csv(exactly(group.paths))
    counted, tally = take_tally(
        rows.selectExpr("*", f"{source_expression(group.paths)} AS {SOURCE_COLUMN}"),
        {"lines": sf.count(sf.lit(1))},
    )
    # In a struct: a column of the source may itself be called `value`.
    packed = counted.selectExpr(
        f"struct({', '.join(quote(name) for name in group.names)}) AS r",
        f"{_CORRUPT} AS {LINE}",
        SOURCE_COLUMN,
    )
    reason = f"CASE WHEN {LINE} IS NOT NULL THEN {_ragged(len(group.names), options)} END"
    values = [f"r.{quote(name)}" if name in group.names else "CAST(NULL AS STRING)" for name in names]
    marked = packed.selectExpr("*", f"{reason} AS {MALFORMED_COLUMN}")
    return Source(marked.selectExpr(*final_columns(names, values)), (tally,))


def _malformed(width: int, options: CsvOptions) -> str:
    ragged = (
        f"CASE WHEN {_CORRUPT} THEN {_ragged(width, options)} "
        f"WHEN size({_FIELDS}) <> {width} THEN IF(size({_FIELDS}) < {width}, 'too few fields', 'too many fields') END"
    )
    return (
        f"CASE WHEN NOT is_valid_utf8({LINE}) THEN '{NOT_UTF8}' WHEN {_too_wide(options)} THEN 'too many fields' "
        f"ELSE {f'coalesce({_misquoted(options)}, {ragged})' if options.quote else ragged} END"
    )


def _misquoted(options: CsvOptions) -> str:
    """Every field must be quoted from its start to its end, or not at all: the parser takes any line, and changes some.

    Quotes within plain fields are rare. Where there are any, their number must be even, and fields may hold them.
    """
    sep, quoted, line = re.escape(options.sep), literal(options.quote), LINE
    if options.escape not in ("", options.quote):
        line = f"regexp_replace({LINE}, {literal(re.escape(options.escape) + _ANY)}, '')"
    odd = f"(length({line}) - length(replace({line}, {quoted}, ''))) % 2 = 1"
    usual, any_ = (
        rf"\A(?:{options.quoted_field}|{plain})(?:{sep}(?:{options.quoted_field}|{plain}))*+\z"
        for plain in (options.unquoted_field, options.plain_field)
    )
    return (
        f"CASE WHEN {_QUOTED} AND NOT {LINE} RLIKE {literal(usual)} THEN "
        f"CASE WHEN {odd} THEN 'unclosed quote' WHEN NOT {LINE} RLIKE {literal(any_)} THEN 'misplaced quote' END END"
    )


def _ragged(width: int, options: CsvOptions) -> str:
    """Too few or too many: count the separators that stand outside quotes."""
    line = LINE
    if options.quote:
        quoted = rf"(\A|{re.escape(options.sep)}){options.quoted_field}"
        line = f"regexp_replace({LINE}, {literal(quoted)}, '$1')"
    fields = f"(length({line}) - length(replace({line}, {literal(options.sep)}, ''))) DIV {len(options.sep)} + 1"
    return f"IF({fields} < {width}, 'too few fields', 'too many fields')"


def _too_wide(options: CsvOptions) -> str:
    separators = f"(length({LINE}) - length(replace({LINE}, {literal(options.sep)}, ''))) DIV {len(options.sep)}"
    return f"(octet_length({LINE}) >= {_MAX_FIELDS} AND {separators} >= {_MAX_FIELDS})"


def _options(options: CsvOptions) -> dict[str, str]:
    return {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
        "sep": options.sep,
        "quote": options.quote,
        "escape": options.escape or "\x00",
        # By default this is NUL, which the parser then leaves out of quoted fields.
        "charToEscapeQuoteEscaping": options.escape or "\x00",
        "nullValue": _NO_NULL if options.null_value is None else options.null_value,
        "emptyValue": "",
        "maxColumns": str(_MAX_FIELDS + 1),
    }


def _parser_options(options: CsvOptions) -> str:
    pairs = [f"{literal(name)}, {literal(value)}" for name, value in _options(options).items()]
    return f"map({', '.join(pairs)})"


def _decode(line: bytes, path: str, options: CsvOptions) -> str:
    try:
        return line.decode(options.encoding)
    except UnicodeDecodeError as error:
        raise RunError(
            f"the first line of `{path}` is not {options.encoding}", hint="set source.options.encoding"
        ) from error
