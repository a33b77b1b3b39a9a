"""Reading options without Spark: the same as everywhere, less what cannot be read then."""

from __future__ import annotations

from collections.abc import Mapping

from lakelogic.core.errors import CapabilityError
from lakelogic.engine import options
from lakelogic.engine.options import CsvOptions, parse_encoding

FORMATS = tuple(name for name in options.FORMATS if name not in {"xml", "avro"})

__all__ = ["FORMATS", "CsvOptions", "parse_csv_options", "parse_encoding", "parse_options"]


def parse_options(format_: str, given: Mapping[str, str]) -> dict[str, str]:
    """The options under their own names; unknown ones are refused."""
    if format_ not in FORMATS:
        raise CapabilityError(
            f"cannot read format `{format_}` without Spark",
            hint=f"use engine: spark, or one of: {', '.join(FORMATS)}",
        )
    return options.parse_options(format_, given)


def parse_csv_options(given: Mapping[str, str]) -> CsvOptions:
    """How CSV is written; records may span lines only in styles of which Spark's parser is sure."""
    parsed = options.parse_csv_options(given)
    if parsed.multi_line and not (parsed.quote and parsed.escape and parsed.is_sure):
        raise CapabilityError(
            "CSV records of this style that span lines cannot be read without Spark",
            hint="use engine: spark, or a `sep` of one letter, a `quote` and an `escape`",
        )
    return parsed
