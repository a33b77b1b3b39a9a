"""Table features that a column type needs, turned on so that Spark accepts what delta-rs wrote.

delta-rs turns on `timestampNtz` by itself, and thereby forgets the features that an older protocol had without
naming them; Spark then refuses a table that has a NOT NULL column.
"""

from __future__ import annotations

from collections.abc import Iterable

from deltalake import DeltaTable, TableFeatures
from sqlglot import exp

from lakelogic.plan.model import Column
from lakelogic.storage.tables import reopen_delta

_UNREAD = {
    "deletionVectors": "deletion vectors",
    "typeWidening": "type widening",
    "v2Checkpoint": "checkpoints of version 2",
    "vacuumProtocolCheck": "the vacuum protocol check",
}
# What each writer version had before features had names.
_IMPLIED = (
    (2, TableFeatures.AppendOnly),
    (2, TableFeatures.Invariants),
    (3, TableFeatures.CheckConstraints),
    (4, TableFeatures.ChangeDataFeed),
    (4, TableFeatures.GeneratedColumns),
)


def arrow_obstacle(table: DeltaTable) -> str | None:
    """What keeps delta-rs from reading a table as Arrow, in words; None when it can.

    Of column mapping it does not know: it looks for the columns under their logical names, and fills them with NULL.
    """
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        return "column mapping"
    found = sorted(set(table.protocol().reader_features or ()) & _UNREAD.keys())
    return _UNREAD[found[0]] if found else None


def needs_feature(columns: Iterable[Column]) -> bool:
    """Whether a column has a type that old protocols do not know."""
    kinds = (node.this for column in columns for node in column.type.find_all(exp.DataType))
    return any(kind in {exp.DataType.Type.TIMESTAMPNTZ, exp.DataType.Type.DATETIME} for kind in kinds)


def enable_features(table: DeltaTable, columns: Iterable[Column]) -> DeltaTable:
    """Name the features that these columns need, and all that the table had without names; changes nothing twice."""
    protocol = table.protocol()
    there = set(protocol.writer_features or ())
    if not needs_feature(columns) or {"timestampNtz", "invariants"} <= there:
        return table
    # A table that was made with the type has named features only, as if it had been of version 2 before.
    version = 2 if protocol.min_writer_version >= 7 else protocol.min_writer_version
    implied = [feature for since, feature in _IMPLIED if since <= version]
    wanted = [*implied, TableFeatures.TimestampWithoutTimezone]
    table.alter.add_feature(wanted, allow_protocol_versions_increase=True)
    return reopen_delta(table)
