"""What other readers of a Delta table lack: features that a contract turns on, and who cannot read them.

Tried out with delta-rs 1.6, Polars 2.1 and DuckDB 2.0, which reads through delta-rs here; see
docs/reference/engines.md and tests/integration/run/test_every_reader.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import Problem

UNREADABLE = "LL181"
_ARROW = "delta-rs (as Arrow) and DuckDB"
_ALL = "delta-rs, DuckDB and Polars"
# Reader features by their name in `delta.feature.<name>`: what to call them, and who lacks them.
LACKING = {
    "deletionVectors": ("deletion vectors", _ARROW),
    "columnMapping": ("column mapping", _ALL),
    "v2Checkpoint": ("checkpoints of version 2", _ALL),
    "typeWidening": ("type widening", _ALL),
    "vacuumProtocolCheck": ("the vacuum protocol check", _ALL),
}
# Properties that turn one of them on without naming it.
_IMPLYING = {
    ("delta.enabledeletionvectors", "true"): "deletionVectors",
    ("delta.columnmapping.mode", "name"): "columnMapping",
    ("delta.columnmapping.mode", "id"): "columnMapping",
    ("delta.enableicebergcompatv1", "true"): "columnMapping",
    ("delta.enableicebergcompatv2", "true"): "columnMapping",
    ("delta.checkpointpolicy", "v2"): "v2Checkpoint",
    ("delta.enabletypewidening", "true"): "typeWidening",
}


def check_readers(contract: Contract) -> Iterator[Problem]:
    """Warn of table properties after which another reader fails, or sees something else."""
    target = contract.materialization
    for key, value in (target.table_properties if target is not None else {}).items():
        feature = find_feature(key, value)
        if feature is None:
            continue
        words, readers = LACKING[feature]
        yield Problem(
            UNREADABLE,
            f"`{key}` turns on {words}, which {readers} cannot read",
            contract.at(f"materialization.table_properties.{key}"),
            "leave it out unless every reader of the table is Spark",
            severity="warning",
        )


def find_feature(key: str, value: object) -> str | None:
    """The reader feature, of those that others lack, which a table property turns on."""
    name = key.removeprefix("delta.feature.")
    if name != key:
        return name if name in LACKING else None
    return _IMPLYING.get((key.lower(), str(value).lower()))
