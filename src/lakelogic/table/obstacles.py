"""Table features that adoption cannot honour: what they are, and whether a table uses one.

Adoption writes an add action for a file as it lies. A feature that wants something in the file or in the
action (another column name, a row id, a checked or computed value) would be broken silently, so it is an
obstacle; an unknown writer feature always is one.
"""

from __future__ import annotations

from collections.abc import Mapping

from deltalake import DeltaTable, Field

from lakelogic.core.errors import PlanError
from lakelogic.plan.writes import Write, WriteAppend
from lakelogic.table.protocol import TableShape

# Writer features that ask nothing of an adopted file, or whose use is looked up in properties and fields
# below.
_KNOWN_FEATURES = frozenset(
    (
        "appendOnly",
        "invariants",
        "checkConstraints",
        "changeDataFeed",
        "generatedColumns",
        "identityColumns",
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "domainMetadata",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "allowColumnDefaults",
    )
)
_APPEND_ONLY = "delta.appendOnly"
_PROPERTY_OBSTACLES = {
    "delta.enableRowTracking": "row tracking",
    "delta.enableIcebergCompatV1": "Iceberg compatibility",
    "delta.enableIcebergCompatV2": "Iceberg compatibility",
    "delta.enableInCommitTimestamps": "in-commit timestamps",
    "delta.enableTypeWidening": "type widening",
}
_FIELD_OBSTACLES = {
    "delta.generationExpression": "a generated column",
    "delta.identity.start": "an identity column",
    "delta.invariants": "an invariant",
    "CURRENT_DEFAULT": "a column default",
}


def adoption_obstacle(table: DeltaTable, *, overwrite: bool = False) -> str | None:
    """Why files cannot be adopted by this table, in words; None when they can."""
    protocol = table.protocol()
    features = set(protocol.writer_features or ()) | set(protocol.reader_features or ())
    unknown = sorted(features - _KNOWN_FEATURES)
    if unknown:
        return f"table feature `{unknown[0]}`"
    if overwrite and "deletionVectors" in features:
        # delta-rs names the removed file without its deletion vector, so readers would keep showing it.
        return "deletion vectors"
    return property_obstacle(table.metadata().configuration) or _field_obstacle(table.schema().fields)


def property_obstacle(properties: Mapping[str, str]) -> str | None:
    """Which of these table properties asks for something that adoption cannot honour."""
    if properties.get("delta.columnMapping.mode", "none") != "none":
        return "column mapping"
    for key, value in properties.items():
        if key.startswith("delta.constraints."):
            return f"CHECK constraint `{key.removeprefix('delta.constraints.')}`"
        if key in _PROPERTY_OBSTACLES and value.lower() == "true":
            return _PROPERTY_OBSTACLES[key]
        if key.startswith("delta.feature.") and key.removeprefix("delta.feature.") not in _KNOWN_FEATURES:
            return f"table feature `{key.removeprefix('delta.feature.')}`"
    return None


def refuse_append_only(table: DeltaTable | None, write: Write) -> None:
    """Raise where a table takes appends only, and a write would change or remove rows."""
    if table is None or isinstance(write, WriteAppend) or getattr(write, "insert_only", False):
        return
    if takes_appends_only(table):
        raise PlanError(
            f"the table `{table.table_uri}` only takes appends (delta.appendOnly)",
            hint="use strategy append, or take the property off the table",
            code="LL334",
        )


def takes_appends_only(table: DeltaTable) -> bool:
    return table.metadata().configuration.get(_APPEND_ONLY, "false").lower() == "true"


def require_append_only(table: DeltaTable | None, shape: TableShape) -> None:
    """Raise where a contract says that a table takes appends only, and the table would take more."""
    wanted = shape.properties.get(_APPEND_ONLY, "false").lower() == "true"
    if table is not None and wanted and not takes_appends_only(table):
        raise PlanError(
            f"the table `{table.table_uri}` is to take appends only, and does not have `{_APPEND_ONLY}`",
            hint="`lakelogic ddl --apply` gives it the property; until then others could change its rows",
            code="LL334",
        )


def _field_obstacle(fields: list[Field]) -> str | None:
    for field in fields:
        for key, words in _FIELD_OBSTACLES.items():
            if key in field.metadata:
                return f"{words} (`{field.name}`)"
    return None
