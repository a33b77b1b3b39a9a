"""Text sources as lines: what a line must be before any format looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lakelogic.engine.spark.paths import exactly, source_expression
from lakelogic.engine.spark.tally import Delivered, Tally, take_tally
from lakelogic.engine.spark.words import literal, quote
from lakelogic.plan.model import MALFORMED_COLUMN, RECORD_COLUMN, SOURCE_COLUMN

LINE = "value"
NOT_UTF8 = "not UTF-8"
# Bytes that are not UTF-8, as \xNN: the record stays whole and the file stays valid.
_READABLE = (
    "CASE WHEN record IS NULL OR is_valid_utf8(record) THEN record ELSE array_join(transform("
    "split(decode(CAST(record AS BINARY), 'ISO-8859-1'), ''), "
    r"c -> CASE WHEN ascii(c) > 127 THEN concat('\\x', hex(encode(c, 'ISO-8859-1'))) ELSE c END), '') END"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A relation that is read, and where its row count comes from."""

    frame: DataFrame
    tallies: tuple[Tally, ...] = ()  # each gives `lines` and `skipped`
    rows: int | None = None  # known without reading, from footers or the table's log

    def count(self, delivered: Delivered) -> tuple[int, int]:
        """Rows that entered, and lines that were skipped (headers, blank lines)."""
        if self.rows is not None:
            return self.rows, 0
        seen = [tally.read(delivered) for tally in self.tallies]
        skipped = sum(numbers.get("skipped", 0) for numbers in seen)
        return sum(numbers["lines"] for numbers in seen) - skipped, skipped


@dataclass(frozen=True, slots=True)
class LineSpec:
    """Which lines of which files."""

    paths: tuple[str, ...]
    encoding: str = "UTF-8"
    skip: tuple[str, ...] = field(default=("",))  # lines that are no records: blank ones, headers
    whole: bool = False  # one line per file


def read_lines(spark: SparkSession, spec: LineSpec) -> tuple[DataFrame, Tally]:
    """Columns `value` and SOURCE_COLUMN, one row per line that is a record, counted right above the scan."""
    text = spark.read.text(exactly(spec.paths), wholetext=spec.whole)
    value = LINE if spec.encoding == "UTF-8" else f"decode(CAST(value AS BINARY), {literal(spec.encoding)})"
    source = f"{source_expression(spec.paths)} AS {SOURCE_COLUMN}"
    # The path of a single file is one value: it is added after the count, which would copy it with every row.
    above = [source] if len(spec.paths) == 1 else []
    lines = text.selectExpr(f"{value} AS {LINE}", *([] if above else [source]))
    skipped = " OR ".join(f"{LINE} = {literal(line)}" for line in spec.skip)
    counted, tally = take_tally(lines, {"lines": sf.count(sf.lit(1)), "skipped": sf.count_if(sf.expr(skipped))})
    return counted.where(f"NOT ({skipped})").selectExpr("*", *above), tally


def readable(record: str) -> str:
    """SQL for a text that may hold bytes which are none."""
    return _READABLE.replace("record", record)


def final_columns(
    names: Sequence[str], values: Sequence[str], *, records: bool = False, judged: bool = False
) -> list[str]:
    """The columns of a text source: values only where the record is sound, else the record itself.

    `records`: the record stands beside the values, too. `judged`: the values are NULL already where it is not sound.
    """
    given = values if judged else [f"CASE WHEN {MALFORMED_COLUMN} IS NULL THEN {value} END" for value in values]
    columns = [f"{value} AS {quote(name)}" for name, value in zip(names, given, strict=True)]
    record = readable(LINE) if records else f"CASE WHEN {MALFORMED_COLUMN} IS NOT NULL THEN {LINE} END"
    return [*columns, f"{record} AS {RECORD_COLUMN}", MALFORMED_COLUMN, SOURCE_COLUMN]


def read_text(spark: SparkSession, paths: tuple[str, ...], encoding: str, *, records: bool = False) -> Source:
    """Format `text`: every line is a record with the one column `value`."""
    lines, tally = read_lines(spark, LineSpec(paths, encoding))
    marked = lines.selectExpr("*", f"CASE WHEN NOT is_valid_utf8({LINE}) THEN '{NOT_UTF8}' END AS {MALFORMED_COLUMN}")
    return Source(marked.selectExpr(*final_columns([LINE], [LINE], records=records)), (tally,))


def union(sources: Sequence[Source]) -> Source:
    """Several groups of files with the same columns as one source."""
    frame = sources[0].frame
    for other in sources[1:]:
        frame = frame.unionByName(other.frame)
    return Source(frame, tuple(tally for source in sources for tally in source.tallies))
