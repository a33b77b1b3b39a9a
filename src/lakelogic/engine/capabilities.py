"""What each engine cannot do, declared as data; a contract that needs it is refused before any row moves."""

from __future__ import annotations

from collections.abc import Mapping

# What `lakelogic doctor --capabilities` prints. The refusals themselves stand in each engine's `refusals`.
GAPS: Mapping[str, tuple[str, ...]] = {
    "spark": (),
    "duckdb": (
        "merge, cdc and scd2 into tables with a change data feed, deletion vectors or another feature of Delta",
        "histories (scd2) with columns of type array or map; Debezium with unknown_fields: quarantine",
        "Kafka, XML, Avro, catalogs of tables, column mapping",
        "CSV records that span lines in files with a quote out of place, or with separators of several letters",
        "regular expressions with scripts, blocks, flags such as (?x), or lookbehind of changing length",
        "text and order of nested values; posexplode and inline; functions that are not in its tables",
    ),
    "polars": (
        "merge, cdc and scd2 into tables with a change data feed, deletion vectors or another feature of Delta",
        "histories (scd2) with columns of type array or map; Debezium with unknown_fields: quarantine",
        "Kafka, XML, Avro, catalogs of tables, column mapping, columns of type map",
        "CSV records that span lines in files with a quote out of place, or with separators of several letters",
        "regular expressions with scripts, blocks, flags such as (?x), or lookbehind of changing length",
        "text of nested values; aggregate() of an array; functions that are not in its tables",
        "subqueries in ON, of several columns, or tied to a row two queries away; window frames by value or to the end",
    ),
}
