"""JSON as text: every value keeps the characters it was written with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from lakelogic.engine.spark.json_text import mark_floats, parse_values, unmark, values_of
from lakelogic.engine.spark.lines import LINE, NOT_UTF8, LineSpec, Source, final_columns, read_lines
from lakelogic.engine.spark.paths import exactly, first_line, head_bytes, local_path
from lakelogic.engine.spark.tally import take_tally
from lakelogic.engine.spark.words import quote
from lakelogic.plan.model import MALFORMED_COLUMN, SOURCE_COLUMN

_SAMPLED_FILES, _SAMPLED_BYTES = 20, 1 << 20


def sample_keys(spark: SparkSession, paths: Sequence[str]) -> tuple[str, ...]:
    """The keys at the head of the first files, in order of appearance."""
    keys: dict[str, None] = {}
    for path in paths[:_SAMPLED_FILES]:
        local = local_path(path)
        found = _local_keys(local) if local is not None else _remote_keys(spark, path)
        keys.update(dict.fromkeys(found))
    return tuple(keys)


def read_jsonl(
    spark: SparkSession, paths: tuple[str, ...], encoding: str, names: Sequence[str], *, records: bool = False
) -> Source:
    """One object per line."""
    lines, tally = read_lines(spark, LineSpec(paths, encoding))
    return Source(parse_objects(lines, names, records=records), (tally,))


def read_json(
    spark: SparkSession, paths: tuple[str, ...], encoding: str, names: Sequence[str], *, records: bool = False
) -> list[Source]:
    """Documents: an array of objects, one object, or objects one after the other."""
    by_line = tuple(path for path in paths if _object_per_line(spark, path))
    documents = tuple(path for path in paths if path not in by_line)
    sources = [read_jsonl(spark, by_line, encoding, names, records=records)] if by_line else []
    return [*sources, *([_read_documents(spark, documents, encoding, names, records)] if documents else [])]


def _read_documents(
    spark: SparkSession, paths: tuple[str, ...], encoding: str, names: Sequence[str], records: bool
) -> Source:
    documents, _ = read_lines(spark, LineSpec(paths, encoding, whole=True))
    marked = documents.selectExpr(LINE, SOURCE_COLUMN, f"{mark_floats(LINE)} AS marked").where(f"trim({LINE}) <> ''")
    elements = marked.selectExpr(f"explode(coalesce({_elements()}, array({LINE}))) AS element", SOURCE_COLUMN)
    # A NULL element is a record too, and a malformed one.
    lines = elements.selectExpr(f"coalesce({unmark('element')}, 'null') AS {LINE}", SOURCE_COLUMN)
    counted, tally = take_tally(lines, {"lines": sf.count(sf.lit(1))})
    return Source(parse_objects(counted, names, records=records), (tally,))


def _elements() -> str:
    """The texts of a document's objects; NULL where it is not JSON."""
    # Objects in a row may only be split at a line end: inside a string there is none.
    joined = r"regexp_replace(marked, '\\}\\s*\\n\\s*\\{', '},{')"
    array, objects, in_a_row = (
        _values_in(text, type_)
        for text, type_ in (("marked", "ARRAY<STRING>"), ("marked", "STRING"), (joined, "STRING"))
    )
    return (
        f"CASE WHEN {LINE} RLIKE '^\\\\s*\\\\[' THEN CASE WHEN size({array}) = 1 THEN {array}[0] END "
        f"ELSE coalesce({objects}, {in_a_row}) END"
    )


def _values_in(marked: str, type_: str) -> str:
    return f"transform(array({parse_values(marked, type_)}), p -> {values_of('p')})[0]"


def parse_objects(lines: DataFrame, names: Sequence[str], *, records: bool = False) -> DataFrame:
    """One object per line, its members as texts."""
    fields = ", ".join(f"{quote(name)}: STRING" for name in names) or "_lakelogic_none: STRING"
    marked = lines.selectExpr(LINE, SOURCE_COLUMN, f"{mark_floats(LINE)} AS marked")
    parsed = marked.selectExpr(
        LINE, SOURCE_COLUMN, f"marked <> {LINE} AS rewritten", f"{parse_values('marked', f'STRUCT<{fields}>')} AS p"
    )
    listed = parsed.selectExpr(LINE, SOURCE_COLUMN, "rewritten", f"{values_of('p')} AS a")
    single = listed.selectExpr(LINE, SOURCE_COLUMN, "rewritten", "CASE WHEN size(a) = 1 THEN a[0] END AS r")
    reason = f"CASE WHEN NOT is_valid_utf8({LINE}) THEN '{NOT_UTF8}' WHEN r IS NULL THEN 'not valid JSON' END"
    checked = single.selectExpr("*", f"{reason} AS {MALFORMED_COLUMN}")
    values = [unmark(f"r.{quote(name)}", "rewritten AND ") for name in names]
    return checked.selectExpr(*final_columns(names, values, records=records))


def _object_per_line(spark: SparkSession, path: str) -> bool:
    """True when the first line alone is an object, as in a .json file that is really lines."""
    line = first_line(spark, path)
    try:
        return line.lstrip().startswith(b"{") and isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _local_keys(path: Path) -> Iterator[str]:
    head = head_bytes(path, _SAMPLED_BYTES).decode("utf-8-sig", errors="replace")
    for record in _records(head):
        yield from record


def _records(text: str) -> Iterator[dict[str, object]]:
    """The whole objects in a text that may start with `[` and may be cut off."""
    decoder, position = json.JSONDecoder(), 0
    while (position := text.find("{", position)) >= 0:
        try:
            record, position = decoder.raw_decode(text, position)
        except ValueError:
            # A broken line must not hide those after it.
            position = text.find("\n", position)
            if position < 0:
                return
            continue
        yield record


def _remote_keys(spark: SparkSession, path: str) -> tuple[str, ...]:
    lines = spark.read.text(exactly([path])).limit(1000)
    return keys_of_lines(lines.selectExpr(LINE, f"'' AS {SOURCE_COLUMN}"))


def keys_of_lines(lines: DataFrame) -> tuple[str, ...]:
    """The keys of the objects, in one order whoever reads first; only their names leave Spark."""
    keyed = lines.selectExpr(SOURCE_COLUMN, f"json_object_keys({LINE}) AS keys").where("keys IS NOT NULL")
    ordered = f"sort_array(collect_list(struct({SOURCE_COLUMN}, keys)))"
    row = keyed.selectExpr(f"array_distinct(flatten(transform({ordered}, line -> line.keys))) AS found").head()
    return tuple(row.found) if row and row.found else ()
