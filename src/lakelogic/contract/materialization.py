"""`materialization`: where accepted rows land, and how."""

from typing import Literal

from pydantic import Field

from lakelogic.contract.grammar import (
    ContractModel,
    Duration,
    Flag,
    Property,
    Ratio,
    Scalar,
    SomeTexts,
    Text,
    Texts,
    block,
)

OptimizeWhen = Literal["always", "hourly", "nightly", "weekly", "never"]
Strategy = Literal["append", "merge", "scd2", "cdc", "overwrite", "overwrite_partitions", "snapshot"]


class Merge(ContractModel):
    """How an upsert chooses between rows of one key, and what it may change."""

    order_by: Texts = ()
    # None: `latest` where there is an order, else `fail`; a random winner is never chosen.
    on_duplicate_key: Literal["latest", "quarantine", "fail"] | None = None
    update_columns: SomeTexts | None = None  # None: all; a list that is empty would say the opposite
    insert_only: Flag = False
    delete_when: Text | None = None
    delete_missing: Flag = False
    max_delete_ratio: Ratio | None = None


class Scd2(ContractModel):
    """How a history of versions is kept."""

    track_columns: Texts = ()
    timestamp_field: Text | None = None
    effective_from_field: Text = "valid_from"
    effective_to_field: Text = "valid_to"
    current_flag_field: Text = "is_current"
    version_column: Text = "version"
    effective_to_default: Text = "9999-12-31"
    surrogate_key: Text | None = None
    on_delete: Literal["close", "ignore"] = "close"


class SoftDelete(ContractModel):
    """The columns that mark a row as deleted."""

    column: Text = "is_deleted"
    time_column: Text | None = None
    reason_column: Text | None = None


class Reprocess(ContractModel):
    """What a window replaces."""

    date_column: Text
    timezone: Text | None = None


class Snapshot(ContractModel):
    """How a periodic snapshot is told from the others."""

    date_column: Text = "snapshot_date"


class LateArrival(ContractModel):
    """When a row counts as late."""

    event_time: Text
    after: Duration


class Maintenance(ContractModel):
    """How the table is kept in shape."""

    optimize: OptimizeWhen = "always"
    zorder_by: Texts = ()
    vacuum_retain: Duration | None = None


class Materialization(ContractModel):
    """Where accepted rows land, and how."""

    strategy: Strategy = "append"
    target_path: Text | None = None
    format: Literal["delta", "iceberg", "parquet"] = "delta"
    primary_key: Texts = ()
    partition_by: Texts = ()
    cluster_by: Texts = ()
    table_properties: dict[str, Property] = Field(default_factory=dict)
    merge: Merge = block()
    scd2: Scd2 | None = None
    soft_delete: SoftDelete | None = None
    reprocess: Reprocess | None = None
    snapshot: Snapshot = block()
    late_arrival: LateArrival | None = None
    dq_flags: Flag = False
    maintenance: Maintenance | None = None
    unknown_member: dict[str, Scalar] | None = None
