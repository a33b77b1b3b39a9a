"""XML as text: one record per row tag, every element a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from lakelogic.core.errors import PlanError
from lakelogic.engine.options import parse_encoding
from lakelogic.engine.spark.lines import LINE, Source, final_columns
from lakelogic.engine.spark.paths import exactly, source_expression
from lakelogic.engine.spark.tally import take_tally
from lakelogic.engine.spark.words import quote
from lakelogic.plan.model import MALFORMED_COLUMN, SOURCE_COLUMN

_CORRUPT = "_lakelogic_corrupt"


def xml_names(spark: SparkSession, paths: Sequence[str], options: Mapping[str, str]) -> tuple[str, ...]:
    """The elements under the row tag; Spark looks for them, because XML has no header."""
    if not paths:
        return ()
    found = spark.read.options(**_options(options)).format("xml").load(exactly(paths))
    return tuple(name for name in found.columns if name != _CORRUPT)


def read_xml(spark: SparkSession, paths: tuple[str, ...], options: Mapping[str, str], names: Sequence[str]) -> Source:
    schema = ", ".join(f"{quote(name)} STRING" for name in (*names, _CORRUPT))
    rows = spark.read.schema(schema).options(**_options(options)).format("xml").load(exactly(paths))
    stamped = rows.selectExpr("*", f"{source_expression(paths)} AS {SOURCE_COLUMN}")
    counted, tally = take_tally(stamped, {"lines": sf.count(sf.lit(1))})
    # In a struct: an element may itself be called `value`.
    packed = counted.selectExpr(
        f"struct({', '.join(quote(name) for name in names)}) AS r", f"{_CORRUPT} AS {LINE}", SOURCE_COLUMN
    )
    reason = f"CASE WHEN {LINE} IS NOT NULL THEN 'not valid XML' END"
    marked = packed.selectExpr("*", f"{reason} AS {MALFORMED_COLUMN}")
    return Source(marked.selectExpr(*final_columns(names, [f"r.{quote(name)}" for name in names])), (tally,))


def _options(options: Mapping[str, str]) -> dict[str, str]:
    if "rowTag" not in options:
        raise PlanError("format `xml` needs the option `rowTag`", hint="name the element that is one record")
    return {
        "rowTag": options["rowTag"],
        "charset": parse_encoding(options),
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
    }
